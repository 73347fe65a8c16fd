"""A queue of actions that wait until a residency has changed, in virtual time. The residency decides; the queue
retries."""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from torpor.simulator.engine.virtual_time import Kernel
from torpor_container.core.residency import Residency

Waiter = tuple[Callable[[Any], None], Any, int]
"""What to call again, its argument, and the bytes that wait for admission; OTHER if it waits for something else."""
OTHER: Final = -1
MOST: Final = 2**63 - 1


class WaitingRoom:
    """After each change of the residency, `notify` lets all waiters try again, in order. A waiter that still cannot go
    on waits anew.

    A waiter for admission is not called while the residency has no room for its bytes, or has as many loads in flight
    as it allows: thousands may wait, and every answered request notifies them. Where there is no room for the smallest
    of them, and nothing waits for anything else, a notification costs next to nothing.
    """

    def __init__(self, kernel: Kernel, residency: Residency) -> None:
        self._kernel = kernel
        self._residency = residency
        self.waiting: deque[Waiter] = deque()
        self._others = 0  # the number of waiters that do not wait for admission
        self._least_bytes = MOST  # a lower bound of what the waiters for admission need

    def wait(self, retry: Callable[[Any], None], argument: Any) -> None:
        self._others += 1
        self.waiting.append((retry, argument, OTHER))

    def wait_for_admission(self, retry: Callable[[Any], None], argument: Any, size_bytes: int = 0) -> None:
        if size_bytes < self._least_bytes:
            self._least_bytes = size_bytes
        self.waiting.append((retry, argument, size_bytes))

    def notify(self) -> None:
        """Let the waiters try again, after everything else that is planned for this moment."""
        if self.waiting:
            waiters, others, least_bytes = self.waiting, self._others, self._least_bytes
            self.waiting, self._others, self._least_bytes = deque(), 0, MOST
            self._kernel.soon(self._retry, (waiters, others, least_bytes))

    def _retry(self, notified: tuple[deque[Waiter], int, int]) -> None:
        (waiters, others, least_bytes), residency = notified, self._residency
        most_bytes, budget_bytes = residency.admissible_bytes, residency.budget_bytes
        while waiters and (others or not most_bytes < least_bytes <= budget_bytes):
            retry, argument, size_bytes = waiters.popleft()
            if most_bytes < size_bytes <= budget_bytes:
                self.wait_for_admission(retry, argument, size_bytes)
                continue
            if size_bytes == OTHER:
                others -= 1
            retry(argument)
            most_bytes = residency.admissible_bytes
        if waiters and least_bytes < self._least_bytes:
            self._least_bytes = least_bytes
        if self.waiting:
            self.waiting.extend(waiters)
        else:
            self.waiting = waiters
