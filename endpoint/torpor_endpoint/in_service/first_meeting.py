"""Meets instances that ran before this process began to send to them: it hears which models each has in memory.

A router that starts, and a control that starts again, knows no former owners (`core.routing.handing_over`). Those that
it begins with are offered together: if one alone were ready first, all calls that wait would go there, and load models
that another one has.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from torpor_endpoint.core.placement import Placement
from torpor_endpoint.in_service.asked_tiers import in_memory
from torpor_endpoint.in_service.incarnation import Incarnation

WAITS_S: Final = 0.5
"""So long an instance that has told its models waits for the others at most. One of them may be hung."""


class FirstMeeting:
    """Of the instances of one variant."""

    def __init__(self, ready: Placement[Incarnation]) -> None:
        self._ready = ready
        self._expected: set[int] = set()
        self._all_met = asyncio.Event()

    def expect(self, slots: Iterable[int]) -> None:
        """This process begins with the instances in these slots."""
        self._expected.update(slots)

    async def meet(self, instance: Incarnation) -> None:
        """To be awaited before the instance is offered for the first time."""
        self._ready.found(await in_memory(instance), instance)
        self.heard(instance.slot.number)
        if self._expected:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAITS_S):
                    await self._all_met.wait()
            self._end()

    def heard(self, slot: int) -> None:
        """The instance in this slot has told its models, or is not ready: nobody waits for it."""
        self._expected.discard(slot)
        if not self._expected:
            self._end()

    def _end(self) -> None:
        """Nobody waits any more."""
        self._expected.clear()
        self._all_met.set()
