"""Virtual time: sorted moments, and what each brings. Nothing in it waits, and nothing happens but what it was told."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, Final, TypeVar

Action = Callable[[Any], None]
Planned = tuple[Action, Any]
"""What happens, and to whom."""
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

    def at(self, time_s: float, action: Callable[[T], None], whom: T) -> None:
        """Mostly few wait at a time, and floats are compared quickly: a heap of tuples takes longer."""
        if time_s > self.now_s:
            place = PLACE(self._minus_s, -time_s)
            self._minus_s.insert(place, -time_s)
            self._later.insert(place, (action, whom))
        else:
            self._soon.append((action, whom))

    def after(self, delay_s: float, action: Callable[[T], None], whom: T) -> None:
        self.at(self.now_s + delay_s, action, whom)

    def soon(self, action: Callable[[T], None], whom: T) -> None:
        """Now, but after what was planned for this moment already."""
        self._soon.append((action, whom))

    def run(self, until_s: float = inf) -> None:
        """Everything up to this time, its own moment included. What was planned before a moment comes first in it."""
        minus_s, later, soon = self._minus_s, self._later, self._soon
        while True:
            if soon and not (minus_s and -minus_s[-1] <= self.now_s):
                action, whom = soon.popleft()
            elif minus_s and -minus_s[-1] <= until_s:
                self.now_s = -minus_s.pop()
                action, whom = later.pop()
            else:
                break
            self.events += 1
            action(whom)
        if until_s < inf:
            self.now_s = until_s

    def play(self, arrivals: Iterable[tuple[float, T]], arrive: Callable[[T], None]) -> None:
        """Each of the arrivals, which come in order of time, at its moment, after what was planned for it."""
        for time_s, arrival in arrivals:
            self.run(time_s)
            self.events += 1
            arrive(arrival)
