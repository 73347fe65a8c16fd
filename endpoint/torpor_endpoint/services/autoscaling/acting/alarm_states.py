"""Decides the states of a target tracking policy's two alarms from its data points. It changes no alarm."""

from collections.abc import Iterable, Iterator, Sequence

from torpor_account.cloudwatch.alarms.alarm_record import Alarm, Standing
from torpor_account.cloudwatch.alarms.state_reasons import reason, reason_data
from torpor_endpoint.core.autoscaling.samples import DataPoint
from torpor_endpoint.core.autoscaling.tracking import state
from torpor_endpoint.services.autoscaling.acting.tracked_metrics import PREDEFINED, tracked
from torpor_endpoint.services.autoscaling.acting.tracking_alarms import alarms_by_side, rules
from torpor_endpoint.services.autoscaling.scaling_records import TargetTracking


def state_changes(
    alarms: Iterable[Alarm], arn: str, policy: TargetTracking, points: Sequence[DataPoint], now_s: float
) -> Iterator[tuple[str, Standing]]:
    """The names of the policy's alarms whose state changes now, with their new states."""
    by_side = rules(policy)
    for side, alarm in alarms_by_side(alarms, arn).items():
        rule = by_side[side]
        if (new := state(rule, points)) is not alarm.standing.state:
            datapoints = [(int(point.at_s), point.value) for point in points[-rule.looks_back :]]
            data = reason_data(rule, datapoints, _statistic(policy), tracked(policy).period_s, now_s)
            yield alarm.name, Standing(new, now_s, reason(rule, datapoints, new), data)


def _statistic(policy: TargetTracking) -> str | None:
    if policy.predefined:
        return PREDEFINED[policy.predefined].statistic
    return policy.custom.statistic if policy.custom else None
