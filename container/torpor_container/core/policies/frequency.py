"""The policies that look at how often a model was used: LFU and LRU-2. Sizes and costs do not count."""

from itertools import count

from torpor_container.core.policies.contract import MayLeave, Policy
from torpor_container.core.policies.ranking import Ranking


class LFU(Policy):
    """The least often used while resident leaves first; of equals, the one touched longest ago.

    It never forgets: a star of yesterday stays. LFUDA is the form that does.
    """

    def __init__(self) -> None:
        self._uses = Ranking()

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._uses.add(name, 1)

    def touched(self, name: str) -> None:
        self._uses.rise(name, self._uses.worth(name) + 1)

    def removed(self, name: str) -> None:
        self._uses.remove(name)

    def victim(self, may_leave: MayLeave) -> str | None:
        return self._uses.lowest(may_leave)


class LRU2(Policy):
    """The one whose last use but one is longest ago leaves first: LRU-K with K = 2 (O'Neil and others, SIGMOD 1993).

    Those used only once leave before all others, first come, first gone. What left is forgotten.
    """

    NEVER = -1

    def __init__(self) -> None:
        self._ticks = count()
        self._last: dict[str, int] = {}
        self._last_but_one = Ranking()

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._last[name] = next(self._ticks)
        self._last_but_one.add(name, self.NEVER)

    def touched(self, name: str) -> None:
        self._last_but_one.rise(name, self._last[name])
        self._last[name] = next(self._ticks)

    def removed(self, name: str) -> None:
        del self._last[name]
        self._last_but_one.remove(name)

    def victim(self, may_leave: MayLeave) -> str | None:
        return self._last_but_one.lowest(may_leave)
