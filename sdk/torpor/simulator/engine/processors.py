"""The processors of one instance: with more concurrent tasks than processors, all of them slow down equally.

Egalitarian processor sharing (Kleinrock, "Time-shared systems: a theoretical treatment", Journal of the ACM, 1967): of
n tasks on c processors, each gets min(1, c / n) of a processor. The module counts attained service: the processor
seconds that a task would have got if it had run since sharing began. A new task ends when attained service has grown by
the seconds that the task takes.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Any, Final, TypeVar

from torpor.simulator.engine.virtual_time import Action, Kernel, Ticket

T = TypeVar("T")
Shared = tuple[float, int, Action, Any]
"""The attained service at which a task ends, its sequence number, the action at its end, and the argument."""


MANY: Final = 64
"""Of processors without number, tasks that are over are forgotten when there are so many, or twice as many as run."""


class Processors:
    """`count` processors; with None, as many as there are tasks.

    A task that has a processor alone is nothing but its planned end. Whether that is over is asked only when all
    processors may be busy, so a task that ends frees none by itself.
    """

    def __init__(self, kernel: Kernel, count: int | None = None) -> None:
        self._kernel = kernel
        self.count = inf if count is None else count
        self._alone: list[Ticket] = []  # the ends of tasks that have a processor each, in order; some may be over
        self._most = MANY if count is None else count  # with so many of them, those that are over are forgotten
        self._shared: list[Shared] = []  # the tasks that share processors, as a heap
        self._begun = 0  # the number of tasks that have shared processors
        self._attained_s = 0.0
        self._at_s = 0.0  # the time of that value
        self._changed = 0  # how often the set of shared tasks has changed

    def after(self, takes_s: float, action: Callable[[T], None], argument: T) -> None:
        """Begin a task that needs `takes_s` seconds of one processor, and run `action` at its end."""
        kernel = self._kernel
        if not self._shared and (len(self._alone) < self._most or self._has_free()):
            self._alone.append(kernel.at(kernel.now_s + takes_s, action, argument))
        else:
            self._share()
            self._begun += 1
            heappush(self._shared, (self._attained_s + takes_s, self._begun, action, argument))
            self._plan_next()

    def _has_free(self) -> bool:
        """Forget the tasks that are over. Whether a processor is free."""
        minus_now_s, is_over = -self._kernel.now_s, self._kernel.is_over
        self._alone = [
            end for end in self._alone if end[0] < minus_now_s or (end[0] == minus_now_s and not is_over(end))
        ]
        if self.count == inf:
            self._most = max(MANY, 2 * len(self._alone))
        return len(self._alone) < self.count

    def _share(self) -> None:
        """Bring attained service up to now; or begin to share, with the tasks that had a processor each."""
        now_s = self._kernel.now_s
        if self._shared:
            self._attained_s += (now_s - self._at_s) * min(1.0, self.count / len(self._shared))
        else:
            self._attained_s = 0.0
            for end in self._alone:
                minus_end_s, _, action, argument = end
                self._kernel.cancel(end)
                self._begun += 1
                heappush(self._shared, (-minus_end_s - now_s, self._begun, action, argument))
            self._alone.clear()
        self._at_s = now_s

    def _plan_next(self) -> None:
        left_s = max(0.0, self._shared[0][0] - self._attained_s)
        ends_s = self._kernel.now_s + left_s * max(1.0, len(self._shared) / self.count)
        self._changed += 1
        self._kernel.at(ends_s, self._end, self._changed)

    def _end(self, changed: int) -> None:
        """End the first of the shared tasks, unless the set has changed since this was planned."""
        if changed != self._changed:
            return
        self._attained_s, _, action, argument = heappop(self._shared)
        self._at_s = self._kernel.now_s
        if self._shared:
            self._plan_next()
        action(argument)
