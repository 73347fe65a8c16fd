"""Looks once a second which instances have had no copy of an inference component for long, and lets them leave."""

import asyncio
from collections.abc import Awaitable, Callable

from torpor_endpoint.fleet.components.component_controller import ComponentController

PERIOD_S = 1.0


class CapacityKeeper:
    """`clock` gives seconds that only go forward. The time until instances leave passes `pace` times faster."""

    def __init__(
        self,
        components: ComponentController,
        clock: Callable[[], float],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        pace: float = 1.0,
    ) -> None:
        self._components = components
        self._clock = clock
        self._pause = pause
        self._pace = pace

    async def run(self) -> None:
        """Look once a second, until cancelled."""
        while True:
            self._components.look(self._clock() * self._pace)
            await self._pause(PERIOD_S)

    def quiet_s(self) -> float:
        """Seconds in which no instance leaves, if no copy comes or goes."""
        return self._components.quiet_s(self._clock() * self._pace) / self._pace
