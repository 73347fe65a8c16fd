"""Processes, seen from outside through /proc: children, state, end, and marks in their environment."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.helpers.forked_starts.starting import forked_zygotes
from tests.helpers.waiting import PATIENCE_S, soon
from torpor_container.processes.process_tree import TRIAL, is_named


def children(pid: int) -> list[int]:
    """The children that still run, without those that have ended and are not reaped yet; and the zygotes that were
    forked for this process."""
    found = forked_zygotes(pid)
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return [child for child in found if not has_ended(child)]


def serving(zygote: int) -> list[int]:
    """Its children, but for those in which models are only tried."""
    return [pid for pid in children(zygote) if not is_named(pid, TRIAL)]


def descendants(pid: int) -> list[int]:
    below = children(pid)
    return below + [deeper for child in below for deeper in descendants(child)]


def state(pid: int) -> str:
    """One letter, as `ps` has it; empty for a process that is not there."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def has_ended(pid: int) -> bool:
    """Whether all its threads have: while one lives, the process may hold its sockets, although the first is a
    zombie."""
    if state(pid) not in ("", "Z"):
        return False
    with suppress(FileNotFoundError, ProcessLookupError):
        return len(os.listdir(f"/proc/{pid}/task")) <= 1
    return True


def marked(mark: str) -> list[int]:
    """The processes that were started with this text in their environment, whoever their parents are by now."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and _carries(pid, mark) and not has_ended(pid)]


def stop(pid: int) -> None:
    """Stop this process, and wait until it is: of signals that come together, SIGTERM is taken before SIGSTOP."""
    os.kill(pid, signal.SIGSTOP)
    assert soon(lambda: state(pid) == "T")


def gone(pid: int, within_s: float = PATIENCE_S) -> bool:
    """Whether the process ends within so many seconds. One that has ended and is not reaped yet is gone too."""
    return soon(lambda: has_ended(pid), within_s)


def _carries(pid: int, mark: str) -> bool:
    with suppress(OSError):
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    return False
