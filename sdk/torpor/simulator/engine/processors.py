"""The processors of one instance: with more concurrent tasks than processors, all of them slow down equally.

Egalitarian processor sharing (Kleinrock, "Time-shared systems: a theoretical treatment", Journal of the ACM, 1967): of
n tasks on c processors, each gets min(1, c / n) of a processor. The module counts attained service: the processor
seconds that a task would have got if it had run since sharing began. A new task ends when attained service has grown by
the seconds that the task takes.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Any, TypeVar

from torpor.simulator.engine.virtual_time import Action, Kernel

T = TypeVar("T")
Shared = tuple[float, int, Action, Any]
"""The attained service at which a task ends, its sequence number, the action at its end, and the argument."""


class Processor:
    """A processor that is free or runs one task: the task's sequence number, its end, and the action then."""

    __slots__ = ("action", "argument", "begun", "ends_s", "shares")

    action: Action
    argument: Any

    def __init__(self) -> None:
        self.begun = 0
        self.ends_s = -inf
        self.shares = False  # True once its task is among the shared ones, which replaces the planned end


class Processors:
    """`count` processors; with None, as many as there are tasks."""

    def __init__(self, kernel: Kernel, count: int | None = None) -> None:
        self._kernel = kernel
        self._count = inf if count is None else count
        self._alone: list[Processor] = []  # processors that run one task each, or are free
        self._free: list[Processor] = []  # the free ones of them
        self._shared: list[Shared] = []  # the tasks that share processors, as a heap
        self._begun = 0  # the number of tasks that have begun
        self._attained_s = 0.0
        self._at_s = 0.0  # the time of that value
        self._changed = 0  # how often the set of shared tasks has changed
        self._ended_alone: Action = self._end_alone  # bound once, since binding a method each time is slow

    def after(self, takes_s: float, action: Callable[[T], None], argument: T) -> None:
        """Begin a task that needs `takes_s` seconds of one processor, and run `action` at its end."""
        self._begun += 1
        if not self._shared and (self._free or self._add_one()):
            one = self._free.pop()
            one.begun, one.ends_s = self._begun, self._kernel.now_s + takes_s
            one.action, one.argument = action, argument
            self._kernel.at(one.ends_s, self._ended_alone, one)
        else:
            self._share()
            heappush(self._shared, (self._attained_s + takes_s, self._begun, action, argument))
            self._plan_next()

    def _add_one(self) -> bool:
        """Add a free processor. Returns False if there are `count` already."""
        if len(self._alone) >= self._count:
            return False
        one = Processor()
        self._alone.append(one)
        self._free.append(one)
        return True

    def _end_alone(self, one: Processor) -> None:
        if not one.shares:
            self._free.append(one)
            one.action(one.argument)

    def _share(self) -> None:
        """Bring attained service up to now; or begin to share, with the tasks that had a processor each."""
        now_s = self._kernel.now_s
        if self._shared:
            self._attained_s += (now_s - self._at_s) * min(1.0, self._count / len(self._shared))
        else:
            self._attained_s = 0.0
            for one in self._alone:
                one.shares = True
                heappush(self._shared, (one.ends_s - now_s, one.begun, one.action, one.argument))
            self._alone.clear()
        self._at_s = now_s

    def _plan_next(self) -> None:
        left_s = max(0.0, self._shared[0][0] - self._attained_s)
        ends_s = self._kernel.now_s + left_s * max(1.0, len(self._shared) / self._count)
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
