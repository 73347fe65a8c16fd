"""The greedy-dual family: worth = clock + gain, where the clock devalues models that are not used.

The clock is the worth of the last victim. It never runs backwards, although a busy model can outlive its worth, so the
worth of a model only grows while it stays. Sources: GDSF as in FaasCache (Fuerst and Sharma, ASPLOS 2021); LANDLORD
(Young, 2002); LFUDA (Arlitt and others, 1999).
"""

from abc import abstractmethod

from torpor_container.core.eviction.eviction_policy import MayLeave, Policy
from torpor_container.core.eviction.ranking import RankedModel, Ranking


class Use(RankedModel):
    """What is known of one resident model."""

    __slots__ = ("cost_s", "size_bytes", "uses")

    def __init__(self, name: str, size_bytes: int, cost_s: float) -> None:
        super().__init__(name, (0.0, 0))
        self.size_bytes = size_bytes
        self.cost_s = cost_s
        self.uses = 0


class GreedyDual(Policy):
    """The model of least worth leaves first; of equals, the one touched longest ago."""

    def __init__(self) -> None:
        self._clock = 0.0
        self._tick = 0
        self._resident: dict[str, Use] = {}
        self._by_worth = Ranking()

    @abstractmethod
    def gain(self, use: Use) -> float:
        """What a model is worth above the clock when it is used."""

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        use = self._resident[name] = Use(name, max(size_bytes, 1), cost_s)
        self.touched(name)
        self._by_worth.add(use)

    def touched(self, name: str) -> None:
        use = self._resident[name]
        use.uses += 1
        self._tick += 1
        use.rank = (self._clock + self.gain(use), self._tick)

    def removed(self, name: str) -> None:
        self._by_worth.remove(self._resident.pop(name))

    def victim(self, may_leave: MayLeave) -> str | None:
        lowest = self._by_worth.lowest(may_leave)
        if lowest is None:
            return None
        self._clock = max(self._clock, lowest.rank[0])
        return lowest.name


class GDSF(GreedyDual):
    """Greedy-Dual-Size-Frequency: uses x load seconds / size. Small models that load slowly and are used often stay."""

    def gain(self, use: Use) -> float:
        return use.uses * use.cost_s / use.size_bytes


class LANDLORD(GreedyDual):
    """Each use earns the load seconds; models pay rent by size when room is short; one without credit leaves."""

    def gain(self, use: Use) -> float:
        return use.cost_s / use.size_bytes


class LFUDA(GreedyDual):
    """LFU with dynamic aging: uses alone, and the clock devalues models that were popular long ago."""

    def gain(self, use: Use) -> float:
        return use.uses
