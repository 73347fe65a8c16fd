"""Brings an instance back under its memory budget after a call found no memory; asks to replace one that stays over."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable

from torpor_container.models.tier import Tier
from torpor_container.processes.threads import on_thread

log = logging.getLogger(__name__)

PAUSES_S = (0.0, 1.0, 4.0)
"""Seconds before each measurement of an instance that is over its budget. After the last one it is replaced."""


class Relief:
    """Measures one instance until it is back under its budget. Models in memory serve requests meanwhile."""

    def __init__(
        self,
        tier: Tier,
        settle: Callable[[], Awaitable[int]],
        worn_out: Callable[[], None],
        pauses_s: tuple[float, ...] = PAUSES_S,
    ) -> None:
        """`settle` returns freed memory to the system and counts the bytes that are used then. This class calls
        `worn_out` when another instance should replace this one."""
        self._tier = tier
        self._settle = settle
        self._worn_out = worn_out
        self._pauses_s = pauses_s
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start, unless it runs already."""
        if self._task is None:
            self._task = asyncio.create_task(self._relieve())
            self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _relieve(self) -> None:
        for pause_s in self._pauses_s:
            await asyncio.sleep(pause_s)
            await on_thread(gc.collect)  # an error and its traceback hold each other
            self._tier.residency.measured(await self._settle())
            self._tier.changed()
            if not self._tier.residency.overrun:
                return
        log.error("the instance is over its memory, and models use less than half of it: the instance is replaced")
        self._worn_out()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("memory could not be given back", exc_info=error)
