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
            self.look()

    def look(self) -> None:
        """Have the models leave and come that should do so now."""
        moves = self._resting.look(self._keeper.idle(), self._clock())
        for name in moves.leaving:
            self._keeper.dismiss(name, "nobody calls")
        for name in moves.coming:
            self._keeper.expect(name)

    async def arrive(self) -> float | None:
        """Look now, after the clock was moved, and wait until the models have left and come. Returns the seconds until
        the next one is due; None if none is."""
        self.look()
        await self._keeper.moves_done()
        next_s = self._resting.next_check_s()
        return None if next_s is None else next_s - self._clock()
