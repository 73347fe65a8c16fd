"""Stores one metric with one set of dimensions over time, in buckets of a minute, then of five minutes.

Minutes are kept for a day and five-minute buckets for fifteen days; newer samples, and the clock (`age`), remove older
ones. Only minutes with samples take memory. One thread writes (the event loop's); any thread may read: a reader may
see a count and a sum that are one sample apart, and nothing worse.
"""

from collections.abc import Callable, Collection, Sequence

from torpor_account.metrics.tally import PackedTally, Tally, merged
from torpor_container.frozen_class import frozen

MINUTE_S = 60
FIVE_MINUTES_S = 300
MINUTES_KEPT_S = 86_400
KEPT_S = 15 * 86_400


@frozen
class SeriesKey:
    """The key of a series. `dimensions` are sorted by name. As in CloudWatch, another unit is another series."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    unit: str

    @property
    def endpoint(self) -> str | None:
        """The endpoint of the series; None if it belongs to none."""
        return dict(self.dimensions).get("EndpointName")


Started = Callable[["Series"], None]


class Series:
    """The samples of one series. It calls `started` with itself when a minute begins, so that its registry lists it."""

    __slots__ = ("_ended", "_fives", "_minutes", "_now", "_sources", "_started", "key")

    high_resolution = False
    """Whether `fine_buckets` has shorter ones than a minute."""

    def __init__(self, key: SeriesKey, started: Started) -> None:
        self.key = key
        self._started = started
        self._now: tuple[int, Tally] = (
            0,
            Tally(),
        )  # the open minute; one field, so that readers see both parts of one state
        self._sources: dict[str, float] = {}
        self._minutes: dict[int, PackedTally] = {}
        self._fives: dict[int, PackedTally] = {}
        self._ended = Tally()  # all samples since the start, but those of the open minute

    # -- writing: one thread ---------------------------------------------------------------------------------------

    def add(self, value: float, at_s: float, count: float = 1.0) -> None:
        """Add `count` samples of one value. Within an open minute this is mere arithmetic."""
        opened_s, tally = self._now
        if opened_s <= at_s < opened_s + MINUTE_S:
            tally.add(value, count)
        else:
            self._merge(Tally.of([value], count), at_s)

    def add_all(self, values: Sequence[float], at_s: float) -> None:
        """Add one sample of each value, all of one minute."""
        opened_s, tally = self._now
        if opened_s <= at_s < opened_s + MINUTE_S:
            tally.add_all(values)
        else:
            self._merge(Tally.of(values), at_s)

    def put(self, source: str, value: float, at_s: float, present: Collection[str] | None = None) -> None:
        """Put the level of one source, such as an instance. The last level of a minute replaces the ones before it, and
        the levels of sources that are not `present` any more.

        So a level may be read at any moment and any number of times, and counts once for each source and minute. A
        level of a minute that is over is ignored. A series is written by `put` or by `add`, never by both.
        """
        self._open(at_s)
        opened_s, _ = self._now
        if opened_s <= at_s < opened_s + MINUTE_S:
            self._sources[source] = value
            if present is not None and not self._sources.keys() <= {source, *present}:
                self._sources = {one: kept for one, kept in self._sources.items() if one == source or one in present}
            self._now = (opened_s, Tally.of(self._sources.values()))

    def has(self, source: str, at_s: float) -> bool:
        """Whether the source has put a level in the minute of `at_s`, which is still open."""
        opened_s, _ = self._now
        return source in self._sources and opened_s <= at_s < opened_s + MINUTE_S

    def merge(self, tally: Tally | PackedTally, at_s: float) -> None:
        """Add many samples of one minute, which may lie in the past."""
        self._merge(tally, at_s)

    def age(self, now_s: float) -> None:
        """Remove old samples by the clock, for a series that may never be written again."""
        if self._now[0] <= now_s - MINUTES_KEPT_S:
            self._close()
        self._age(now_s)

    def _merge(self, tally: Tally | PackedTally, at_s: float) -> None:
        self._open(at_s)
        opened_s, current = self._now
        if opened_s <= at_s:
            current.merge(tally)
        else:
            self._ended.merge(tally)
            self._keep(int(at_s // MINUTE_S) * MINUTE_S, tally)

    def _open(self, at_s: float) -> None:
        """Begin the minute of `at_s`, unless it has begun or has passed."""
        if at_s < self._now[0] + MINUTE_S:
            return
        self._close()
        self._now = (int(at_s // MINUTE_S) * MINUTE_S, Tally())
        self._age(self._now[0])
        self._started(self)

    def _close(self) -> None:
        """Store the open minute, which has all of its samples."""
        opened_s, tally = self._now
        if tally.count:
            self._ended.merge(tally)
            self._keep(opened_s, tally)
        self._sources.clear()
        self._now = (opened_s, Tally())

    def _keep(self, minute_s: int, tally: Tally | PackedTally) -> None:
        age_s = self._now[0] - minute_s
        if age_s < MINUTES_KEPT_S:
            _fold(self._minutes, minute_s, tally)
        elif age_s < KEPT_S:
            _fold(self._fives, minute_s - minute_s % FIVE_MINUTES_S, tally)

    def _age(self, now_s: float) -> None:
        while self._minutes and (oldest_s := next(iter(self._minutes))) <= now_s - MINUTES_KEPT_S:
            _fold(self._fives, oldest_s - oldest_s % FIVE_MINUTES_S, self._minutes.pop(oldest_s))
        while self._fives and (oldest_s := next(iter(self._fives))) <= now_s - KEPT_S:
            del self._fives[oldest_s]

    # -- reading: any thread ---------------------------------------------------------------------------------------

    @property
    def last_s(self) -> float:
        """The beginning of the newest minute, in epoch seconds; 0 before the first sample."""
        return self._now[0]

    @property
    def empty(self) -> bool:
        """Whether the series has no samples now."""
        return not (self._now[1].count or self._minutes or self._fives)

    def buckets(self, start_s: float, end_s: float) -> list[tuple[int, Tally | PackedTally]]:
        """The buckets that begin in [start_s, end_s), oldest first."""
        opened_s, tally = self._now  # read first: a minute that ends meanwhile is then in both, and counts once
        found: dict[int, Tally | PackedTally] = dict(list(self._minutes.items()))
        if tally.count:
            found[opened_s] = tally
        coarse: list[tuple[int, Tally | PackedTally]] = list(self._fives.items())
        return sorted(
            ((at_s, bucket) for at_s, bucket in [*coarse, *found.items()] if start_s <= at_s < end_s),
            key=lambda pair: pair[0],
        )

    def fine_buckets(self, start_s: float, end_s: float) -> list[tuple[int, Tally | PackedTally]]:
        """The shortest buckets that there are, as `buckets`: those of a minute, unless it is `high_resolution`."""
        return self.buckets(start_s, end_s)

    def latest(self) -> tuple[int, Tally | PackedTally] | None:
        """The newest minute that has samples."""
        opened_s, tally = self._now
        if tally.count:
            return opened_s, tally
        buckets = self.buckets(self._now[0] - MINUTES_KEPT_S, float("inf"))
        return buckets[-1] if buckets else None

    @property
    def mark(self) -> tuple[float, float, float]:
        """It is another one after each sample. For the writing thread."""
        tally = self._now[1]
        return self._ended.count, tally.count, tally.sum

    def total(self) -> Tally:
        """All samples since the start, which only grow. For the writing thread: a minute may end for the others."""
        return merged([self._ended, self._now[1]])


def _fold(buckets: dict[int, PackedTally], at_s: int, tally: Tally | PackedTally) -> None:
    buckets[at_s] = merged([buckets[at_s], tally] if at_s in buckets else [tally]).packed()
