"""Remembers when the models that left memory were last used, and how often: the next load reports it to the ledger.

The ledger counts warm requests by the minute. These reports tell it between which moments of a minute they came.
"""

from collections.abc import Callable

from torpor_container.core.versions.copy_names import model_of

REPORTED_MAX = 50
"""One load reports at most this many models. The next loads report the others, of which as many are remembered."""


class LastUses:
    """The last uses of the models that left memory since the last report, in order of leaving."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._uses: dict[str, tuple[float, int]] = {}

    def add(self, name: str, used_s: float, hits: int) -> None:
        """A model leaves memory. It was last used at `used_s`, and `hits` requests found it in memory."""
        self._uses[model_of(name)] = used_s, hits
        if len(self._uses) > 2 * REPORTED_MAX:
            del self._uses[next(iter(self._uses))]

    def report(self) -> dict[str, tuple[float, int]]:
        """By model: the seconds since its last use, and how many requests found it in memory.

        What is reported is forgotten.
        """
        now_s = self._clock()
        names = list(self._uses)[:REPORTED_MAX]
        return {name: (now_s - used_s, hits) for name in names for used_s, hits in [self._uses.pop(name)]}
