"""S3-FIFO: a small queue on trial, a main queue, and the names of models that failed (Yang and others, SOSP 2023).

As published, the small queue is a tenth of the room, and a larger model is never admitted: with few, big models that is
every model. Here the small queue holds at least the largest resident model, and among few models each counts as one.
"""

from collections import OrderedDict
from itertools import count

from torpor_container.core.eviction.eviction_policy import MayLeave, Policy
from torpor_container.core.eviction.ranking import Rank, RankedModel, Ranking


class Queue:
    """First in, first out: names with their sizes."""

    def __init__(self) -> None:
        self._oldest_first: OrderedDict[str, int] = OrderedDict()
        self.size_bytes = 0

    def put(self, name: str, size_bytes: int) -> None:
        self._oldest_first[name] = size_bytes
        self.size_bytes += size_bytes

    def take(self, name: str) -> int:
        size_bytes = self._oldest_first.pop(name)
        self.size_bytes -= size_bytes
        return size_bytes

    def oldest(self) -> str:
        return next(iter(self._oldest_first))

    def again(self, name: str) -> None:
        """Move a name to the young end."""
        self._oldest_first.move_to_end(name)

    def __contains__(self, name: str) -> bool:
        return name in self._oldest_first

    def __len__(self) -> int:
        return len(self._oldest_first)


class Counted(RankedModel):
    """One resident model, ranked by its size: the largest is the lowest."""

    __slots__ = ("uses",)

    def __init__(self, name: str, rank: Rank) -> None:
        super().__init__(name, rank)
        self.uses = 0


class Shares:
    """How the room is shared, in bytes or in models."""

    __slots__ = ("largest", "main", "room", "small")

    def __init__(self, small: int, main: int, room: int, largest: int) -> None:
        self.small = small
        self.main = main
        self.room = room
        self.largest = largest

    @property
    def small_max(self) -> int:
        return max(self.room // 10, self.largest)

    @property
    def main_max(self) -> int:
        return self.room - self.small_max

    @property
    def small_is_full(self) -> bool:
        return self.small >= self.small_max

    @property
    def main_is_over(self) -> bool:
        return self.main > self.main_max


class S3FIFO(Policy):
    """A newcomer is on trial in the small queue: one that is used twice there moves to the main queue, others leave.

    One that comes back soon goes to the main queue. There the oldest leaves, unless it was used: then it goes
    round again, at most three times for all its uses.
    """

    REUSED = 2
    ROUNDS_MAX = 3

    def __init__(self, room_bytes: int | None = None, few: int = 50) -> None:
        """The room is what is resident when it is not given. Among fewer than `few` models each counts as one."""
        self._room_bytes = room_bytes
        self._few = few
        self._small, self._main, self._ghosts = Queue(), Queue(), Queue()
        self._resident: dict[str, Counted] = {}
        self._largest_first = Ranking()
        self._ticks = count()
        self._was_full = False

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        shares, known = self._shares(), name in self._ghosts
        if known:
            self._ghosts.take(name)
        self._forget(shares.main_max)
        overflows = not self._was_full and shares.small_is_full  # all room is used before a model must leave
        (self._main if known or overflows else self._small).put(name, max(size_bytes, 1))
        counted = self._resident[name] = Counted(name, (-size_bytes, next(self._ticks)))
        self._largest_first.add(counted)

    def touched(self, name: str) -> None:
        self._resident[name].uses += 1

    def removed(self, name: str) -> None:
        self._largest_first.remove(self._resident.pop(name))
        if name in self._main:
            self._main.take(name)
        else:
            self._ghosts.put(name, self._small.take(name))

    def victim(self, may_leave: MayLeave) -> str | None:
        """The main queue comes last, since the small queue may pass models on to it."""
        sources = (self._from_small, self._from_main)
        for source in (self._from_main, *sources) if self._shares().main_is_over else sources:
            if (chosen := source(may_leave)) is not None:
                self._was_full = True
                return chosen
        return None

    def _from_small(self, may_leave: MayLeave) -> str | None:
        for _ in range(len(self._small)):
            name = self._small.oldest()
            if not may_leave(name):
                self._small.again(name)
            elif self._resident[name].uses < self.REUSED:
                return name
            else:
                self._main.put(name, self._small.take(name))
                self._resident[name].uses = 0
        return None

    def _from_main(self, may_leave: MayLeave) -> str | None:
        for _ in range((self.ROUNDS_MAX + 1) * len(self._main)):
            name = self._main.oldest()
            if may_leave(name):
                counted = self._resident[name]
                if not counted.uses:
                    return name
                counted.uses = min(counted.uses, self.ROUNDS_MAX) - 1
            self._main.again(name)
        return None

    def _forget(self, main_max: int) -> None:
        """Forget the oldest failed models, until the main queue has room for as many as are known."""
        while (len(self._ghosts) if self._is_few() else self._ghosts.size_bytes) > max(main_max, 1):
            self._ghosts.take(self._ghosts.oldest())

    def _is_few(self) -> bool:
        return len(self._resident) < self._few

    def _shares(self) -> Shares:
        if self._is_few():
            return Shares(len(self._small), len(self._main), len(self._resident), 1)
        largest = self._largest_first.lowest(lambda name: True)
        largest_bytes = -int(largest.rank[0]) if largest else 0
        room_bytes = self._room_bytes or self._small.size_bytes + self._main.size_bytes
        return Shares(self._small.size_bytes, self._main.size_bytes, room_bytes, largest_bytes)
