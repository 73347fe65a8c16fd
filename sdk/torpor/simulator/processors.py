"""The processors of one instance: where there is more work at once than there are, all of it goes on more slowly.

Egalitarian processor sharing (Kleinrock, "Time-shared systems: a theoretical treatment", Journal of the ACM, 1967): of
n pieces of work on c processors each gets min(1, c / n) of one. It is told in attained service, which is how much a
piece that had been there always would have had by now: a new one ends when that has grown by what it takes.
"""

from heapq import heappop, heappush
from typing import Any

from torpor.simulator.kernel import Action, Kernel, Planned


class Processors:
    """`count` of them. With None there are always enough: work takes what it takes."""

    def __init__(self, kernel: Kernel, count: int | None = None) -> None:
        self._kernel = kernel
        self._count = count
        self._alone: list[Planned] = []  # on processors of their own, as the kernel has them; some are over
        self._shared: list[Planned] = []  # by the attained service at which each ends; the number is one of here
        self._begun = 0  # of those that are shared or were
        self._attained_s = 0.0
        self._at_s = 0.0  # when that was so
        self._next = 0  # the kernel's number for the end of the first that is shared

    def after(self, takes_s: float, action: Action, *arguments: Any) -> None:
        """Do this once so many seconds of one processor have gone into it."""
        if self._count is None:
            self._kernel.plan(self._kernel.now_s + takes_s, action, arguments)
        elif not self._shared and (len(self._alone) < self._count or self._one_is_free(self._count)):
            self._alone.append(self._kernel.plan(self._kernel.now_s + takes_s, action, arguments))
        else:
            self._share(self._count)
            self._enter(takes_s, action, arguments)
            self._plan_next(self._count)

    def _one_is_free(self, count: int) -> bool:
        self._alone = self._kernel.to_come(self._alone)
        return len(self._alone) < count

    def _share(self, count: int) -> None:
        """Bring what is shared up to this moment, or begin to share what had processors of its own."""
        now_s = self._kernel.now_s
        if self._shared:
            self._attained_s += (now_s - self._at_s) * min(1.0, count / len(self._shared))
            self._kernel.withdraw(self._next)
        else:
            self._attained_s = 0.0
            for ends_s, number, action, arguments in self._alone:
                self._kernel.withdraw(number)
                self._enter(ends_s - now_s, action, arguments)
            self._alone.clear()
        self._at_s = now_s

    def _enter(self, takes_s: float, action: Action, arguments: tuple[Any, ...]) -> None:
        self._begun += 1
        heappush(self._shared, (self._attained_s + takes_s, self._begun, action, arguments))

    def _plan_next(self, count: int) -> None:
        left_s = max(0.0, self._shared[0][0] - self._attained_s)
        ends_s = self._kernel.now_s + left_s * max(1.0, len(self._shared) / count)
        self._next = self._kernel.plan(ends_s, self._end, (count,))[1]

    def _end(self, count: int) -> None:
        self._attained_s, _, action, arguments = heappop(self._shared)
        self._at_s = self._kernel.now_s
        if self._shared:
            self._plan_next(count)
        action(*arguments)
