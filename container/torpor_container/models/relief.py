"""Brings an instance back under its budget after a call found no memory; one that stays over is replaced."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable

from torpor_container.models.memory_tier import MemoryTier

log = logging.getLogger(__name__)

PAUSES_S = (0.0, 1.0, 4.0)
"""Before each look at an instance that is over its budget. After the last one it is replaced."""


class Relief:
    """One instance's. Models in memory are served meanwhile."""

    def __init__(
        self,
        tier: MemoryTier,
        settled: Callable[[], Awaitable[int]],
        worn_out: Callable[[], None],
        pauses_s: tuple[float, ...] = PAUSES_S,
    ) -> None:
        """`settled` gives freed memory back, and tells what is used then. `worn_out` is called where another instance
        should take this one's place."""
        self._tier = tier
        self._settled = settled
        self._worn_out = worn_out
        self._pauses_s = pauses_s
        self._going_on: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start, unless it goes on already."""
        if self._going_on is None:
            self._going_on = asyncio.create_task(self._relieve())
            self._going_on.add_done_callback(self._over)

    async def close(self) -> None:
        if self._going_on is not None:
            self._going_on.cancel()
            await asyncio.gather(self._going_on, return_exceptions=True)

    async def _relieve(self) -> None:
        for pause_s in self._pauses_s:
            await asyncio.sleep(pause_s)
            await asyncio.to_thread(gc.collect)  # an error may be held by itself
            self._tier.books.measured(await self._settled())
            self._tier.changed()
            if not self._tier.books.overrun:
                return
        log.error("the instance uses more than its memory, and most of that is no model's: it is replaced")
        self._worn_out()

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._going_on = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("memory could not be given back", exc_info=error)
