"""Finds CloudWatch's statistics by name: Sum, Average, p99, tm95, TM(10%:90%), PR(:300) ... Each reads a tally.

Percentiles and trimmed statistics come from the sketch and share its error. They are None for samples that were sent
as ready-made sums, which have no distribution.
"""

import re

from torpor_account.metrics.distribution import FOLDS, Statistic, by_rank, by_value, folded, percentile

SIMPLE: dict[str, Statistic] = {
    "SampleCount": lambda tally: tally.count,
    "Average": lambda tally: tally.sum / tally.count,
    "Sum": lambda tally: tally.sum,
    "Minimum": lambda tally: tally.minimum,
    "Maximum": lambda tally: tally.maximum,
}

PERCENT = r"(100|\d{1,2}(?:\.\d{1,10})?)"
VALUE = r"(-?\d{1,30}(?:\.\d{1,30})?)"
PERCENTILE = re.compile(rf"p{PERCENT}")
TRIMMED_TO = re.compile(rf"(tm|tc|ts|wm){PERCENT}")
TRIMMED_BETWEEN = re.compile(rf"(TM|TC|TS|WM)\((?:{PERCENT}%)?:(?:{PERCENT}%)?\)")
BETWEEN_VALUES = re.compile(rf"(TM|TC|TS|PR)\({VALUE}?:{VALUE}?\)")
UNBOUNDED = re.compile(r"\w+\(:\)")


def statistic(name: str) -> Statistic:
    """The statistic of this name. Raises ValueError if CloudWatch, or Torpor, has no such statistic."""
    if name in SIMPLE:
        return SIMPLE[name]
    if found := PERCENTILE.fullmatch(name):
        share = float(found[1]) / 100
        return lambda tally: percentile(tally, share)
    if name == "IQM":
        return folded(FOLDS["tm"], by_rank(0.25, 0.75))
    if found := TRIMMED_TO.fullmatch(name):
        return folded(FOLDS[found[1]], by_rank(0.0, float(found[2]) / 100))
    if UNBOUNDED.fullmatch(name):
        raise ValueError(name)
    if found := TRIMMED_BETWEEN.fullmatch(name):
        low, high = float(found[2] or 0) / 100, float(found[3] or 100) / 100
        cut = by_rank(low, high)
    elif found := BETWEEN_VALUES.fullmatch(name):
        low, high = float(found[2] or "-inf"), float(found[3] or "inf")
        cut = by_value(low, high)
    if found is None or low >= high:
        raise ValueError(name)
    return folded(FOLDS[found[1].lower()], cut)
