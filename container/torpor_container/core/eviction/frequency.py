"""The policies that look at how often a model was used: LFU and LRU-2. Sizes and costs do not count."""

from itertools import count

from torpor_container.core.eviction.eviction_policy import MayLeave, Policy
from torpor_container.core.eviction.ranking import Rank, RankedModel, Ranking


class LFU(Policy):
    """The model with the fewest uses while resident leaves first; of equals, the one touched longest ago.

    It never forgets: a model that was popular long ago stays. LFUDA is the form that forgets.
    """

    def __init__(self) -> None:
        self._ticks = count()
        self._resident: dict[str, RankedModel] = {}
        self._by_uses = Ranking()

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        member = self._resident[name] = RankedModel(name, (1, next(self._ticks)))
        self._by_uses.add(member)

    def touched(self, name: str) -> None:
        member = self._resident[name]
        member.rank = (member.rank[0] + 1, next(self._ticks))

    def removed(self, name: str) -> None:
        self._by_uses.remove(self._resident.pop(name))

    def victim(self, may_leave: MayLeave) -> str | None:
        lowest = self._by_uses.lowest(may_leave)
        return lowest.name if lowest else None


class Used(RankedModel):
    """The times of a model's last use and, as its rank, of the last use but one."""

    __slots__ = ("last",)

    def __init__(self, name: str, rank: Rank) -> None:
        super().__init__(name, rank)
        self.last = rank[1]


class LRU2(Policy):
    """The model whose last use but one is longest ago leaves first: LRU-K with K = 2 (O'Neil and others, SIGMOD 1993).

    Models used only once leave before all others, the first one first. What left is forgotten.
    """

    NEVER = -1

    def __init__(self) -> None:
        self._ticks = count()
        self._resident: dict[str, Used] = {}
        self._by_last_but_one = Ranking()

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        now = next(self._ticks)
        used = self._resident[name] = Used(name, (self.NEVER, now))
        self._by_last_but_one.add(used)

    def touched(self, name: str) -> None:
        used = self._resident[name]
        now = next(self._ticks)
        used.rank, used.last = (used.last, now), now

    def removed(self, name: str) -> None:
        self._by_last_but_one.remove(self._resident.pop(name))

    def victim(self, may_leave: MayLeave) -> str | None:
        lowest = self._by_last_but_one.lowest(may_leave)
        return lowest.name if lowest else None
