"""Virtual time: sorted moments, and what each brings. Nothing in it waits, and nothing happens but what it was told."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, Final, TypeVar

Action = Callable[[Any], None]
Planned = tuple[Action, Any]
"""What happens, and to whom."""
T = TypeVar("T")

PLACE: Final = bisect_left  # compiled code has at hand what is final, and looks up by its name what is not
FEW: Final = 16
"""Of so many, compiled code finds the place by looking at each in less time than it takes to call for a search."""
MANY: Final = 4_096
"""So many in one list: to make room in a longer one takes longer than to find the right one of several."""


class Kernel:
    """Actions of one moment run in the order in which they were planned, so the same seed gives the same story."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events = 0
        self._minus_s: list[float] = []  # sorted: minus the times of what is planned, so the next one is the last
        self._planned: list[Planned] = []  # what happens then, in the same places
        self._later: list[tuple[list[float], list[Planned]]] = []  # what does not fit in: more such pairs, latest first
        self._edges: list[float] = []  # the last number of each pair

    def at(self, time_s: float, action: Callable[[T], None], whom: T) -> None:
        """Mostly few wait at a time, and floats are compared quickly: a heap of tuples takes longer."""
        known_s = self._minus_s
        minus_s = -time_s if time_s > self.now_s else -self.now_s
        place = len(known_s)
        if self._edges or place > MANY:
            self._plan_among_many(minus_s, (action, whom))
            return
        if place > FEW:
            place = PLACE(known_s, minus_s)
        else:
            while place and known_s[place - 1] >= minus_s:
                place -= 1
        known_s.insert(place, minus_s)
        self._planned.insert(place, (action, whom))

    def after(self, delay_s: float, action: Callable[[T], None], whom: T) -> None:
        self.at(self.now_s + delay_s, action, whom)

    def soon(self, action: Callable[[T], None], whom: T) -> None:
        """Now, but after what was planned for this moment already."""
        self.at(self.now_s, action, whom)

    def run(self, until_s: float = inf) -> None:
        """Everything up to this time, its own moment included. What was planned before a moment comes first in it."""
        minus_s, planned = self._minus_s, self._planned
        while True:  # the interpreter (3.11) makes a loop faster as it goes only if its condition is inside
            if minus_s and -minus_s[-1] <= until_s:
                self.now_s = -minus_s.pop()
                self.events += 1
                action, whom = planned.pop()
                action(whom)
            elif self._edges and not minus_s:
                self._bring_nearer()
            else:
                break
        if until_s < inf:
            self.now_s = until_s

    def play(self, arrivals: Iterable[tuple[float, T]], arrive: Callable[[T], None]) -> None:
        """Each of the arrivals, which come in order of time, at its moment, after what was planned for it."""
        for time_s, arrival in arrivals:
            self.run(time_s)
            self.events += 1
            arrive(arrival)

    # -- where many are planned ------------------------------------------------------------------------------------
    def _plan_among_many(self, minus_s: float, planned: Planned) -> None:
        number = PLACE(self._edges, minus_s)
        known_s, theirs = self._later[number] if number < len(self._later) else (self._minus_s, self._planned)
        place = PLACE(known_s, minus_s)
        known_s.insert(place, minus_s)
        theirs.insert(place, planned)
        if len(known_s) > MANY:
            self._part(known_s, theirs, number)

    def _part(self, known_s: list[float], planned: list[Planned], number: int) -> None:
        """The later half becomes a list of its own, before this one, which is the `number`th."""
        half = len(known_s) // 2
        self._later.insert(number, (known_s[:half], planned[:half]))
        self._edges.insert(number, known_s[half - 1])
        del known_s[:half], planned[:half]

    def _bring_nearer(self) -> None:
        known_s, planned = self._later.pop()
        self._edges.pop()
        self._minus_s.extend(known_s)
        self._planned.extend(planned)
