"""Calculates percentiles of samples, and statistics of samples that are trimmed by rank or by value.

All results come from the sketch and share its error. They are None for samples that were sent as ready-made sums,
which have no distribution.
"""

from collections.abc import Callable

from torpor_account.metrics import sketch
from torpor_account.metrics.tally import Tally
from torpor_container.frozen_class import frozen

Statistic = Callable[[Tally], float | None]

Samples = list[tuple[float, float]]
"""Values in ascending order, each with its count."""


def percentile(tally: Tally, share: float) -> float | None:
    """The value that a `share` of the samples does not exceed; `share` is from 0 to 1."""
    if not has_distribution(tally):
        return None
    rank, counted = share * tally.count, 0.0
    for value, count in samples(tally):
        counted += count
        if counted >= rank:
            return value
    return tally.maximum


@frozen
class Cut:
    """The samples that are left, and the counts of those that were cut off below and above."""

    left: Samples
    below: float
    above: float

    @property
    def count(self) -> float:
        return sum(count for _, count in self.left)

    @property
    def sum(self) -> float:
        return sum(value * count for value, count in self.left)


def folded(fold: Callable[[Cut], float | None], cut: Callable[[Samples], Cut]) -> Statistic:
    return lambda tally: fold(cut(samples(tally))) if has_distribution(tally) else None


def by_rank(low: float, high: float) -> Callable[[Samples], Cut]:
    """Keep the samples between two shares of all, each from 0 to 1."""

    def cut(every: Samples) -> Cut:
        total = sum(count for _, count in every)
        first, last = low * total, high * total
        left, counted = [], 0.0
        for value, count in every:
            share = min(counted + count, last) - max(counted, first)
            counted += count
            if share > 0:
                left.append((value, share))
        return Cut(left, first, total - last)

    return cut


def by_value(low: float, high: float) -> Callable[[Samples], Cut]:
    """Keep the samples above `low` and up to `high`."""

    def cut(every: Samples) -> Cut:
        left = [(value, count) for value, count in every if low < value <= high]
        below = sum(count for value, count in every if value <= low)
        return Cut(left, below, sum(count for value, count in every if value > high))

    return cut


def _mean(cut: Cut) -> float | None:
    return cut.sum / cut.count if cut.left else None


def _winsorized(cut: Cut) -> float | None:
    """The mean of all samples, where each cut one counts as the nearest that is left."""
    if not cut.left:
        return None
    total = cut.sum + cut.below * cut.left[0][0] + cut.above * cut.left[-1][0]
    return total / (cut.count + cut.below + cut.above)


def _rank(cut: Cut) -> float | None:
    return 100 * cut.count / (cut.count + cut.below + cut.above)


FOLDS: dict[str, Callable[[Cut], float | None]] = {
    "tm": _mean,
    "tc": lambda cut: cut.count,
    "ts": lambda cut: cut.sum,
    "wm": _winsorized,
    "pr": _rank,
}


def samples(tally: Tally) -> Samples:
    """The samples as the sketch has them, within the extremes, which are exact."""
    at_counts = sorted(tally.items())
    return [(min(max(sketch.value(at), tally.minimum), tally.maximum), count) for at, count in at_counts]


def has_distribution(tally: Tally) -> bool:
    """Whether the sketch has all samples of the tally."""
    return sum(count for _, count in tally.items()) >= tally.count * (1 - 1e-9)
