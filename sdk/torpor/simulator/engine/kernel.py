"""Virtual time: sorted moments, and what each brings. Nothing in it waits, and nothing happens but what it was told."""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf, nan
from typing import Any, Final, TypeVar

Action = Callable[[Any], None]
Planned = tuple[float, int, Action, Any]
"""When, in which order, what happens, and to whom."""
T = TypeVar("T")

PUSH: Final = heappush  # compiled code has at hand what is final, and looks up by its name what is not
POP: Final = heappop
FEW: Final = 32
"""Of so many the place of a new one is found by going through them, from the soonest on."""


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
    fit in when it is planned is in a heap, and so is what comes after that. Who is in the chain was planned before
    whoever is in the heap for the same moment.
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
        self._later_s = inf  # the first of what is in the heap
        self._later: list[Planned] = []  # a heap
        self._number = 0  # of the last one there

    def at(self, time_s: float, action: Callable[[T], None], whom: T) -> None:
        if not time_s > self.now_s:
            time_s = self.now_s
        event = self._spare
        if event is self._last or time_s >= self._later_s:
            self._plan_later(time_s, action, whom)
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
        first, later = self._first, self._later
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
            elif later and self._later_s <= until_s:
                self.now_s, _, action, whom = POP(later)
                self._later_s = later[0][0] if later else inf
                self.events += 1
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

    def _plan_later(self, time_s: float, action: Action, whom: Any) -> None:
        self._number += 1
        PUSH(self._later, (time_s, self._number, action, whom))
        if time_s < self._later_s:
            self._later_s = time_s
