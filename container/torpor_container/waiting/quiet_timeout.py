"""`asyncio.timeout` in quiet time: a time limit that a busy machine stretches."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from torpor_container.core.work_wait import QuietTime
from torpor_container.waiting.quiet_time import busy_s

LOOK_MIN_S = 0.01


class patiently:  # noqa: N801  it is used as `asyncio.timeout` is
    """`asyncio.timeout` in quiet time: raises TimeoutError once the block has taken so much of it.

    `expired()` says whether it did.
    """

    def __init__(self, limit_s: float, busy_s: Callable[[], float] = busy_s) -> None:
        self._limit_s = limit_s
        self._busy_s = busy_s
        self._limit = asyncio.timeout(None)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._quiet = QuietTime(self._loop.time(), self._busy_s())
        await self._limit.__aenter__()
        self._timer = self._loop.call_later(self._limit_s, self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        await self._limit.__aexit__(kind, raised, trace)

    def expired(self) -> bool:
        return self._limit.expired()

    def _look(self) -> None:
        left_s = self._limit_s - self._quiet.so_far_s(self._loop.time(), self._busy_s())
        if left_s > 0:
            self._timer = self._loop.call_later(max(left_s, LOOK_MIN_S), self._look)
        else:
            self._limit.reschedule(self._loop.time())
