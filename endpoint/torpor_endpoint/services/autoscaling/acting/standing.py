"""How a policy's two alarms stand by its data points, as CloudWatch would tell it. It changes no alarm."""

from collections.abc import Iterable, Iterator, Sequence

from torpor_endpoint.core.autoscaling.samples import DataPoint
from torpor_endpoint.core.autoscaling.tracking import state
from torpor_endpoint.services.autoscaling.acting.tracked_metrics import PREDEFINED, tracked
from torpor_endpoint.services.autoscaling.acting.tracking_alarms import of_side, rules
from torpor_endpoint.services.autoscaling.records import TargetTracking
from torpor_endpoint.services.cloudwatch.alarms.reasons import reason, reason_data
from torpor_endpoint.services.cloudwatch.alarms.records import Alarm, Standing


def moved(
    alarms: Iterable[Alarm], arn: str, policy: TargetTracking, points: Sequence[DataPoint], now_s: float
) -> Iterator[tuple[str, Standing]]:
    """The names of those whose state is another one now, and how they stand."""
    by_side = rules(policy)
    for side, alarm in of_side(alarms, arn).items():
        rule = by_side[side]
        if (new := state(rule, points)) is not alarm.standing.state:
            told = [(int(point.at_s), point.value) for point in points[-rule.looks_back :]]
            data = reason_data(rule, told, _statistic(policy), tracked(policy).period_s, now_s)
            yield alarm.name, Standing(new, now_s, reason(rule, told, new), data)


def _statistic(policy: TargetTracking) -> str | None:
    if policy.predefined:
        return PREDEFINED[policy.predefined].statistic
    return policy.custom.statistic if policy.custom else None
