"""Ends the requests that are given up: they waited too long, or their endpoint was deleted. A few at a time."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable

from torpor_account.storage.failures import is_machines
from torpor_endpoint.core.async_inference.requests import AsyncState
from torpor_endpoint.runtime.asynchronous.async_queue import AsyncQueue
from torpor_endpoint.runtime.asynchronous.request_ends import RequestEnds

AT_ONCE = 8
AGAIN_S = 1.0
"""Before those are tried again that could not be ended."""

log = logging.getLogger(__name__)


class GivenUpRequests:
    """The numbers of requests to end. Whatever fails, none is forgotten before the process ends."""

    def __init__(self, queue: AsyncQueue, ends: RequestEnds) -> None:
        self._queue = queue
        self._ends = ends
        self._numbers: deque[int] = deque()
        self._ending: asyncio.Task[None] | None = None

    def __bool__(self) -> bool:
        """Whether any is not ended yet."""
        return bool(self._numbers) or self._ending is not None

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def add(self, numbers: Iterable[int]) -> None:
        self._numbers += numbers
        if self._numbers and self._ending is None:
            self._ending = asyncio.create_task(self._end_all(), name="async requests given up")

    async def stop(self) -> None:
        """Those that are left wait in the queue for the next start."""
        if self._ending is not None:
            self._ending.cancel()
            await asyncio.gather(self._ending, return_exceptions=True)

    async def _end_all(self) -> None:
        try:
            while self._numbers:
                some = [self._numbers[place] for place in range(min(AT_ONCE, len(self._numbers)))]
                ended = await asyncio.gather(*map(self._end, some), return_exceptions=True)
                faults = {number: why for number, why in zip(some, ended, strict=True) if isinstance(why, Exception)}
                for _ in some:
                    self._numbers.popleft()
                if faults:
                    why = next(iter(faults.values()))
                    if not is_machines(why):
                        log.error("asynchronous requests cannot be given up yet: %s", why)
                    self._numbers.extendleft(reversed(faults))
                    await asyncio.sleep(AGAIN_S)
        finally:
            self._ending = None

    async def _end(self, number: int) -> None:
        kept = await asyncio.to_thread(self._queue.get, number)
        if kept is None:
            return
        if kept.state is AsyncState.QUEUED:
            await self._ends.give_up(kept)
        elif kept.state in (AsyncState.COMPLETED, AsyncState.FAILED):
            self._ends.has_ended(kept)
