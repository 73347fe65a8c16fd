"""Time limits that a busy machine stretches: they count the time in which processes get a processor when they want one.

Linux counts the time in which some process waits for a processor (`/proc/pressure/cpu`). Where it does not, a limit
counts how long this process's own first thread waited, and without that every second.
"""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from torpor_container.core.waiting import QuietTime

PRESSURE, OWN_WAITS = Path("/proc/pressure/cpu"), Path("/proc/self/schedstat")
QUIET_SHARE = 0.25
"""A machine is quiet while processes wait for a processor less than this share of the time."""
LOOK_MIN_S = 0.01


def is_quiet(pressure: Path = PRESSURE) -> bool:
    """Whether a process that wants a processor gets one now, on the whole of this machine."""
    with suppress(OSError, LookupError, ValueError):
        some = pressure.read_text()  # some avg10=8.03 avg60=10.49 avg300=5.76 total=29363369
        return float(some.split("avg10=")[1].split()[0]) < 100 * QUIET_SHARE
    return os.getloadavg()[0] < (os.cpu_count() or 1)


def busy_s(pressure: Path = PRESSURE, own_waits: Path = OWN_WAITS) -> float:
    """The seconds so far, since the machine started, in which some process waited for a processor."""
    with suppress(OSError, LookupError, ValueError):
        return int(pressure.read_bytes().split(b"total=")[1].split()[0]) / 1e6
    with suppress(OSError, LookupError, ValueError):
        return int(own_waits.read_bytes().split()[1]) / 1e9
    return 0.0


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


class QuietClock:
    """Quiet time since it was made, in seconds, for code that looks again and again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, busy_s: Callable[[], float] = busy_s) -> None:
        self._clock, self._busy_s = clock, busy_s
        self._quiet = QuietTime(clock(), busy_s())

    def __call__(self) -> float:
        return self._quiet.so_far_s(self._clock(), self._busy_s())
