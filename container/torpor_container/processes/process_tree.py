"""Finds, measures, confines and ends processes together with all that they started, as /proc shows them."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG = 1

PROCESSORS: Final = "TORPOR_PROCESSORS"
"""The numbers of the processors that it may run on, with commas between them (sched_setaffinity(2))."""
GROUP: Final = "TORPOR_PROCESSOR_GROUP"
"""The folder of the control group that bounds its share of processor time (cgroups(7))."""
MEMORY_BOUND: Final = "TORPOR_MEMORY_BOUND_MIB"
"""How much memory the processes of a foreign container may hold together, if it is a copy of an inference component."""
PR_SET_CHILD_SUBREAPER = 36
PASSES = 3
"""How often to look for descendants: a pass finds those that were started during the one before."""
TRIAL = "torpor-trial"
"""The name of a process of trials, which is not an instance although it has the same parent."""


def children(pid: int) -> list[int]:
    """The processes that a process started, and the orphans that it adopted; none where /proc does not list them."""
    found: list[int] = []
    with suppress(OSError):  # it is gone, or this is not Linux
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # this thread is gone, or the kernel has no such list
                found += map(int, (task / "children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """All processes below a process, whatever their sessions. Call it while the process lives: orphans are adopted."""
    below = children(pid)
    return below + [deeper for child in below for deeper in descendants(child)]


def session(leader: int) -> list[int]:
    """All processes of a session, orphans too."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            if os.getsid(pid := int(folder.name)) == leader:
                found.append(pid)
    return found


def resident_bytes(pid: int) -> int:
    """All pages of a process in memory, shared ones too; 0 if it is gone, or this is not Linux."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def cpu_s(pid: int) -> float:
    """Processor seconds that a process and its ended children have used; 0 if it is gone, or this is not Linux."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # utime, stime, cutime, cstime: proc(5)


def run_ns(pid: int) -> int:
    """Nanoseconds that the living threads of a process have run; 0 if it is gone, and on a kernel that does not count
    them. Unlike `cpu_s` it grows with each moment of work."""
    spent_ns = 0
    with suppress(OSError), os.scandir(f"/proc/{pid}/task") as threads:
        for thread in threads:
            with suppress(OSError), open(f"{thread.path}/schedstat", "rb") as times:
                spent_ns += int(times.read().split()[0])
    return spent_ns


def name(pid: int, text: str) -> None:
    """Set the name of a process, as `ps` and `top` show it (Linux)."""
    with suppress(OSError):
        Path(f"/proc/{pid}/comm").write_text(text)


def is_named(pid: int, text: str) -> bool:
    """Whether a process has this name (Linux)."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == text
    return False


def kill(pids: Iterable[int]) -> None:
    """Send SIGKILL to each process that is still there and that this user may end."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def end(pid: int) -> None:
    """Ask a process to end (SIGTERM), and resume it if it is stopped, so that it receives the signal."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGTERM)
    resume(pid)


def resume(pid: int) -> None:
    """Resume a stopped process (SIGCONT)."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGCONT)


def parent(pid: int) -> int | None:
    """The process that started or adopted this one; None if it is gone, or this is not Linux."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return None


def kill_tree(pid: int) -> None:
    """Kill a process and all below it. It goes last, since as a guardian it adopts those that lose their parents."""
    for _ in range(PASSES):
        kill(descendants(pid))
    kill((pid,))


def kill_session(leader: int) -> None:
    """Kill a child that was not waited for yet, and every process of its group or below it."""
    started = descendants(leader)  # once it is gone, those in other sessions cannot be found
    kill_group(leader)
    kill((leader, *started))  # the leader too: a new one does not lead its group yet


def kill_group(leader: int) -> None:
    """Kill what a child had started in its own session, even after its number was given back to the system."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def kill_descendants() -> None:
    """Kill every child, and then its children, which the kernel hands to this subreaper, until none is left."""
    with suppress(ChildProcessError):
        while True:
            for pid in children(os.getpid()):
                kill_session(pid)
            os.wait()


def adopt_orphans() -> None:
    """Ask the kernel to hand processes over to this one when their parents, below it, have ended (Linux)."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(number: int = signal.SIGKILL) -> None:
    """Ask the kernel to send this process a signal when its parent ends (Linux)."""
    _prctl(PR_SET_PDEATHSIG, number)


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        _libc().prctl(option, value)


@cache
def _libc() -> ctypes.CDLL:
    """Looked up once, in the zygote: the look-up would be a notable part of a child's start."""
    return ctypes.CDLL(None)


def confine_to_cores(environment: Mapping[str, str]) -> None:
    """Confine this process, and all that it will start, to what the two variables say. Without them it does nothing.

    A group that is gone, or processors that the machine has no more, bound nothing.
    """
    if processors := environment.get(PROCESSORS):
        with suppress(OSError, ValueError):
            os.sched_setaffinity(0, [int(number) for number in processors.split(",")])
    if group := environment.get(GROUP):
        with suppress(OSError):
            (Path(group) / "cgroup.procs").write_text("0")


def own_bounds(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that this process was confined by, for those that a zygote forks for it."""
    return {name: environment[name] for name in (PROCESSORS, GROUP) if name in environment}
