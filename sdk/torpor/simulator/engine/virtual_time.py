"""Virtual time: a queue of planned actions, sorted by time. Running it jumps from one action to the next and never
waits."""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf, nan
from typing import Any, Final, TypeVar

Action = Callable[[Any], None]
Planned = tuple[float, int, Action, Any]
"""The time, a sequence number, the action, and its argument."""
T = TypeVar("T")

PUSH: Final = heappush  # compiled code reads a Final directly, and looks other globals up by name
POP: Final = heappop
FEW: Final = 32
"""The length of the chain, in which the place of a new event is found by walking from the soonest event."""


class Event:
    """One of the soonest events: its time, its action, and the argument. Events form a chain, and are reused."""

    __slots__ = ("action", "argument", "next", "time_s")

    action: Action
    argument: Any
    next: "Event"  # unset for the last one

    def __init__(self, time_s: float) -> None:
        self.time_s = time_s


class Kernel:
    """Actions of one moment run in the order in which they were planned, so the same seed gives the same result.

    Usually few actions are planned at a time. The soonest ones are in a chain of FEW events, which needs no new memory.
    An action that finds the chain full goes to a heap, and so does each later one than the first of the heap. So, of
    two actions for the same moment, the one in the chain was planned before the one in the heap.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events = 0
        self._last = Event(nan)  # every comparison with nan is false, so the walk along the chain ends here
        self._first = Event(nan)
        self._first.next = self._spare = self._last
        for _ in range(FEW):
            event = Event(nan)
            event.next, self._spare = self._spare, event
        self._later_s = inf  # the time of the first action in the heap
        self._later: list[Planned] = []  # a heap
        self._number = 0  # the sequence number of the action that entered the heap last

    def at(self, time_s: float, action: Callable[[T], None], argument: T) -> None:
        """Plan `action` for this time, in virtual seconds; for now, if this time is over."""
        if not time_s > self.now_s:
            time_s = self.now_s
        event = self._spare
        if event is self._last or time_s >= self._later_s:
            self._plan_later(time_s, action, argument)
            return
        self._spare = event.next
        event.time_s = time_s
        event.action = action
        event.argument = argument
        before = self._first
        after = before.next
        while after.time_s <= time_s:
            before = after
            after = after.next
        before.next = event
        event.next = after

    def after(self, delay_s: float, action: Callable[[T], None], argument: T) -> None:
        self.at(self.now_s + delay_s, action, argument)

    def soon(self, action: Callable[[T], None], argument: T) -> None:
        """Plan `action` for now, after everything that is already planned for this moment."""
        self.at(self.now_s, action, argument)

    def run(self, until_s: float = inf) -> None:
        """Run all actions up to and including this time."""
        first, later = self._first, self._later
        while True:  # CPython 3.11 specialises this loop only with the condition inside it
            event = first.next
            time_s = event.time_s
            if time_s <= until_s and time_s <= self._later_s:
                first.next = event.next
                event.next = self._spare
                self._spare = event
                self.now_s = time_s
                self.events += 1
                action, argument = event.action, event.argument
                action(argument)
            elif later and self._later_s <= until_s:
                self.now_s, _, action, argument = POP(later)
                self._later_s = later[0][0] if later else inf
                self.events += 1
                action(argument)
            else:
                break
        if until_s < inf:
            self.now_s = until_s

    def play(self, arrivals: Iterable[tuple[float, T]], arrive: Callable[[T], None]) -> None:
        """Call `arrive` for each arrival at its time, after the actions that are planned for that time. The arrivals
        come in order of time."""
        for time_s, arrival in arrivals:
            self.run(time_s)
            self.events += 1
            arrive(arrival)

    def _plan_later(self, time_s: float, action: Action, argument: Any) -> None:
        self._number += 1
        PUSH(self._later, (time_s, self._number, action, argument))
        if time_s < self._later_s:
            self._later_s = time_s
