"""Looks once a second which instances have had no copy of an inference component for long, and lets them leave."""

import asyncio
from collections.abc import Awaitable, Callable

from torpor_endpoint.fleet.components.component_controller import ComponentController

PERIOD_S = 1.0


class CapacityKeeper:
    """`clock` gives seconds that only go forward."""

    def __init__(
        self,
        components: ComponentController,
        clock: Callable[[], float],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._components = components
        self._clock = clock
        self._pause = pause

    async def run(self) -> None:
        """Look once a second, until cancelled."""
        while True:
            self._components.look(self._clock())
            await self._pause(PERIOD_S)

    def quiet_s(self) -> float:
        """Seconds in which no instance leaves, if no copy comes or goes."""
        return self._components.quiet_s(self._clock())
