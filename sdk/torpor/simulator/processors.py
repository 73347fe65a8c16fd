"""The processors of one instance: where there is more work at once than there are, all of it goes on more slowly.

Egalitarian processor sharing (Kleinrock, "Time-shared systems: a theoretical treatment", Journal of the ACM, 1967): of
n pieces of work on c processors each gets min(1, c / n) of one. It is told in attained service, which is how much a
piece that had been there always would have had by now: a new one ends when that has grown by what it takes.
"""

from heapq import heappop, heappush
from typing import Any

from torpor.simulator.kernel import Action, Kernel


class Processors:
    """`count` of them. With None there are always enough: work takes what it takes."""

    def __init__(self, kernel: Kernel, count: int | None = None) -> None:
        self._kernel = kernel
        self._count = count
        self._begun = 0  # pieces of work: each has its number
        self._alone: dict[int, tuple[float, Action, tuple[Any, ...]]] = {}  # on processors of their own: when they end
        self._shared: list[tuple[float, int, Action, tuple[Any, ...]]] = []  # by the attained service at which it ends
        self._attained_s = 0.0
        self._at_s = 0.0  # when that was so
        self._plan = 0  # of all ends that were planned for shared work, the last one counts

    def after(self, takes_s: float, action: Action, *arguments: Any) -> None:
        """Do this once so many seconds of one processor have gone into it."""
        if self._count is None:
            self._kernel.after(takes_s, action, *arguments)
            return
        self._begun += 1
        if not self._shared and len(self._alone) < self._count:
            self._alone[self._begun] = (self._kernel.now_s + takes_s, action, arguments)
            self._kernel.after(takes_s, self._end_alone, self._begun)
        else:
            self._share(self._count)
            heappush(self._shared, (self._attained_s + takes_s, self._begun, action, arguments))
            self._plan_next(self._count)

    def _end_alone(self, number: int) -> None:
        piece = self._alone.pop(number, None)
        if piece is not None:  # it had its processor to the end
            piece[1](*piece[2])

    def _share(self, count: int) -> None:
        """Bring what is shared up to this moment, or begin to share what had processors of its own."""
        now_s = self._kernel.now_s
        if self._shared:
            self._attained_s += (now_s - self._at_s) * min(1.0, count / len(self._shared))
        else:
            self._attained_s = 0.0
            for number, (ends_s, action, arguments) in self._alone.items():
                heappush(self._shared, (ends_s - now_s, number, action, arguments))
            self._alone.clear()
        self._at_s = now_s

    def _plan_next(self, count: int) -> None:
        self._plan += 1
        if self._shared:
            left_s = max(0.0, self._shared[0][0] - self._attained_s)
            self._kernel.after(left_s * max(1.0, len(self._shared) / count), self._end, self._plan, count)

    def _end(self, plan: int, count: int) -> None:
        if plan != self._plan:
            return  # work came since
        self._attained_s, _, action, arguments = heappop(self._shared)
        self._at_s = self._kernel.now_s
        self._plan_next(count)
        action(*arguments)
