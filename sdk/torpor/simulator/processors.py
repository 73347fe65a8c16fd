"""The processors of one instance: where there is more work at once than there are, all of it goes on more slowly.

Egalitarian processor sharing (Kleinrock, "Time-shared systems: a theoretical treatment", Journal of the ACM, 1967): of
n pieces of work on c processors each gets min(1, c / n) of one. It is told in attained service, which is how much a
piece that had been there always would have had by now: a new one ends when that has grown by what it takes.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from operator import attrgetter
from typing import Any, TypeVar

from torpor.simulator.kernel import Action, Kernel

T = TypeVar("T")
Shared = tuple[float, int, Action, Any]
"""The attained service at which it ends, its number in the order of beginning, and what happens then, to whom."""


class Processor:
    """One, and the work that it did last: when that ends, by the kernel's number for it, and what happens then."""

    __slots__ = ("action", "ends_s", "number", "whom")

    action: Action
    whom: Any

    def __init__(self) -> None:
        self.ends_s = -inf
        self.number = 0


class Processors:
    """`count` of them. With None there are always enough: work takes what it takes."""

    def __init__(self, kernel: Kernel, count: int | None = None) -> None:
        self._kernel = kernel
        self._count = count
        self._alone: list[Processor] = []  # each has, or had, work of its own
        self._free: list[Processor] = []  # of those; some that are through may not be here yet
        self._shared: list[Shared] = []  # the heap
        self._begun = 0  # of those that are shared or were
        self._attained_s = 0.0
        self._at_s = 0.0  # when that was so
        self._next = 0  # the kernel's number for the end of the first that is shared

    def after(self, takes_s: float, action: Callable[[T], None], whom: T) -> None:
        """Do this once so many seconds of one processor have gone into it."""
        if self._count is None:
            self._kernel.plan(self._kernel.now_s + takes_s, action, whom)
        elif not self._shared and (self._free or self._find_free(self._count)):
            one = self._free.pop()
            one.ends_s, one.action, one.whom = self._kernel.now_s + takes_s, action, whom
            one.number = self._kernel.plan(one.ends_s, action, whom)
        else:
            self._share(self._count)
            self._enter(takes_s, action, whom)
            self._plan_next(self._count)

    def _find_free(self, count: int) -> bool:
        """Whoever is through, or one that had no work yet."""
        kernel, now_s = self._kernel, self._kernel.now_s  # which knows of this moment's what is over
        self._free = [one for one in self._alone if one.ends_s < now_s or kernel.is_over(one.ends_s, one.number)]
        if not self._free and len(self._alone) < count:
            self._free.append(Processor())
            self._alone.extend(self._free)
        return bool(self._free)

    def _share(self, count: int) -> None:
        """Bring what is shared up to this moment, or begin to share what had processors of its own."""
        now_s = self._kernel.now_s
        if self._shared:
            self._attained_s += (now_s - self._at_s) * min(1.0, count / len(self._shared))
            self._kernel.withdraw(self._next)
        else:
            self._attained_s = 0.0
            for one in sorted(self._alone, key=attrgetter("number")):  # as they began
                self._kernel.withdraw(one.number)
                self._enter(one.ends_s - now_s, one.action, one.whom)
            self._alone.clear()
        self._at_s = now_s

    def _enter(self, takes_s: float, action: Action, whom: Any) -> None:
        self._begun += 1
        heappush(self._shared, (self._attained_s + takes_s, self._begun, action, whom))

    def _plan_next(self, count: int) -> None:
        left_s = max(0.0, self._shared[0][0] - self._attained_s)
        ends_s = self._kernel.now_s + left_s * max(1.0, len(self._shared) / count)
        self._next = self._kernel.plan(ends_s, self._end, count)

    def _end(self, count: int) -> None:
        self._attained_s, _, action, whom = heappop(self._shared)
        self._at_s = self._kernel.now_s
        if self._shared:
            self._plan_next(count)
        action(whom)
