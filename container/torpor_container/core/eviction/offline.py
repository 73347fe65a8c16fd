"""Offline references: they know the whole trace, so no live instance can use them. With sizes neither is optimal."""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from math import inf, log2

from torpor_container.core.eviction.eviction_policy import MayLeave, Policy


class Future:
    """The next-access index of a trace: when each name is used next. Times are seconds, or positions in the trace."""

    def __init__(self, uses: Iterable[tuple[float, str]], now: Callable[[], float]) -> None:
        """`uses` are in the order of time; `now` says how far the trace has been played."""
        self.now = now
        self._times: dict[str, array[float]] = defaultdict(lambda: array("d"))
        for at, name in uses:
            self._times[name].append(at)

    def next_use(self, name: str) -> float:
        """The time of the next use after now; infinity if there is none."""
        times = self._times.get(name, array("d"))
        index = bisect_right(times, self.now())
        return times[index] if index < len(times) else inf


class Belady(Policy):
    """Offline reference: the model whose next use is furthest leaves first (Belady, 1966). Optimal for equal sizes.

    Each use enters the model anew, since its next use changes; old entries are skipped when they come up.
    """

    def __init__(self, future: Future) -> None:
        self._future = future
        self._next_use: dict[str, float] = {}
        self._furthest_first: list[tuple[float, str]] = []

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        self.touched(name)

    def touched(self, name: str) -> None:
        at = self._next_use[name] = self._future.next_use(name)
        heappush(self._furthest_first, (-at, name))
        if len(self._furthest_first) > 4 * len(self._next_use) + 8:
            self._furthest_first = [(-at, name) for name, at in self._next_use.items()]
            heapify(self._furthest_first)

    def removed(self, name: str) -> None:
        del self._next_use[name]

    def victim(self, may_leave: MayLeave) -> str | None:
        passed: list[tuple[float, str]] = []
        chosen = None
        while self._furthest_first and chosen is None:
            entry = heappop(self._furthest_first)
            at, name = entry
            if self._next_use.get(name) == -at:
                passed.append(entry)
                chosen = name if may_leave(name) else None
        for entry in passed:
            heappush(self._furthest_first, entry)
        return chosen


BUCKETS_PER_OCTAVE = 8
"""Sizes in one bucket differ by 9 % at most."""


class BeladySize(Policy):
    """Offline reference: the model with the largest (distance to its next use x size) leaves first. One without a next
    use is not kept.

    Products change with time at a rate of their own each, so no one order holds them. But among models of about the
    same size those used last come first: a search looks into the buckets of sizes, and in each only as far as a model
    may still have the largest product.
    """

    selective = True

    def __init__(self, future: Future) -> None:
        self._future = future
        self._stays: dict[str, WeighedModel] = {}
        self._buckets: dict[int, SizeBucket] = {}
        self._ticks = 0

    def added(self, name: str, size_bytes: int, cost_s: float) -> None:
        size = max(size_bytes, 1)
        number = int(log2(size) * BUCKETS_PER_OCTAVE)
        bucket = self._buckets.setdefault(number, SizeBucket(size, size))
        bucket.least, bucket.most = min(bucket.least, size), max(bucket.most, size)
        bucket.stay += 1
        self._ticks += 1
        self._stays[name] = WeighedModel(name, size, self._ticks, bucket)
        self.touched(name)

    def touched(self, name: str) -> None:
        model = self._stays[name]
        if (next_use := self._future.next_use(name)) != model.next_use:
            model.next_use = next_use
            model.bucket.enter(model)

    def removed(self, name: str) -> None:
        model = self._stays.pop(name)
        model.gone = True
        model.bucket.stay -= 1

    def victim(self, may_leave: MayLeave) -> str | None:
        now = self._future.now()
        bounds = [(bound, bucket) for bucket in self._buckets.values() if (bound := bucket.bound(now)) is not None]
        bounds.sort(key=lambda one: -one[0])
        best: tuple[float, int, str] | None = None
        for bound, bucket in bounds:
            if best is not None and bound < best[0]:
                break
            best = bucket.best(now, may_leave, best)
        return None if best is None else best[2]

    def keeps(self, name: str, free_bytes: int) -> bool:
        return self._stays[name].next_use < inf


class WeighedModel:
    """One model, with the tick at which it came."""

    __slots__ = ("bucket", "gone", "name", "next_use", "size", "tick")

    def __init__(self, name: str, size: int, tick: int, bucket: "SizeBucket") -> None:
        self.name = name
        self.size = size
        self.tick = tick
        self.bucket = bucket
        self.next_use = -inf  # until it is known
        self.gone = False


class SizeBucket:
    """Models of about one size, those used last first. Each use enters a model anew; old entries are skipped."""

    __slots__ = ("_furthest_first", "least", "most", "stay")

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most
        self.stay = 0
        self._furthest_first: list[tuple[float, int, WeighedModel]] = []

    def enter(self, model: WeighedModel) -> None:
        heappush(self._furthest_first, (-model.next_use, model.tick, model))
        if len(self._furthest_first) > 4 * self.stay + 8:
            entries = {tick: (at, tick, one) for at, tick, one in self._furthest_first if _holds(at, one)}
            self._furthest_first = list(entries.values())
            heapify(self._furthest_first)

    def bound(self, now: float) -> float | None:
        """The most that a product can be; None without a model."""
        entries = self._furthest_first
        while entries and not _holds(entries[0][0], entries[0][2]):
            heappop(entries)
        return self._product(entries[0][0], now) if entries else None

    def best(
        self, now: float, may_leave: MayLeave, best: tuple[float, int, str] | None
    ) -> tuple[float, int, str] | None:
        """The largest product, its model's tick and name: of `best`, and of the models that may leave. Of equal ones,
        that of the model that came first."""
        passed: list[tuple[float, int, WeighedModel]] = []
        while self._furthest_first:
            at, tick, model = self._furthest_first[0]
            if best is not None and self._product(at, now) < best[0]:
                break
            entry = heappop(self._furthest_first)
            if not _holds(at, model):
                continue
            passed.append(entry)
            product = (-at - now) * model.size
            if may_leave(model.name) and (best is None or (-product, tick) < (-best[0], best[1])):
                best = (product, tick, model.name)
            if best is not None and product == best[0] == inf and best[1] <= tick:
                break  # those without a next use are in the order in which they came
        for entry in passed:
            heappush(self._furthest_first, entry)
        return best

    def _product(self, at: float, now: float) -> float:
        distance = -at - now
        return distance * (self.most if distance > 0 else self.least)


def _holds(at: float, model: WeighedModel) -> bool:
    """Whether an entry is of the model's present next use."""
    return not model.gone and model.next_use == -at
