"""The keeper looks once a second, at a time that passes as fast as it is told."""

import asyncio
from contextlib import suppress
from math import inf
from typing import cast

from torpor_endpoint.fleet.components.capacity_keeper import CapacityKeeper
from torpor_endpoint.fleet.components.component_controller import ComponentController


class Looked:
    """Notes when it was told to look; an instance would leave at 600 s."""

    def __init__(self) -> None:
        self.at_s: list[float] = []

    def look(self, now_s: float) -> None:
        self.at_s.append(now_s)

    def quiet_s(self, now_s: float) -> float:
        return 600.0 - now_s if now_s < 600.0 else inf


def test_the_minutes_of_instances_pass_by_the_time_scale() -> None:
    looked, real_s = Looked(), iter((1.0, 2.0, 3.0, 4.0))

    async def pause(seconds: float) -> None:
        if len(looked.at_s) == 3:
            raise asyncio.CancelledError

    keeper = CapacityKeeper(cast(ComponentController, looked), lambda: next(real_s), pause, pace=60.0)
    with suppress(asyncio.CancelledError):
        asyncio.run(keeper.run())
    assert looked.at_s == [60.0, 120.0, 180.0]
    assert keeper.quiet_s() == 6.0
