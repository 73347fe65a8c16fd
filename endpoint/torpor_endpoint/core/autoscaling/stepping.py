"""Step scaling: how far a metric is beyond an alarm's threshold decides how much capacity to add or remove. Pure.

The rules are those of "How step scaling works" in the Application Auto Scaling user guide.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import copysign, fsum, inf

from torpor_endpoint.core.autoscaling.deciding import Wish
from torpor_endpoint.core.autoscaling.delays import DELAYS, Delay


@dataclass(frozen=True)
class StepAdjustment:
    """What to do while `metric - threshold` is between `lower` and `upper`; None is without end."""

    adjustment: int
    lower: float | None = None
    upper: float | None = None

    def holds(self, breach: float, above: bool) -> bool:
        """ "If the metric value is above the breach threshold, the lower bound is inclusive and the upper bound is
        exclusive. If the metric value is below the breach threshold, the lower bound is exclusive and the upper bound
        is inclusive." """
        lower = -inf if self.lower is None else self.lower
        upper = inf if self.upper is None else self.upper
        return lower <= breach < upper if above else lower < breach <= upper


@dataclass(frozen=True)
class StepScaling:
    adjustment_type: str  # a key of ADJUSTED
    steps: tuple[StepAdjustment, ...]
    cooldown_s: float = DELAYS[Delay.COOLDOWN].seconds
    aggregation: str = "Average"  # a key of AGGREGATED
    adjustment_min: int | None = None  # of PercentChangeInCapacity, in instances


@dataclass(frozen=True)
class Breach:
    """An alarm's newest data points on the far side of its threshold; `above` says which side that is."""

    values: Sequence[float]
    threshold: float
    above: bool


AGGREGATED: dict[str, Callable[[Sequence[float]], float]] = {
    "Average": lambda values: fsum(values) / len(values),
    "Minimum": min,
    "Maximum": max,
}


def wish(scaling: StepScaling, breach: Breach, cause: str, capacity: int, base: int) -> Wish | None:
    """None where no step holds, or the one that does leaves things as they are. A scale-out counts from `base`."""
    size = AGGREGATED[scaling.aggregation](breach.values) - breach.threshold
    step = next((step for step in scaling.steps if step.holds(size, breach.above)), None)
    if step is None or (step.adjustment == 0 and scaling.adjustment_type != "ExactCapacity"):
        return None
    adjusted = ADJUSTED[scaling.adjustment_type]
    out = adjusted(scaling, step.adjustment, capacity) >= capacity
    return Wish(out, adjusted(scaling, step.adjustment, base if out else capacity), cause, scaling.cooldown_s)


def _changed(scaling: StepScaling, adjustment: int, capacity: int) -> int:
    return capacity + adjustment


def _exact(scaling: StepScaling, adjustment: int, capacity: int) -> int:
    return adjustment


def _by_percent(scaling: StepScaling, adjustment: int, capacity: int) -> int:
    """ "Values greater than 1 are rounded down. [..] Values between 0 and 1 are rounded to 1", and so below 0."""
    percents = capacity * abs(adjustment)
    size = max(percents // 100, 1 if percents else 0, scaling.adjustment_min or 0)
    return capacity + int(copysign(size, adjustment))


ADJUSTED: dict[str, Callable[[StepScaling, int, int], int]] = {
    "ChangeInCapacity": _changed,
    "ExactCapacity": _exact,
    "PercentChangeInCapacity": _by_percent,
}
"""By AdjustmentType: the capacity that an adjustment makes of another one."""
