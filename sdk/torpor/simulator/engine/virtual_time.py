"""Virtual time: a queue of planned actions, sorted by time. Running it jumps from one action to the next and never
waits."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from math import inf, nan, nextafter
from typing import Any, Final, TypeVar

Action = Callable[[Any], None]
Planned = tuple[float, int, Action, Any]
"""The time and a sequence number, both negative, so that the action that is due first comes last in order; the action,
and its argument."""
Ticket = Any
"""One of these, as it is in the queue: compiled code would copy it where its type is known."""
Moment = tuple[float, int]
"""The first two of these: the moment of an action, among those of its time."""
T = TypeVar("T")

INSERT: Final = insort  # compiled code reads a Final directly, and looks other globals up by name
FEW: Final = 32
"""At least so many actions are soon, if there are as many, and at least a quarter of all."""


class Kernel:
    """Actions of one moment run in the order in which they were planned, so the same seed gives the same result.

    The soonest actions are sorted, and a new one is inserted among them. All later ones are put aside unsorted until
    those are over. Most of them are still in order from the last time then, and Python's sort needs few comparisons for
    such a list: fewer than a heap.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        self._arrived = 0
        self.number = 0  # of the action that was planned last
        self._unplanned = 0  # how many numbers no action has
        never: Planned = (nan, 0, self.run, None)  # every comparison with nan is false: it stays first, and is not due
        self._soon = [never]
        self._full = 2 * FEW  # with more actions than these, the later half of `_soon` is put aside
        self._later: list[Planned] = []
        self._later_s = inf  # what is planned for this time, or for a later one, is put aside

    @property
    def events(self) -> int:
        """How many actions were run, and how many arrivals played."""
        return self._arrived - self.number - self._unplanned - (len(self._soon) - 1) - len(self._later)

    def at(self, time_s: float, action: Callable[[T], None], argument: T) -> Ticket:
        """Plan `action` for this time, in virtual seconds; for now, if this time is over. Returns what is planned."""
        if not time_s > self.now_s:
            time_s = self.now_s
        self.number = number = self.number - 1
        planned: Ticket = (-time_s, number, action, argument)
        if time_s >= self._later_s:
            self._later.append(planned)
        else:
            INSERT(self._soon, planned)
            if len(self._soon) > self._full:
                self._put_aside()
        return planned

    def is_over(self, planned: Ticket) -> bool:
        """Whether the action was run, or has begun."""
        minus_s: float = planned[0]
        if minus_s != -self.now_s:
            return minus_s > -self.now_s
        return not self._is_soon(planned) and planned not in self._later

    def cancel(self, planned: Ticket) -> None:
        """Never run the action, which is not over."""
        if self._is_soon(planned):
            del self._soon[bisect_left(self._soon, planned, 1)]
        else:
            self._later.remove(planned)
        self._unplanned += 1

    def _is_soon(self, planned: Ticket) -> bool:
        """Whether it is among the soonest actions, of which the first one is never due."""
        place = bisect_left(self._soon, planned, 1)
        return place < len(self._soon) and self._soon[place][1] == planned[1]

    @property
    def is_clear(self) -> bool:
        """Whether nothing is left to happen at this moment, as far as it was run."""
        return not self._soon[-1][0] >= -self.now_s  # nor is nan

    def after(self, delay_s: float, action: Callable[[T], None], argument: T) -> None:
        self.at(self.now_s + delay_s, action, argument)

    def soon(self, action: Callable[[T], None], argument: T) -> None:
        """Plan `action` for now, after everything that is already planned for this moment."""
        self.at(self.now_s, action, argument)

    def run(self, until_s: float = inf) -> None:
        """Run all actions up to and including this time."""
        soon, minus_until_s = self._soon, -until_s
        while True:
            if soon[-1][0] >= minus_until_s:
                minus_s, _, action, argument = soon.pop()
                self.now_s = -minus_s
                action(argument)
            elif len(soon) > 1 or not self._later:
                break
            else:
                self._sort_later()
        if until_s < inf:
            self.now_s = until_s

    @property
    def next(self) -> Moment | None:
        """The moment of the action that is due first; None if none is planned."""
        if len(self._soon) == 1 and self._later:
            self._sort_later()
        return self._soon[-1][:2] if len(self._soon) > 1 else None

    def run_before(self, moment: Moment) -> None:
        """Run all actions that are due before another kernel's next action. Both are to `align` after each of its
        actions: then this is their order."""
        self.run(nextafter(-moment[0], -inf))
        while (due := self.next) is not None and due > moment:
            self.run_next()
        self.now_s = -moment[0]

    def run_next(self) -> None:
        """Run the action that is due first. There is one."""
        minus_s, _, action, argument = self._soon.pop()
        self.now_s = -minus_s
        action(argument)

    def align(self, number: int) -> None:
        """The actions to come have lower numbers than this one."""
        self._unplanned += self.number - number
        self.number = number

    def play(self, arrivals: Iterable[tuple[float, T]], arrive: Callable[[T], None]) -> None:
        """Call `arrive` for each arrival at its time, after the actions that are planned for that time. The arrivals
        come in order of time."""
        soon = self._soon
        for time_s, arrival in arrivals:
            if soon[-1][0] >= -time_s or self._later:
                self.run(time_s)
            else:  # as `run` does, without a call
                self.now_s = time_s
            self._arrived += 1
            arrive(arrival)

    def _put_aside(self) -> None:
        """Leave the sooner half of the soonest actions."""
        half = len(self._soon) // 2
        self._later_s = -self._soon[half - 1][0]
        self._later += self._soon[1:half]
        del self._soon[1:half]

    def _sort_later(self) -> None:
        """The first of the later actions become the soonest ones, of which there are none now."""
        later = self._later
        later.sort()
        count = max(FEW, len(later) // 4)
        self._soon += later[-count:]
        del later[-count:]
        self._full = 2 * count
        self._later_s = -later[-1][0] if later else inf
