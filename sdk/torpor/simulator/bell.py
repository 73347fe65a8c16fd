"""Those who wait until the books of a tier have changed, in virtual time. It asks again; it decides nothing."""

from collections import deque
from collections.abc import Callable
from typing import Any

from torpor.simulator.kernel import Kernel
from torpor_container.core.residency import Residency

Asking = tuple[Callable[[Any], None], Any, bool]
"""What to do again, with whom, and whether that is to be admitted."""


class Bell:
    """Rung after a change: everybody asks again, in order. Whoever cannot be served yet waits anew.

    While so many loads are in flight that none is admitted, whoever waits to be admitted waits on, without being asked:
    they may be many. If nobody waits for anything else, that takes no time.
    """

    def __init__(self, kernel: Kernel, books: Residency) -> None:
        self._kernel = kernel
        self._books = books
        self.waiting: deque[Asking] = deque()
        self._others = 0  # of them wait for something else than to be admitted

    def wait(self, ask: Callable[[Any], None], who: Any) -> None:
        self._others += 1
        self.waiting.append((ask, who, False))

    def wait_for_admission(self, ask: Callable[[Any], None], who: Any) -> None:
        self.waiting.append((ask, who, True))

    def ring(self) -> None:
        """They ask once this moment's other affairs are over."""
        if self.waiting:
            asking, others = self.waiting, self._others
            self.waiting, self._others = deque(), 0
            self._kernel.soon(self._answer, (asking, others))

    def _answer(self, rung: tuple[deque[Asking], int]) -> None:
        (asking, others), books = rung, self._books
        while asking and (others or not books.at_limit):
            one = asking.popleft()
            others -= not one[2]
            if one[2] and books.at_limit:
                self.waiting.append(one)
            else:
                one[0](one[1])
        if self.waiting:
            self.waiting.extend(asking)
        else:
            self.waiting = asking
