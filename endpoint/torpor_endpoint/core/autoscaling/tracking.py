"""Target tracking: judges a metric's data points against its target by two alarms, and proposes a capacity. Pure.

The rules are those of "How target tracking scaling works" in the Application Auto Scaling user guide.
"""

from collections.abc import Sequence
from math import ceil
from typing import Final

from torpor_account.core.alarms import AlarmRule, State, judged
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.autoscaling.deciding import Proposal
from torpor_endpoint.core.autoscaling.delays import DELAYS, Delay
from torpor_endpoint.core.autoscaling.samples import DataPoint

LOW_SHARE = 0.9
"""The threshold of the alarm that scales in on AWS, as a share of the target."""

TINY = 1e-9
"""The floating-point error that must not round a whole number of instances up."""


@frozen
class Tracked:
    """The interval between a metric's data points, and how many of them scale out and in."""

    period: Delay
    points_out: int
    points_in: int

    @property
    def period_s(self) -> int:
        """The period on AWS, which the alarms show, in seconds."""
        return int(DELAYS[self.period].seconds)


BY_MINUTES: Final = Tracked(Delay.PERIOD, 3, 15)
"""Both alarms of every policy that tracks a metric of one minute."""

HIGH_RESOLUTION: Final = Tracked(Delay.SHORT_PERIOD, 3, 90)
""" "Up to 6x faster" out than by minutes; in after the same fifteen minutes, ninety data points."""


@frozen
class Tracking:
    """Keep a metric at or below `target`: scale out after `points_out` data points above it, and in after `points_in`
    data points below LOW_SHARE of it."""

    target: float
    points_out: int = 3
    points_in: int = 15
    scale_out_cooldown_s: float = 300.0
    scale_in_cooldown_s: float = 300.0
    scales_in: bool = True

    @property
    def high(self) -> AlarmRule:
        return AlarmRule("GreaterThanThreshold", self.target, self.points_out, self.points_out)

    @property
    def low(self) -> AlarmRule:
        return AlarmRule("LessThanThreshold", self.target * LOW_SHARE, self.points_in, self.points_in)


@frozen
class Causes:
    """The causes in the activities that the high and the low alarm start."""

    high: str
    low: str


def state(rule: AlarmRule, points: Sequence[DataPoint]) -> State:
    """ "If the metric is missing data points, this causes the CloudWatch alarm state to change to INSUFFICIENT_DATA.
    When this happens, Application Auto Scaling cannot scale your scalable target until new data points are found." """
    return judged(rule, [point.value for point in points[-rule.looks_back :]], State.INSUFFICIENT_DATA)


def desired(tracking: Tracking, point: DataPoint) -> int:
    """The least capacity that brings the metric to its target or below.

    AWS: "Because it is not possible to add 1.5 instances, we round up", and "scaling in won't cause oscillation". It
    counts from the capacity at which the data point was measured, so it includes what was added since. At zero, a
    backlog per instance is that of one instance.
    """
    return ceil((point.value or 0.0) * max(1, point.capacity) / tracking.target - TINY)


def proposal(tracking: Tracking, points: Sequence[DataPoint], capacity: int, causes: Causes) -> Proposal | None:
    """The policy's proposal; None if neither alarm is in ALARM."""
    known = [point for point in points if point.value is not None]
    if known and state(tracking.high, points) is State.ALARM:
        to = max(desired(tracking, known[-1]), capacity)
        return Proposal(True, to, causes.high, tracking.scale_out_cooldown_s)
    if known and tracking.scales_in and agrees_to_scale_in(tracking, points):
        to = min(desired(tracking, known[-1]), capacity)
        return Proposal(False, to, causes.low, tracking.scale_in_cooldown_s, yields=True)
    return None


def agrees_to_scale_in(tracking: Tracking, points: Sequence[DataPoint]) -> bool:
    """Whether the policy agrees. A policy with disabled scale-in always does."""
    return not tracking.scales_in or state(tracking.low, points) is State.ALARM
