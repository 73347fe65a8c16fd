"""Stores a high-resolution metric: by the minute as any other, and for three hours by ten seconds too.

CloudWatch: "Data points with a period of less than 60 seconds are available for 3 hours."
"""

from collections.abc import Collection, Sequence

from torpor_account.metrics.series import Series, SeriesKey, Started
from torpor_account.metrics.tally import PackedTally, Tally, merged

TEN_S = 10
FINE_KEPT_S = 3 * 3600


class FineSeries(Series):
    """A series with buckets of ten seconds. Only those with samples take memory."""

    __slots__ = ("_levels", "_ten", "_tens")

    high_resolution = True

    def __init__(self, key: SeriesKey, started: Started) -> None:
        super().__init__(key, started)
        self._ten: tuple[int, Tally] = (0, Tally())  # the open bucket; one field, as the open minute
        self._levels: dict[str, float] = {}  # in the open bucket, by source
        self._tens: dict[int, PackedTally] = {}

    # -- writing: one thread ---------------------------------------------------------------------------------------
    def add(self, value: float, at_s: float, count: float = 1.0) -> None:
        super().add(value, at_s, count)
        opened_s, tally = self._ten
        if opened_s <= at_s < opened_s + TEN_S:
            tally.add(value, count)
        else:
            self._note(Tally.of([value], count), at_s)

    def add_all(self, values: Sequence[float], at_s: float) -> None:
        super().add_all(values, at_s)
        self._note(Tally.of(values), at_s)

    def put(self, source: str, value: float, at_s: float, present: Collection[str] | None = None) -> None:
        super().put(source, value, at_s, present)
        self._open_ten(at_s)
        opened_s, _ = self._ten
        if opened_s <= at_s < opened_s + TEN_S:
            there = self._levels if present is None else {one: v for one, v in self._levels.items() if one in present}
            self._levels = {**there, source: value}
            self._ten = (opened_s, Tally.of(self._levels.values()))

    def merge(self, tally: Tally | PackedTally, at_s: float) -> None:
        super().merge(tally, at_s)
        self._note(tally, at_s)

    def age(self, now_s: float) -> None:
        super().age(now_s)
        self._open_ten(now_s)

    def _note(self, tally: Tally | PackedTally, at_s: float) -> None:
        """Add samples of one bucket, which may lie in the past."""
        self._open_ten(at_s)
        opened_s, current = self._ten
        if opened_s <= at_s:
            current.merge(tally)
        elif at_s > opened_s - FINE_KEPT_S:
            start_s = int(at_s // TEN_S) * TEN_S
            known = [self._tens[start_s]] if start_s in self._tens else []
            self._tens[start_s] = merged([*known, tally]).packed()

    def _open_ten(self, at_s: float) -> None:
        """Begin the bucket of `at_s`, unless it has begun or has passed, and remove those that are old."""
        opened_s, tally = self._ten
        if at_s < opened_s + TEN_S:
            return
        if tally.count:
            self._tens[opened_s] = tally.packed()
        self._levels = {}
        self._ten = (int(at_s // TEN_S) * TEN_S, Tally())
        while self._tens and (oldest_s := next(iter(self._tens))) <= at_s - FINE_KEPT_S:
            del self._tens[oldest_s]

    # -- reading: any thread ---------------------------------------------------------------------------------------
    def fine_buckets(self, start_s: float, end_s: float) -> list[tuple[int, Tally | PackedTally]]:
        opened_s, tally = self._ten  # read first, as in `buckets`
        found: dict[int, Tally | PackedTally] = dict(list(self._tens.items()))
        if tally.count:
            found[opened_s] = tally
        return sorted(
            ((at_s, bucket) for at_s, bucket in found.items() if start_s <= at_s < end_s), key=lambda pair: pair[0]
        )
