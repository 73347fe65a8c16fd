"""Processes by whom they were started, as /proc shows them: to be measured, and ended, together."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def children(pid: int) -> list[int]:
    """Those that a process started, and the orphans that it adopted; none where the system has no list of them."""
    found: list[int] = []
    with suppress(OSError):  # it is gone, or this is not Linux
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # this thread is gone, or the kernel has no such list
                found += map(int, (task / "children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """All below a process, whatever their sessions. To be asked while it lives: as it ends, others adopt them."""
    below = children(pid)
    return below + [deeper for child in below for deeper in descendants(child)]


def session(leader: int) -> list[int]:
    """All of a session, orphans too."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            if os.getsid(pid := int(folder.name)) == leader:
                found.append(pid)
    return found


def cpu_s(pid: int) -> float:
    """Processor seconds that a process and its ended children have used; 0 if it is gone, or this is not Linux."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # utime, stime, cutime, cstime: proc(5)


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to each that is still there and ours."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
