"""Virtual time: a heap of (time, number, action). Nothing in it waits, and nothing happens but what it was told."""

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf
from typing import Any, TypeVar

Action = Callable[..., None]
Planned = tuple[float, int, Action, tuple[Any, ...]]
"""When, its number in the order of planning, and what happens."""
T = TypeVar("T")


class Kernel:
    """Actions of one moment run in the order in which they were planned, so the same seed gives the same story."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events = 0
        self._later: list[Planned] = []  # the heap
        self._soon: deque[Planned] = deque()  # of this moment, in order
        self._planned = 0
        self._number = 0  # of what happens now: what has the same time and a lower number is over
        self._withdrawn: set[int] = set()

    def at(self, time_s: float, action: Action, *arguments: Any) -> None:
        self.plan(time_s, action, arguments)

    def after(self, delay_s: float, action: Action, *arguments: Any) -> None:
        self.plan(self.now_s + delay_s, action, arguments)

    def soon(self, action: Action, *arguments: Any) -> None:
        """Now, but after what was planned for this moment already."""
        self.plan(self.now_s, action, arguments)

    def plan(self, time_s: float, action: Action, arguments: tuple[Any, ...]) -> Planned:
        """As `at`, for those who may withdraw it. What is for now needs no heap."""
        self._planned += 1
        planned = time_s, self._planned, action, arguments
        if time_s > self.now_s:
            heappush(self._later, planned)
        else:
            self._soon.append(planned)
        return planned

    def withdraw(self, number: int) -> None:
        """It is not to happen. It is not over yet."""
        self._withdrawn.add(number)

    def to_come(self, planned: Iterable[Planned]) -> list[Planned]:
        """Those of them that have not happened yet, and are not happening."""
        now_s, number = self.now_s, self._number
        return [one for one in planned if one[0] > now_s or (one[0] == now_s and one[1] > number)]

    def run(self, until_s: float = inf) -> None:
        """Everything up to this time, its own moment included."""
        later, soon, withdrawn = self._later, self._soon, self._withdrawn
        while True:
            if soon and (not later or later[0][0] > self.now_s or later[0][1] > soon[0][1]):
                self.now_s, self._number, action, arguments = soon.popleft()
            elif later and later[0][0] <= until_s:
                self.now_s, self._number, action, arguments = heappop(later)
            else:
                break
            if withdrawn and self._number in withdrawn:
                withdrawn.remove(self._number)
            else:
                self.events += 1
                action(*arguments)
        if until_s < inf:
            self.now_s = until_s
        self._number = self._planned

    def play(self, arrivals: Iterable[tuple[float, T]], arrive: Callable[[T], None]) -> None:
        """Each of the arrivals, which come in order of time, at its moment, after what was planned for it."""
        for time_s, arrival in arrivals:
            self.run(time_s)
            self.events += 1
            arrive(arrival)
