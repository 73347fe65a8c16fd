"""CloudWatch's statistics by name, computed from a tally: Sum, Average, p99, tm95, TM(10%:90%) and the like.

Percentiles and trimmed statistics come from the sketch and share its error. They are None for samples that were sent
as ready-made sums, which have no distribution.
"""

import re
from collections.abc import Callable

from torpor_endpoint.cloudwatch import sketch
from torpor_endpoint.cloudwatch.tally import Tally

Statistic = Callable[[Tally], float | None]

SIMPLE: dict[str, Statistic] = {
    "SampleCount": lambda tally: tally.count,
    "Average": lambda tally: tally.sum / tally.count,
    "Sum": lambda tally: tally.sum,
    "Minimum": lambda tally: tally.minimum,
    "Maximum": lambda tally: tally.maximum,
}

PERCENT = r"(100|\d{1,2}(?:\.\d{1,10})?)"
PERCENTILE = re.compile(rf"p{PERCENT}")
TRIMMED_TO = re.compile(rf"(tm|tc|ts){PERCENT}")
TRIMMED_BETWEEN = re.compile(rf"(TM|TC|TS)\({PERCENT}?%?:{PERCENT}?%?\)")


def statistic(name: str) -> Statistic:
    """Raises ValueError when CloudWatch, or Torpor, has no such statistic."""
    if name in SIMPLE:
        return SIMPLE[name]
    if found := PERCENTILE.fullmatch(name):
        share = float(found[1]) / 100
        return lambda tally: percentile(tally, share)
    if name == "IQM":
        return _trimmed("tm", 0.25, 0.75)
    if found := TRIMMED_TO.fullmatch(name):
        return _trimmed(found[1], 0.0, float(found[2]) / 100)
    found = TRIMMED_BETWEEN.fullmatch(name)
    if found and "%" in name:
        return _trimmed(found[1].lower(), float(found[2] or 0) / 100, float(found[3] or 100) / 100)
    raise ValueError(name)


def percentile(tally: Tally, share: float) -> float | None:
    """The value that `share` of the samples do not exceed."""
    if not _has_distribution(tally):
        return None
    rank, seen = share * tally.count, 0.0
    for at, count in sorted(tally.items()):
        seen += count
        if seen >= rank:
            return min(max(sketch.value(at), tally.minimum), tally.maximum)
    return tally.maximum


def _trimmed(what: str, low: float, high: float) -> Statistic:
    def trimmed(tally: Tally) -> float | None:
        if not _has_distribution(tally):
            return None
        count, total = _between(tally, low * tally.count, high * tally.count)
        if what == "tc":
            return count
        if what == "ts":
            return total
        return total / count if count else None

    return trimmed


def _between(tally: Tally, first: float, last: float) -> tuple[float, float]:
    """Count and sum of the samples whose rank lies between two."""
    seen = taken = total = 0.0
    for at, count in sorted(tally.items()):
        share = max(min(seen + count, last) - max(seen, first), 0.0)
        seen += count
        taken += share
        total += share * min(max(sketch.value(at), tally.minimum), tally.maximum)
    return taken, total


def _has_distribution(tally: Tally) -> bool:
    return sum(count for _, count in tally.items()) >= tally.count * (1 - 1e-9)
