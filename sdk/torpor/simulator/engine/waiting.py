"""Those who wait until the books of a tier have changed, in virtual time. It asks again; it decides nothing."""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from torpor.simulator.engine.kernel import Kernel
from torpor_container.core.residency import Residency

Asking = tuple[Callable[[Any], None], Any, int]
"""What to do again, with whom, and how many bytes are to be admitted: OTHER if it waits for something else."""
OTHER: Final = -1
MOST: Final = 2**63 - 1


class WaitingRoom:
    """Rung after a change: everybody asks again, in order. Whoever cannot be served yet waits anew.

    While the books have no room for so many bytes, or so many loads are in flight that none is admitted, whoever waits
    to be admitted waits on without being asked: they may be thousands, and what is rung for is each answer. Where there
    is no room for the smallest and nobody waits for anything else, that takes no time.
    """

    def __init__(self, kernel: Kernel, books: Residency) -> None:
        self._kernel = kernel
        self._books = books
        self.waiting: deque[Asking] = deque()
        self._others = 0  # of them wait for something else than to be admitted
        self._least_bytes = MOST  # none of the rest is smaller

    def wait(self, ask: Callable[[Any], None], who: Any) -> None:
        self._others += 1
        self.waiting.append((ask, who, OTHER))

    def wait_for_admission(self, ask: Callable[[Any], None], who: Any, size_bytes: int = 0) -> None:
        if size_bytes < self._least_bytes:
            self._least_bytes = size_bytes
        self.waiting.append((ask, who, size_bytes))

    def ring(self) -> None:
        """They ask once this moment's other affairs are over."""
        if self.waiting:
            asking, others, least_bytes = self.waiting, self._others, self._least_bytes
            self.waiting, self._others, self._least_bytes = deque(), 0, MOST
            self._kernel.soon(self._answer, (asking, others, least_bytes))

    def _answer(self, rung: tuple[deque[Asking], int, int]) -> None:
        (asking, others, least_bytes), books = rung, self._books
        while asking and (others or books.may_admit(least_bytes)):
            ask, who, size_bytes = asking.popleft()
            if size_bytes == OTHER:
                others -= 1
                ask(who)
            elif books.may_admit(size_bytes):
                ask(who)
            else:
                self.wait_for_admission(ask, who, size_bytes)
        if asking and least_bytes < self._least_bytes:
            self._least_bytes = least_bytes
        if self.waiting:
            self.waiting.extend(asking)
        else:
            self.waiting = asking
