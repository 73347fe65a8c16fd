"""Decides whether an alarm invokes a step scaling policy now, and how far the metric is beyond its threshold."""

import json
from dataclasses import dataclass, field

from torpor_account.aws.errors import AwsError
from torpor_account.cloudwatch.alarms.alarm_record import Alarm
from torpor_account.cloudwatch.alarms.observing import observed
from torpor_account.cloudwatch.alarms.shapes import actions, period_s, rule
from torpor_account.core.alarms import AlarmRule, State, taken
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import MINUTE_S
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.autoscaling.stepping import Breach


@frozen
class Invoked:
    """An alarm's invocation of a policy, for the newest of the data points that brought the alarm into its state."""

    breach: Breach
    point_s: int
    measured: bool  # there are such data points

    def follows(self, last: "Invoked", period_s: float) -> bool:
        """Whether it is for another data point than the last one. Periods of less than a minute end with each look, so
        that one sample is in several of them; and once its points are too old, the alarm is about to leave its state.
        """
        if last.measured:
            return self.measured and self.point_s >= last.point_s + period_s
        return self.point_s != last.point_s


@dataclass
class Invocations:
    """Remembers the last invocations: each alarm invokes each policy once for every data point.

    AWS: "The adjustments can continue for additional alarm breaches until the alarm state returns to OK". Data points
    are of real minutes at any time scale.
    """

    registry: MetricRegistry
    _last: dict[tuple[str, str], tuple[float, Invoked]] = field(default_factory=dict)

    def new(self, alarm: Alarm, arn: str, now_s: float) -> Breach | None:
        """The breach for which the alarm invokes the policy now; None if it does not, or has done so before."""
        if not alarm.actions_enabled or arn not in actions(alarm.request, alarm.standing.state):
            return None
        invoked, since_s = _invoked(self.registry, alarm, now_s), alarm.standing.since_s
        before_s, last = self._last.get((alarm.name, arn), (None, None))
        if last is not None and before_s == since_s and not invoked.follows(last, period_s(alarm.request)):
            return None
        self._last[alarm.name, arn] = since_s, invoked
        return invoked.breach


def _invoked(registry: MetricRegistry, alarm: Alarm, now_s: float) -> Invoked:
    """The invocation by the alarm's data points.

    Without such data points, as after SetAlarmState, it is for the current minute, with the values in the alarm's own
    reason, or else the threshold.
    """
    judging = rule(alarm.request)
    alarming = alarm.standing.state is State.ALARM
    known = [
        (at_s, value) for at_s, value in _observed(registry, alarm, now_s) if judging.breached_by(value) == alarming
    ]
    reported = [value for value in _reported(alarm) if judging.breached_by(value) == alarming]
    values = [value for _, value in known] or reported or [judging.threshold]
    point_s = known[-1][0] if known else int(now_s // MINUTE_S) * MINUTE_S
    return Invoked(Breach(values, judging.threshold, _rises(judging) == alarming), point_s, bool(known))


def _rises(judging: AlarmRule) -> bool:
    return judging.comparison.startswith("Greater")


def _observed(registry: MetricRegistry, alarm: Alarm, now_s: float) -> list[tuple[int, float]]:
    try:
        judged_by, points = observed(registry, alarm.request, now_s)
    except AwsError:  # an expression that can no longer be evaluated
        return []
    counted = [points[at] for at in taken(judged_by, [value for _, value in points])]
    return [(at_s, value) for at_s, value in counted if value is not None]


def _reported(alarm: Alarm) -> list[float]:
    found = json.loads(alarm.standing.reason_data or "{}")
    values = found.get("recentDatapoints", ()) if isinstance(found, dict) else ()
    return [float(value) for value in values if isinstance(value, int | float)]
