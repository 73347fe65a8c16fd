"""When the models that left memory were used last, and how often: told with the next load, for the ledger.

The ledger keeps warm requests by the minute. With this it knows between which moments of the minute they came.
"""

from collections.abc import Callable

TOLD_MAX = 50
"""At most so many with one load; of the others, only so many are remembered for the next ones."""


class Partings:
    """The models that have left since the last report, in order of leaving."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left: dict[str, tuple[float, int]] = {}

    def left(self, name: str, used_s: float, hits: int) -> None:
        """A model leaves memory, which was used last at `used_s`."""
        self._left[name] = used_s, hits
        if len(self._left) > 2 * TOLD_MAX:
            del self._left[next(iter(self._left))]

    def told(self) -> dict[str, tuple[float, int]]:
        """By model: how many seconds ago it was used last, and how many requests had found it in memory. What is
        reported is forgotten."""
        now_s = self._clock()
        told = list(self._left)[:TOLD_MAX]
        return {name: (now_s - used_s, hits) for name in told for used_s, hits in [self._left.pop(name)]}
