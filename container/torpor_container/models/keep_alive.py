"""Carries out the keep-alive of models: once a second, unloads those that are idle too long and loads expected ones."""

import asyncio
from collections.abc import Callable

from torpor_container.core.resting import Resting
from torpor_container.models.keeper import Keeper

PERIOD_S = 1.0


class KeepAliveChore:
    """`resting` decides, and the keeper carries out. The keeper reports every use to `resting`."""

    def __init__(self, keeper: Keeper, resting: Resting, clock: Callable[[], float]) -> None:
        self._keeper = keeper
        self._resting = resting
        self._clock = clock

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            moves = self._resting.look(self._keeper.idle(), self._clock())
            for name in moves.leaving:
                self._keeper.dismiss(name, "nobody calls")
            for name in moves.coming:
                self._keeper.expect(name)
