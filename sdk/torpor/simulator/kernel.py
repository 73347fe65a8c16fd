"""Virtual time: sorted moments, and what each brings. Nothing in it waits, and nothing happens but what it was told."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, Final, TypeVar

Action = Callable[[Any], None]
Planned = tuple[int, Action, Any]
"""Its number in the order of planning, what happens, and to whom."""
T = TypeVar("T")

PLACE: Final = bisect_left  # compiled code has at hand what is final, and looks up by its name what is not


class Kernel:
    """Actions of one moment run in the order in which they were planned, so the same seed gives the same story."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events = 0
        self._minus_s: list[float] = []  # sorted: minus the times of what is planned, so the next one is the last
        self._later: list[Planned] = []  # what happens then, in the same places
        self._soon: deque[Planned] = deque()  # of this moment, in order
        self._planned = 0
        self._number = 0  # of what happens now: what has the same time and a lower number is over
        self._withdrawn: set[int] = set()

    def at(self, time_s: float, action: Callable[[T], None], whom: T) -> None:
        self.plan(time_s, action, whom)

    def after(self, delay_s: float, action: Callable[[T], None], whom: T) -> None:
        self.plan(self.now_s + delay_s, action, whom)

    def soon(self, action: Callable[[T], None], whom: T) -> None:
        """Now, but after what was planned for this moment already."""
        self.plan(self.now_s, action, whom)

    def plan(self, time_s: float, action: Callable[[T], None], whom: T) -> int:
        """As `at`, for those who may withdraw it: its number. What is for now is not sorted in.

        Mostly few wait at a time, and floats are compared quickly: a heap of tuples takes longer.
        """
        self._planned += 1
        planned = self._planned, action, whom
        if time_s > self.now_s:
            place = PLACE(self._minus_s, -time_s)
            self._minus_s.insert(place, -time_s)
            self._later.insert(place, planned)
        else:
            self._soon.append(planned)
        return self._planned

    def withdraw(self, number: int) -> None:
        """It is not to happen. It is not over yet."""
        self._withdrawn.add(number)

    def is_over(self, time_s: float, number: int) -> bool:
        """Whether what was planned for this time with this number has happened, or is happening."""
        return time_s < self.now_s or (time_s == self.now_s and number <= self._number)

    def run(self, until_s: float = inf) -> None:
        """Everything up to this time, its own moment included. What was planned before a moment comes first in it."""
        minus_s, later, soon, withdrawn = self._minus_s, self._later, self._soon, self._withdrawn
        while True:
            if soon and not (minus_s and -minus_s[-1] <= self.now_s):
                self._number, action, whom = soon.popleft()
            elif minus_s and -minus_s[-1] <= until_s:
                self.now_s = -minus_s.pop()
                self._number, action, whom = later.pop()
            else:
                break
            if withdrawn and self._number in withdrawn:
                withdrawn.remove(self._number)
            else:
                self.events += 1
                action(whom)
        if until_s < inf:
            self.now_s = until_s
        self._number = self._planned

    def play(self, arrivals: Iterable[tuple[float, T]], arrive: Callable[[T], None]) -> None:
        """Each of the arrivals, which come in order of time, at its moment, after what was planned for it."""
        for time_s, arrival in arrivals:
            self.run(time_s)
            self.events += 1
            arrive(arrival)
