"""Counts quiet time, which time limits count: the time in which processes get a processor when they want one.

Linux counts the time in which some process waits for a processor (`/proc/pressure/cpu`). Where it does not, a limit
counts how long this process's own first thread waited, and without that every second.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from torpor_container.core.work_wait import QuietTime

PRESSURE, OWN_WAITS = Path("/proc/pressure/cpu"), Path("/proc/self/schedstat")
QUIET_SHARE = 0.25
"""A machine is quiet while processes wait for a processor less than this share of the time."""


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


class QuietClock:
    """Quiet time since it was made, in seconds, for code that looks again and again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, busy_s: Callable[[], float] = busy_s) -> None:
        self._clock, self._busy_s = clock, busy_s
        self._quiet = QuietTime(clock(), busy_s())

    def __call__(self) -> float:
        return self._quiet.so_far_s(self._clock(), self._busy_s())
