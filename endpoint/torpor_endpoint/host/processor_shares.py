"""Gives instances with bounded cores their part of this machine: processors to run on, and a share of their time.

Processors bound an instance to whole ones, on every machine. A control group bounds it to a part of one as well, where
the endpoint may make such groups (cgroups(7), version 2 or 1).
"""

import os
import secrets
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Final

from torpor_container.frozen_class import frozen
from torpor_container.processes.process_tree import GROUP, PROCESSORS

CORES: Final = "TORPOR_CORES"
"""The variable of a launch that bounds its cores. The host reads it, and the instance does not."""
PERIOD_US: Final = 100_000
GROUPS: Final = Path("/sys/fs/cgroup")


@frozen
class ProcessorGroup:
    """A control group that bounds processor time, below the one that this process is in."""

    folder: Path

    @classmethod
    def made(cls, cores: float, groups: Path = GROUPS) -> "ProcessorGroup | None":
        """A new group with so many cores; None where this process may make none."""
        quota_us, name = max(1000, round(cores * PERIOD_US)), f"torpor-{os.getpid()}-{secrets.token_hex(4)}"
        written = (
            (groups, {"cpu.max": f"{quota_us} {PERIOD_US}"}),
            (groups / "cpu", {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}),
        )
        for parent, values in written:
            group = cls(parent / name)
            with suppress(OSError):
                group.folder.mkdir()
                for file, value in values.items():
                    _write(group.folder / file, value)
                return group
            group.remove()
        return None

    def remove(self) -> None:
        """Remove the group. One that still has a process stays."""
        with suppress(OSError):
            self.folder.rmdir()


def _write(file: Path, value: str) -> None:
    """Write a file that the kernel made with its group. Where there is none, the folder is no control group: version 1
    has them below an ordinary folder, in which anybody may make files that bound nothing. Raises OSError."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _remove_left(groups: Path) -> None:
    """Remove the groups of endpoints that were killed. One that still has a process stays."""
    for folder in (*groups.glob("torpor-*"), *(groups / "cpu").glob("torpor-*")):
        pid = folder.name.split("-")[1]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            ProcessorGroup(folder).remove()


class ProcessorShares:
    """The processors of this machine, and which instances with bounded cores run on them."""

    def __init__(self, numbers: Collection[int] | None = None, groups: Path = GROUPS) -> None:
        self._numbers = sorted(os.sched_getaffinity(0) if numbers is None else numbers)
        self._groups = groups
        self._used: Counter[int] = Counter()
        self._given: dict[str, tuple[list[int], ProcessorGroup | None]] = {}
        _remove_left(groups)

    def bounds(self, instance: str, cores: float) -> dict[str, str]:
        """The variables that confine this instance: to the processors with the fewest others, and to their time."""
        whole = ceil(cores)
        chosen = sorted(self._numbers, key=lambda number: (self._used[number], number))[:whole]
        if whole >= len(self._numbers):
            chosen = []
        group = ProcessorGroup.made(cores, self._groups)
        self._given[instance] = chosen, group
        self._used.update(chosen)
        bounds = {PROCESSORS: ",".join(map(str, sorted(chosen)))} if chosen else {}
        return bounds if group is None else {**bounds, GROUP: str(group.folder)}

    def free(self, instance: str) -> None:
        """The instance has ended."""
        chosen, group = self._given.pop(instance, ([], None))
        self._used.subtract(chosen)
        if group is not None:
            group.remove()
