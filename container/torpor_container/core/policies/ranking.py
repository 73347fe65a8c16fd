"""Names in an order in which each can only rise while it stays: rising is O(1), finding the lowest mends the heap.

A heap entry may be out of date, but then it is too low: so it comes up too early, is put right, and sinks.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count

from torpor_container.core.policies.contract import MayLeave

Rank = tuple[float, int]
"""The worth, and a number that grows with time: of equals, the one that rose longest ago is the lower."""


@dataclass(slots=True, eq=False)
class Member:
    name: str
    rank: Rank
    gone: bool = False


class Ranking:
    """Names by their worth. Each has one entry in the heap as long as it stays, and at most until it comes up then."""

    def __init__(self) -> None:
        self._ticks = count()
        self._members: dict[str, Member] = {}
        self._heap: list[tuple[Rank, Member]] = []

    def add(self, name: str, worth: float) -> None:
        rank = (worth, next(self._ticks))
        member = self._members[name] = Member(name, rank)
        heappush(self._heap, (rank, member))

    def rise(self, name: str, worth: float) -> None:
        """`worth` is at least what it was."""
        self._members[name].rank = (worth, next(self._ticks))

    def worth(self, name: str) -> float:
        return self._members[name].rank[0]

    def remove(self, name: str) -> None:
        self._members.pop(name).gone = True
        if len(self._heap) > 2 * len(self._members) + 8:
            self._heap = [(member.rank, member) for member in self._members.values()]
            heapify(self._heap)

    def lowest(self, may_leave: MayLeave) -> str | None:
        """The lowest of those that may leave. It stays until it is removed."""
        passed: list[tuple[Rank, Member]] = []
        chosen = None
        while self._heap and chosen is None:
            rank, member = self._heap[0]
            if member.gone:
                heappop(self._heap)
            elif rank is not member.rank:
                heapreplace(self._heap, (member.rank, member))
            elif may_leave(member.name):
                chosen = member.name
            else:
                passed.append(heappop(self._heap))
        for entry in passed:
            heappush(self._heap, entry)
        return chosen
