"""Virtual time: sorted moments, and what each brings. Nothing in it waits, and nothing happens but what it was told."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from math import inf, nan
from typing import Any, Final, TypeVar

Action = Callable[[Any], None]
Planned = tuple[Action, Any]
"""What happens, and to whom."""
T = TypeVar("T")

PLACE: Final = bisect_left  # compiled code has at hand what is final, and looks up by its name what is not
FEW: Final = 16
"""Of so many the place of a new one is found by going through them, from the soonest on."""
MANY: Final = 4_096
"""So many in one list: to make room in a longer one takes longer than to find the right one of several."""


class Event:
    """One of the soonest: when it is, what happens then, and to whom. They are a chain, and are used again."""

    __slots__ = ("action", "next", "time_s", "whom")

    action: Action
    whom: Any
    next: "Event"  # the last has none

    def __init__(self, time_s: float) -> None:
        self.time_s = time_s


class Kernel:
    """Actions of one moment run in the order in which they were planned, so the same seed gives the same story.

    Mostly few wait at a time. The soonest are a chain, which takes no memory that was not there before; what does not
    fit in when it is planned is in sorted lists, and so is what comes after that. Who is in the chain was planned
    before whoever is in the lists for the same moment.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events = 0
        self._last = Event(nan)  # no time is before it, or after
        self._first = Event(nan)
        self._first.next = self._spare = self._last
        for _ in range(FEW):
            event = Event(nan)
            event.next, self._spare = self._spare, event
        self._later_s = inf  # the first of what is in lists
        self._minus_s: list[float] = []  # sorted: minus their times, so the next one is the last
        self._planned: list[Planned] = []  # what happens then, in the same places
        self._rest: list[tuple[list[float], list[Planned]]] = []  # what does not fit in: more such pairs, latest first
        self._edges: list[float] = []  # the last number of each pair

    def at(self, time_s: float, action: Callable[[T], None], whom: T) -> None:
        if not time_s > self.now_s:
            time_s = self.now_s
        event = self._spare
        if event is self._last or time_s >= self._later_s:
            self._plan_later(time_s, (action, whom))
            return
        self._spare = event.next
        event.time_s = time_s
        event.action = action
        event.whom = whom
        before = self._first
        after = before.next
        while after.time_s <= time_s:
            before = after
            after = after.next
        before.next = event
        event.next = after

    def after(self, delay_s: float, action: Callable[[T], None], whom: T) -> None:
        self.at(self.now_s + delay_s, action, whom)

    def soon(self, action: Callable[[T], None], whom: T) -> None:
        """Now, but after what was planned for this moment already."""
        self.at(self.now_s, action, whom)

    def run(self, until_s: float = inf) -> None:
        """Everything up to this time, its own moment included. What was planned before a moment comes first in it."""
        first = self._first
        while True:  # the interpreter (3.11) makes a loop faster as it goes only if its condition is inside
            event = first.next
            time_s = event.time_s
            if time_s <= until_s and time_s <= self._later_s:
                first.next = event.next
                event.next = self._spare
                self._spare = event
                self.now_s = time_s
                self.events += 1
                action, whom = event.action, event.whom
                action(whom)
            elif self._minus_s and self._later_s <= until_s:
                self.now_s = self._later_s
                self.events += 1
                action, whom = self._pop_later()
                action(whom)
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

    # -- what is later ---------------------------------------------------------------------------------------------
    def _plan_later(self, time_s: float, planned: Planned) -> None:
        known_s, theirs, minus_s, number = self._minus_s, self._planned, -time_s, 0
        if self._edges:
            number = PLACE(self._edges, minus_s)
            if number < len(self._rest):
                known_s, theirs = self._rest[number]
        place = PLACE(known_s, minus_s)
        known_s.insert(place, minus_s)
        theirs.insert(place, planned)
        if time_s < self._later_s:
            self._later_s = time_s
        if len(known_s) > MANY:
            self._part(known_s, theirs, number)

    def _part(self, known_s: list[float], planned: list[Planned], number: int) -> None:
        """The later half becomes a list of its own, before this one, which is the `number`th."""
        half = len(known_s) // 2
        self._rest.insert(number, (known_s[:half], planned[:half]))
        self._edges.insert(number, known_s[half - 1])
        del known_s[:half], planned[:half]

    def _pop_later(self) -> Planned:
        known_s, planned = self._minus_s, self._planned
        known_s.pop()
        soonest = planned.pop()
        if self._edges and not known_s:
            self._edges.pop()
            known_s[:], planned[:] = self._rest.pop()
        self._later_s = -known_s[-1] if known_s else inf
        return soonest
