"""Keeps names in an order in which each can only rise: a rise is O(1), and the search for the lowest mends the heap.

A heap entry may be out of date, but then it is too low: it comes up too early, is corrected, and sinks.
"""

from heapq import heapify, heappop, heappush, heapreplace

from torpor_container.core.eviction.eviction_policy import MayLeave

Rank = tuple[float, int]
"""The worth, and the tick at which it rose: of equal worths, the one that rose longest ago is lower."""


class RankedModel:
    """One model. Its policy makes it rise by a higher rank, which no other model has."""

    __slots__ = ("gone", "name", "rank")

    def __init__(self, name: str, rank: Rank) -> None:
        self.name = name
        self.rank = rank
        self.gone = False


Entry = tuple[float, int, RankedModel]
"""The rank that a member had, and the member."""


class Ranking:
    """The heap. Each member has one entry. Entries of removed members stay until they come up, or are the majority."""

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self._stay = 0

    def add(self, member: RankedModel) -> None:
        heappush(self._heap, _entry(member))
        self._stay += 1

    def remove(self, member: RankedModel) -> None:
        member.gone = True
        self._stay -= 1
        if len(self._heap) > 2 * self._stay + 8:
            self._heap = [_entry(member) for _, _, member in self._heap if not member.gone]
            heapify(self._heap)

    def lowest(self, may_leave: MayLeave) -> RankedModel | None:
        """The lowest member that may leave. It stays until `remove`."""
        passed: list[Entry] = []
        chosen = None
        while self._heap and chosen is None:
            _, tick, member = self._heap[0]
            if member.gone:
                heappop(self._heap)
            elif tick != member.rank[1]:
                heapreplace(self._heap, _entry(member))
            elif may_leave(member.name):
                chosen = member
            else:
                passed.append(heappop(self._heap))
        for entry in passed:
            heappush(self._heap, entry)
        return chosen


def _entry(member: RankedModel) -> Entry:
    worth, tick = member.rank
    return worth, tick, member
