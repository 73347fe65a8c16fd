"""The requests of one variant that wait, in memory: their order, which run, rest, or have expired. Pure."""

from collections import Counter
from collections.abc import Iterator
from heapq import heappop, heappush

from torpor_account.core.outages.waiting import Outage
from torpor_endpoint.runtime.asynchronous.async_queue import Waiting


class Line:
    """One variant's line, in the order of arrival, which is that of the requests' numbers. One that goes back keeps its
    place, and may rest first: others go meanwhile. Times of rest are of a clock that only goes forward."""

    def __init__(self) -> None:
        self.running: dict[int, Waiting] = {}
        self.outage = Outage()
        self.probe: int | None = None  # the request that tries whether the outage lasts
        self._waiting: dict[int, Waiting] = {}
        self._setbacks = Counter[int]()
        self._order: list[int] = []  # a heap; numbers that wait no more are skipped
        self._resting: list[tuple[float, int]] = []  # a heap of those that are not in `_order` yet; likewise
        self._ends: list[tuple[float, int]] = []  # a heap; likewise

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def __iter__(self) -> Iterator[Waiting]:
        """Those that wait, in no order."""
        return iter(self._waiting.values())

    @property
    def oldest_s(self) -> float | None:
        """When the first one that waits came, in epoch seconds."""
        self._skip()
        first = [number for _, number in self._resting if number in self._waiting] + self._order[:1]
        return self._waiting[min(first)].received_s if first else None

    @property
    def next_end_s(self) -> float | None:
        """When the next one that waits expires, in epoch seconds."""
        while self._ends and self._ends[0][1] not in self._waiting:
            heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def has(self, number: int) -> bool:
        """Whether the request waits or runs."""
        return number in self._waiting or number in self.running

    def add(self, one: Waiting) -> None:
        self._waiting[one.number] = one
        heappush(self._order, one.number)
        heappush(self._ends, (one.expires_s, one.number))

    def take(self, now_s: float) -> Waiting | None:
        """The next one, which runs from now on; None if each one that waits rests."""
        while self._resting and self._resting[0][0] <= now_s:
            heappush(self._order, heappop(self._resting)[1])
        self._skip()
        if not self._order:
            return None
        one = self._waiting.pop(heappop(self._order))
        self.running[one.number] = one
        return one

    def back(self, one: Waiting, until_s: float) -> None:
        """One that ran waits again, and rests until then."""
        del self.running[one.number]
        self._waiting[one.number] = one
        heappush(self._resting, (until_s, one.number))
        heappush(self._ends, (one.expires_s, one.number))

    def set_back(self, number: int) -> int:
        """An attempt of one that runs was none. How often that was so."""
        self._setbacks[number] += 1
        return self._setbacks[number]

    def ended(self, number: int) -> None:
        """One that ran is over."""
        self._setbacks.pop(number, None)
        self.running.pop(number, None)

    def remove(self, number: int) -> bool:
        """One that waits waits no more. False if it does not wait."""
        if self._waiting.pop(number, None) is None:
            return False
        self._setbacks.pop(number, None)
        return True

    def expired(self, now_s: float) -> list[Waiting]:
        """Those that wait and may not any more, at this epoch second: they leave the line."""
        found = []
        while (end_s := self.next_end_s) is not None and end_s <= now_s:
            one = self._waiting[heappop(self._ends)[1]]
            self.remove(one.number)
            found.append(one)
        return found

    def _skip(self) -> None:
        while self._order and self._order[0] not in self._waiting:
            heappop(self._order)
