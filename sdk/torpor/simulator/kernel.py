"""Virtual time: a heap of (time, sequence, action). Nothing in it waits, and nothing happens but what it was told."""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf
from typing import Any, TypeVar

Action = Callable[..., None]
T = TypeVar("T")


class Kernel:
    """Actions of one moment run in the order in which they were planned, so the same seed gives the same story."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events = 0
        self._heap: list[tuple[float, int, Action, tuple[Any, ...]]] = []
        self._planned = 0

    def at(self, time_s: float, action: Action, *arguments: Any) -> None:
        self._planned += 1
        heappush(self._heap, (time_s, self._planned, action, arguments))

    def after(self, delay_s: float, action: Action, *arguments: Any) -> None:
        self._planned += 1
        heappush(self._heap, (self.now_s + delay_s, self._planned, action, arguments))

    def soon(self, action: Action, *arguments: Any) -> None:
        """Now, but after what was planned for this moment already."""
        self._planned += 1
        heappush(self._heap, (self.now_s, self._planned, action, arguments))

    def run(self, until_s: float = inf) -> None:
        """Everything up to this time, its own moment included."""
        heap = self._heap
        while heap and heap[0][0] <= until_s:
            self.now_s, _, action, arguments = heappop(heap)
            self.events += 1
            action(*arguments)
        if until_s < inf:
            self.now_s = until_s

    def play(self, arrivals: Iterable[tuple[float, T]], arrive: Callable[[T], None]) -> None:
        """Each of the arrivals, which come in order of time, at its moment, after what was planned for it."""
        heap = self._heap
        for time_s, arrival in arrivals:
            while heap and heap[0][0] <= time_s:
                self.now_s, _, action, arguments = heappop(heap)
                self.events += 1
                action(*arguments)
            self.now_s = time_s
            self.events += 1
            arrive(arrival)
