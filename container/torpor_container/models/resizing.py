"""Brings an instance's memory tier to a budget that was changed: idle models leave where it is lower."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from torpor_container.models.tier import Tier
from torpor_container.processes.memory_budget import MemoryBudget

log = logging.getLogger(__name__)

REASON: Final = "its container gave memory back to others"


class Resizing:
    """Follows the changes of one instance's budget. A model in use stays until no call uses it."""

    def __init__(self, tier: Tier, settle: Callable[[], Awaitable[int]]) -> None:
        """`settle` returns freed memory to the system and counts the bytes that are used then."""
        self._tier = tier
        self._settle = settle
        self._task: asyncio.Task[None] | None = None

    async def to(self, memory: MemoryBudget) -> None:
        """Plan with this budget from now on, and bound the process to it once the idle models beyond it have left."""
        residency = self._tier.residency
        residency.budget_bytes = memory.size_bytes
        if not residency.has_room(0):
            await self._evict()
        memory.enforce()
        self._tier.changed()  # a model that waits for room may come in now
        if not residency.has_room(0) and self._task is None:
            self._task = asyncio.create_task(self._follow(memory))
            self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _evict(self) -> None:
        residency = self._tier.residency
        residency.measured(await self._settle())
        await self._tier.dismiss(residency.evict_over_budget(REASON, self._tier.clock()))

    async def _follow(self, memory: MemoryBudget) -> None:
        """Make each model beyond the budget leave as soon as no call uses it."""
        residency = self._tier.residency
        while residency.planned_bytes and not residency.has_room(0):
            if residency.idle_bytes:
                await self._evict()
                memory.enforce()
            else:
                await self._tier.change()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("memory could not be given back", exc_info=error)
