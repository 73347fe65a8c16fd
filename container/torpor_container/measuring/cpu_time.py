"""Counts the processor seconds of an instance: of its own process, and of those that the zygote started for it."""

import os
from collections.abc import Callable, Iterable, Sequence

from torpor_container.processes.process_tree import cpu_s


class CpuTime:
    """The processor time used so far. A process that has ended counts with what it had used at the last look."""

    def __init__(self, used_s: Callable[[int], float] = cpu_s) -> None:
        """`used_s` returns the processor seconds of one process."""
        self._used_s = used_s
        self._gone_s = 0.0
        self._seen_s: dict[int, float] = {}  # by the first process of each group

    def seconds(self, groups: Iterable[Sequence[int]]) -> float:
        """The seconds so far; never less than before. `groups`: running processes, each with those that it started."""
        now_s = {group[0]: sum(map(self._used_s, group)) for group in groups if group}
        self._gone_s += sum(seen_s for first, seen_s in self._seen_s.items() if first not in now_s)
        self._seen_s = {first: max(used_s, self._seen_s.get(first, 0.0)) for first, used_s in now_s.items()}
        return _own_s() + self._gone_s + sum(self._seen_s.values())


def _own_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
