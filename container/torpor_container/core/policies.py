"""In which order models leave: eviction policies that order names; they never load, unload or wait.

A policy is told what happens (`added`, `touched`, `removed`) and asked who leaves next (`victim`). Sizes are bytes,
costs are the seconds that loading took, and a touch is one request. Sources: LRU is closest to what AWS documents
("unloads unused models"); GDSF is Greedy-Dual-Size-Frequency as in FaasCache (ASPLOS 2021).
"""

from collections import OrderedDict
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

MayLeave = Callable[[str], bool]


class Policy(Protocol):
    """One way to choose who leaves."""

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        """The model is resident from now on."""

    def touched(self, name: str) -> None:
        """A request used the resident model."""

    def removed(self, name: str) -> None:
        """The model is resident no more."""

    def victim(self, may_leave: MayLeave) -> str | None:
        """Name the next model to leave among those that may. The caller does remove it: asking is choosing."""


class LRU:
    """The least recently used leaves first. Sizes and costs do not count."""

    def __init__(self) -> None:
        self._oldest_first: OrderedDict[str, None] = OrderedDict()

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._oldest_first[name] = None

    def touched(self, name: str) -> None:
        self._oldest_first.move_to_end(name)

    def removed(self, name: str) -> None:
        del self._oldest_first[name]

    def victim(self, may_leave: MayLeave) -> str | None:
        return next(filter(may_leave, self._oldest_first), None)


class LFU:
    """The least often used while resident leaves first; of equals, the one touched longest ago."""

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}
        self._by_uses: dict[int, OrderedDict[str, None]] = {}

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._put(name, 1)

    def touched(self, name: str) -> None:
        self._put(name, self._take(name) + 1)

    def removed(self, name: str) -> None:
        self._take(name)

    def victim(self, may_leave: MayLeave) -> str | None:
        ordered = (name for uses in sorted(self._by_uses) for name in self._by_uses[uses])
        return next(filter(may_leave, ordered), None)

    def _put(self, name: str, uses: int) -> None:
        self._uses[name] = uses
        self._by_uses.setdefault(uses, OrderedDict())[name] = None

    def _take(self, name: str) -> int:
        uses = self._uses.pop(name)
        peers = self._by_uses[uses]
        del peers[name]
        if not peers:
            del self._by_uses[uses]
        return uses


class GDSF:
    """The least worth keeping leaves first: worth = clock + uses x load seconds / size; of equals, touched longest ago.

    The clock is the worth of the last victim, so that what was popular once fades. It never runs backwards, although
    a busy model can outlive its worth (`max`). Worth only grows while a model stays, so the heap may hold stale, too
    low figures and is mended when somebody must leave: a touch costs O(1).
    """

    def __init__(self) -> None:
        self._clock = 0.0
        self._ticks = count()
        self._value: dict[str, float] = {}  # load seconds per byte
        self._uses: dict[str, int] = {}
        self._worth: dict[str, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, str]] = []

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self._value[name] = cost_s / max(size_bytes, 1)
        self._uses[name] = 0
        self.touched(name)
        heappush(self._heap, (*self._worth[name], name))

    def touched(self, name: str) -> None:
        self._uses[name] += 1
        self._worth[name] = (self._clock + self._uses[name] * self._value[name], next(self._ticks))

    def removed(self, name: str) -> None:
        del self._value[name], self._uses[name], self._worth[name]
        if len(self._heap) > 2 * len(self._worth) + 8:
            self._heap = [(*worth, kept) for kept, worth in self._worth.items()]
            heapify(self._heap)

    def victim(self, may_leave: MayLeave) -> str | None:
        looked_at: list[tuple[float, int, str]] = []
        chosen = None
        while self._heap and chosen is None:
            *worth, name = heappop(self._heap)
            now = self._worth.get(name)
            if now is None:
                continue  # it left already
            if now != tuple(worth):
                heappush(self._heap, (*now, name))  # touched since: mend and look again
                continue
            looked_at.append((*now, name))
            if may_leave(name):
                chosen = name
                self._clock = max(self._clock, now[0])
        for entry in looked_at:
            heappush(self._heap, entry)
        return chosen


class Nobody:
    """Nobody ever leaves by itself: somebody else drives the unloading."""

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        pass

    def touched(self, name: str) -> None:
        pass

    def removed(self, name: str) -> None:
        pass

    def victim(self, may_leave: MayLeave) -> str | None:
        return None


POLICIES: dict[str, Callable[[], Policy]] = {"LRU": LRU, "LFU": LFU, "GDSF": GDSF}


def policy(name: str) -> Policy:
    """Make a policy by its name, in any letter case. Raises ValueError that lists the known names."""
    try:
        return POLICIES[name.upper()]()
    except KeyError:
        raise ValueError(f"unknown eviction policy {name!r}: choose one of {', '.join(POLICIES)}") from None
