"""Offline references: they know the whole trace, so no live instance can use them. With sizes neither is optimal."""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from math import inf

from torpor_container.core.eviction.eviction_policy import MayLeave, Policy


class Future:
    """The next-access index of a trace: when each name is used next. Times are seconds, or positions in the trace."""

    def __init__(self, uses: Iterable[tuple[float, str]], now: Callable[[], float]) -> None:
        """`uses` are in the order of time; `now` says how far the trace has been played."""
        self.now = now
        self._times: dict[str, array[float]] = defaultdict(lambda: array("d"))
        for at, name in uses:
            self._times[name].append(at)

    def next_use(self, name: str) -> float:
        """The time of the next use after now; infinity if there is none."""
        times = self._times.get(name, array("d"))
        index = bisect_right(times, self.now())
        return times[index] if index < len(times) else inf


class Belady(Policy):
    """Offline reference: the model whose next use is furthest leaves first (Belady, 1966). Optimal for equal sizes.

    Each use enters the model anew, since its next use changes; old entries are skipped when they come up.
    """

    def __init__(self, future: Future) -> None:
        self._future = future
        self._next_use: dict[str, float] = {}
        self._furthest_first: list[tuple[float, str]] = []

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self.touched(name)

    def touched(self, name: str) -> None:
        at = self._next_use[name] = self._future.next_use(name)
        heappush(self._furthest_first, (-at, name))
        if len(self._furthest_first) > 4 * len(self._next_use) + 8:
            self._furthest_first = [(-at, name) for name, at in self._next_use.items()]
            heapify(self._furthest_first)

    def removed(self, name: str) -> None:
        del self._next_use[name]

    def victim(self, may_leave: MayLeave) -> str | None:
        passed: list[tuple[float, str]] = []
        chosen = None
        while self._furthest_first and chosen is None:
            entry = heappop(self._furthest_first)
            at, name = entry
            if self._next_use.get(name) == -at:
                passed.append(entry)
                chosen = name if may_leave(name) else None
        for entry in passed:
            heappush(self._furthest_first, entry)
        return chosen


class BeladySize(Policy):
    """Offline reference: the model with the largest (distance to its next use x size) leaves first. One without a next
    use is not kept.

    It looks at every resident for each victim.
    """

    selective = True

    def __init__(self, future: Future) -> None:
        self._future = future
        self._next_use: dict[str, float] = {}
        self._sizes: dict[str, int] = {}

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._sizes[name] = max(size_bytes, 1)
        self.touched(name)

    def touched(self, name: str) -> None:
        self._next_use[name] = self._future.next_use(name)

    def removed(self, name: str) -> None:
        del self._next_use[name], self._sizes[name]

    def victim(self, may_leave: MayLeave) -> str | None:
        now = self._future.now()
        distance_by_size = {name: (at - now) * self._sizes[name] for name, at in self._next_use.items()}
        return max(filter(may_leave, distance_by_size), key=distance_by_size.__getitem__, default=None)

    def keeps(self, name: str, free_bytes: int) -> bool:
        return self._next_use[name] < inf
