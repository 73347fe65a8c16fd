"""What every measurement has in common: the row that is asked for, and the processor time of process trees."""

import os
import time
from contextlib import suppress
from pathlib import Path

COLUMNS = 6
ROW = b"0.1,-0.4,1.3,0.7,-1.1,0.2"


def cpu_s(pids: list[int]) -> float:
    """Processor seconds that these processes have used, those of their children that have ended included."""
    return sum(map(_cpu_s, pids))


def _cpu_s(pid: int) -> float:
    """The process's own clock ticks in nanoseconds (its number is the kernel's, see clock_getcpuclockid(3)); what its
    ended children used is known in ticks of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ended_s = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(~pid << 3 | 2) + ended_s


def tree(pid: int) -> list[int]:
    """A process and all below it, whichever thread started them."""
    return [pid, *(below for child in _children(pid) for below in tree(child))]


def _children(pid: int) -> list[int]:
    found: list[str] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found += (thread / "children").read_text().split()
    return [int(child) for child in found]
