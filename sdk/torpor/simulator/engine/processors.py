"""The processors of one instance: where there is more work at once than there are, all of it goes on more slowly.

Egalitarian processor sharing (Kleinrock, "Time-shared systems: a theoretical treatment", Journal of the ACM, 1967): of
n pieces of work on c processors each gets min(1, c / n) of one. It is told in attained service, which is how much a
piece that had been there always would have had by now: a new one ends when that has grown by what it takes.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Any, TypeVar

from torpor.simulator.engine.kernel import Action, Kernel

T = TypeVar("T")
Shared = tuple[float, int, Action, Any]
"""The attained service at which it ends, its number in the order of beginning, and what happens then, to whom."""


class Processor:
    """One, with work of its own: when that began, as a number, when it ends, and what happens then. Or it is free."""

    __slots__ = ("action", "begun", "ends_s", "shares", "whom")

    action: Action
    whom: Any

    def __init__(self) -> None:
        self.begun = 0
        self.ends_s = -inf
        self.shares = False  # from now on: its work ends with that of others


class Processors:
    """`count` of them. With None there are always enough: work takes what it takes."""

    def __init__(self, kernel: Kernel, count: int | None = None) -> None:
        self._kernel = kernel
        self._count = inf if count is None else count
        self._alone: list[Processor] = []  # each has work of its own, or had
        self._free: list[Processor] = []  # of those
        self._shared: list[Shared] = []  # the heap
        self._begun = 0  # so many pieces of work
        self._attained_s = 0.0
        self._at_s = 0.0  # when that was so
        self._changed = 0  # so often who shares has changed
        self._through: Action = self._end_alone  # bound once: that takes long

    def after(self, takes_s: float, action: Callable[[T], None], whom: T) -> None:
        """Do this once so many seconds of one processor have gone into it."""
        self._begun += 1
        if not self._shared and (self._free or self._add_one()):
            one = self._free.pop()
            one.begun, one.ends_s = self._begun, self._kernel.now_s + takes_s
            one.action, one.whom = action, whom
            self._kernel.at(one.ends_s, self._through, one)
        else:
            self._share()
            heappush(self._shared, (self._attained_s + takes_s, self._begun, action, whom))
            self._plan_next()

    def _add_one(self) -> bool:
        """Whether there is one that had no work yet."""
        if len(self._alone) >= self._count:
            return False
        one = Processor()
        self._alone.append(one)
        self._free.append(one)
        return True

    def _end_alone(self, one: Processor) -> None:
        if not one.shares:
            self._free.append(one)
            one.action(one.whom)

    def _share(self) -> None:
        """Bring what is shared up to this moment, or begin to share what had processors of its own."""
        now_s = self._kernel.now_s
        if self._shared:
            self._attained_s += (now_s - self._at_s) * min(1.0, self._count / len(self._shared))
        else:
            self._attained_s = 0.0
            for one in self._alone:
                one.shares = True
                heappush(self._shared, (one.ends_s - now_s, one.begun, one.action, one.whom))
            self._alone.clear()
        self._at_s = now_s

    def _plan_next(self) -> None:
        left_s = max(0.0, self._shared[0][0] - self._attained_s)
        ends_s = self._kernel.now_s + left_s * max(1.0, len(self._shared) / self._count)
        self._changed += 1
        self._kernel.at(ends_s, self._end, self._changed)

    def _end(self, changed: int) -> None:
        """The first of those who share is through, unless they have changed since."""
        if changed != self._changed:
            return
        self._attained_s, _, action, whom = heappop(self._shared)
        self._at_s = self._kernel.now_s
        if self._shared:
            self._plan_next()
        action(whom)
