"""Looks at what a process and all below it do: the processor time that they used, and whether they want any now."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

from torpor_container.core.work_wait import WorkLook
from torpor_container.processes.process_tree import descendants

RESTING = frozenset("SIZX")
"""States of threads that sleep or have ended: proc(5). A thread that runs, waits for a processor or a disk, or was
stopped has another."""


def looked_at(pid: int, clock: Callable[[], float] = monotonic) -> WorkLook:
    """What the process does, with all below it. Its own processor time counts; theirs is beside it.

    A process that is gone, or a system without /proc, shows no processor time and no rest.
    """
    below = descendants(pid)
    own_s, waited_s = _cpu_s(pid)
    states = [state for one in (pid, *below) for state in _states(one)]
    all_s = own_s + waited_s + sum(sum(_cpu_s(one)) for one in below)
    return WorkLook(clock(), own_s, all_s, bool(states) and RESTING.issuperset(states))


def _cpu_s(pid: int) -> tuple[float, float]:
    """The processor seconds of a process, and of its children that have ended and were waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0, 0.0
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    user, system, waited_user, waited_system = map(int, fields[11:15])
    return (user + system) * tick_s, (waited_user + waited_system) * tick_s


def _states(pid: int) -> list[str]:
    """The state of each thread."""
    found: list[str] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.append((task / "stat").read_text(errors="replace").rpartition(")")[2].split()[0])
    return found
