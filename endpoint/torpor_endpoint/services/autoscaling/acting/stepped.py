"""The alarms that invoke step scaling policies: whether one does so now, and how far beyond its threshold it is."""

import json
from dataclasses import dataclass, field

from torpor_endpoint.aws.errors import AwsError
from torpor_endpoint.core.alarms import AlarmRule, State, taken
from torpor_endpoint.core.autoscaling.stepping import Breach
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.metrics.series import MINUTE_S
from torpor_endpoint.services.cloudwatch.alarms.observing import observed
from torpor_endpoint.services.cloudwatch.alarms.records import Alarm
from torpor_endpoint.services.cloudwatch.alarms.shapes import actions, rule


@dataclass(frozen=True)
class Invoked:
    """By an alarm, on account of a data point: the newest of those that brought it into its state."""

    breach: Breach
    point_s: int


@dataclass
class Invocations:
    """ "The adjustments can continue for additional alarm breaches until the alarm state returns to OK": each alarm
    invokes each policy once for every data point. These are of real minutes, whatever the time scale."""

    registry: MetricRegistry
    _last: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)

    def new(self, alarm: Alarm, arn: str, now_s: float) -> Breach | None:
        """None unless the alarm invokes the policy now. Asked again, it has done so."""
        if not alarm.actions_enabled or arn not in actions(alarm.request, alarm.standing.state):
            return None
        invoked = _invoked(self.registry, alarm, now_s)
        turn = (alarm.standing.since_s, invoked.point_s)
        last, self._last[alarm.name, arn] = self._last.get((alarm.name, arn)), turn
        return invoked.breach if turn != last else None


def _invoked(registry: MetricRegistry, alarm: Alarm, now_s: float) -> Invoked:
    """Without such a data point, as where somebody set the state, that of the minute that is not over: it has what the
    alarm said of itself, or else the threshold."""
    asked = rule(alarm.request)
    alarming = alarm.standing.state is State.ALARM
    seen = [(at_s, value) for at_s, value in _observed(registry, alarm, now_s) if asked.breached_by(value) == alarming]
    told = [value for value in _told(alarm) if asked.breached_by(value) == alarming]
    values = [value for _, value in seen] or told or [asked.threshold]
    point_s = seen[-1][0] if seen else int(now_s // MINUTE_S) * MINUTE_S
    return Invoked(Breach(values, asked.threshold, _rises(asked) == alarming), point_s)


def _rises(asked: AlarmRule) -> bool:
    return asked.comparison.startswith("Greater")


def _observed(registry: MetricRegistry, alarm: Alarm, now_s: float) -> list[tuple[int, float]]:
    try:
        judged_by, points = observed(registry, alarm.request, now_s)
    except AwsError:  # an expression that cannot be evaluated any more
        return []
    counted = [points[at] for at in taken(judged_by, [value for _, value in points])]
    return [(at_s, value) for at_s, value in counted if value is not None]


def _told(alarm: Alarm) -> list[float]:
    found = json.loads(alarm.standing.reason_data or "{}")
    values = found.get("recentDatapoints", ()) if isinstance(found, dict) else ()
    return [float(value) for value in values if isinstance(value, int | float)]
