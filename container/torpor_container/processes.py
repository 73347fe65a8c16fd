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


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to each that is still there and ours."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
