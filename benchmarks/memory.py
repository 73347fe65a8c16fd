"""What processes hold: resident, by themselves, and at their peak, in MiB."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KIB_PER_MIB = 1024
RESET_PEAK = "5"
"""See proc_pid_clear_refs(5)."""


@dataclass
class Grown:
    """By how much the peak exceeds what was resident before; known once the block has ended."""

    mib: float = 0.0


def rss_mib(pids: list[int]) -> float:
    """Resident memory. Pages that the processes share are counted for each."""
    return sum(_status_kib(pid, "VmRSS") for pid in pids) / KIB_PER_MIB


def own_mib(pids: list[int]) -> float:
    """Pages that belong to one of the processes alone (their unique set size)."""
    return sum(_rolled_up_kib(pid, "Private_") for pid in pids) / KIB_PER_MIB


def share_mib(pids: list[int]) -> float:
    """What they take of the machine together: each page is counted once, divided among the processes that share it."""
    return sum(_rolled_up_kib(pid, "Pss:") for pid in pids) / KIB_PER_MIB


@contextmanager
def peak_growth(pids: Callable[[], list[int]]) -> Iterator[Grown]:
    """Over the memory at the beginning; the peaks of all processes added up, though they need not fall together."""
    for pid in pids():
        Path(f"/proc/{pid}/clear_refs").write_text(RESET_PEAK)
    before_mib = rss_mib(pids())
    grown = Grown()
    yield grown
    grown.mib = sum(_status_kib(pid, "VmHWM") for pid in pids()) / KIB_PER_MIB - before_mib


def _status_kib(pid: int, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


def _rolled_up_kib(pid: int, beginning: str) -> int:
    """0 for a process that has ended meanwhile."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(beginning))
