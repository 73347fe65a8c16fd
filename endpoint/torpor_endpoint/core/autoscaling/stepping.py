"""Step scaling: proposes a capacity by the distance of a metric from an alarm's threshold. Pure.

The rules are those of "How step scaling works" in the Application Auto Scaling user guide.
"""

from collections.abc import Callable, Sequence
from math import copysign, fsum, inf

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.autoscaling.deciding import Proposal
from torpor_endpoint.core.autoscaling.delays import DELAYS, Delay


@frozen
class StepAdjustment:
    """The adjustment while `metric - threshold` is between `lower` and `upper`; None is no bound."""

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


@frozen
class StepScaling:
    adjustment_type: str  # a key of ADJUSTED
    steps: tuple[StepAdjustment, ...]
    cooldown_s: float = DELAYS[Delay.COOLDOWN].seconds
    aggregation: str = "Average"  # a key of AGGREGATED
    adjustment_min: int | None = None  # of PercentChangeInCapacity, in instances


@frozen
class Breach:
    """An alarm's newest data points beyond its threshold; `above` is whether they are above it."""

    values: Sequence[float]
    threshold: float
    above: bool


AGGREGATED: dict[str, Callable[[Sequence[float]], float]] = {
    "Average": lambda values: fsum(values) / len(values),
    "Minimum": min,
    "Maximum": max,
}


def proposal(scaling: StepScaling, breach: Breach, cause: str, capacity: int, base: int) -> Proposal | None:
    """The policy's proposal; None if no step applies, or the step changes nothing. A scale-out counts from `base`."""
    size = AGGREGATED[scaling.aggregation](breach.values) - breach.threshold
    step = next((step for step in scaling.steps if step.holds(size, breach.above)), None)
    if step is None or (step.adjustment == 0 and scaling.adjustment_type != "ExactCapacity"):
        return None
    adjusted = ADJUSTED[scaling.adjustment_type]
    out = adjusted(scaling, step.adjustment, capacity) >= capacity
    return Proposal(out, adjusted(scaling, step.adjustment, base if out else capacity), cause, scaling.cooldown_s)


def _changed(scaling: StepScaling, adjustment: int, capacity: int) -> int:
    return capacity + adjustment


def _exact(scaling: StepScaling, adjustment: int, capacity: int) -> int:
    return adjustment


def _by_percent(scaling: StepScaling, adjustment: int, capacity: int) -> int:
    """ "Values greater than 1 are rounded down. [..] Values between 0 and 1 are rounded to 1", and so below 0."""
    percents = capacity * abs(adjustment)
    size = max(percents / 100, 1 if percents else 0, scaling.adjustment_min or 0)
    return capacity + int(copysign(size, adjustment))


ADJUSTED: dict[str, Callable[[StepScaling, int, int], int]] = {
    "ChangeInCapacity": _changed,
    "ExactCapacity": _exact,
    "PercentChangeInCapacity": _by_percent,
}
"""By AdjustmentType: the capacity after an adjustment."""
