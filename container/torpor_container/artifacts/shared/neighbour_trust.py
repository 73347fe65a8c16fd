"""Decides which neighbours an instance asks for an artifact, by how each has answered so far. It counts, and knows no
clock.

A neighbour that sent other bytes than the object's, broke off or was too slow is passed over: once after the first
failure in a row, and twice as often after each further one. What it has not is no failure.
"""

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

ASKED_MAX: Final = 3
"""At most so many neighbours are asked for one artifact."""
PASSED_OVER_MAX: Final = 1_024
"""A neighbour is passed over so often at most, before it is asked again."""
REMEMBERED_MAX: Final = 4_096
"""So many neighbours that failed are remembered at most; then all are asked again."""

N = TypeVar("N")


class NeighbourTrust(Generic[N]):
    """How the neighbours of one instance have answered."""

    def __init__(self) -> None:
        self._failures: dict[N, int] = {}  # in a row
        self._passes: dict[N, int] = {}  # how often it is still passed over

    def to_ask(self, named: Iterable[N]) -> list[N]:
        """Those of the named ones that are asked, in their order."""
        asked: list[N] = []
        for one in dict.fromkeys(named):
            if len(asked) == ASKED_MAX:
                break
            if self._passes.get(one, 0):
                self._passes[one] -= 1
            else:
                asked.append(one)
        return asked

    def served(self, one: N) -> None:
        """It sent the object's bytes."""
        self._failures.pop(one, None)
        self._passes.pop(one, None)

    def failed(self, one: N) -> None:
        """It promised the bytes, and did not send them."""
        if len(self._failures) >= REMEMBERED_MAX and one not in self._failures:
            self._failures.clear()
            self._passes.clear()
        failures = self._failures[one] = self._failures.get(one, 0) + 1
        self._passes[one] = min(2 ** min(failures - 1, 16), PASSED_OVER_MAX)
