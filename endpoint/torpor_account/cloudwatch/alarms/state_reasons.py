"""Writes why an alarm is in its state, in CloudWatch's words and JSON."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from torpor_account.core.alarms import AlarmRule, Missing, State, taken

SHOWN = 5
"""The most datapoints that a reason lists."""

COMPARED = {
    "GreaterThanThreshold": "greater than",
    "GreaterThanOrEqualToThreshold": "greater than or equal to",
    "LessThanThreshold": "less than",
    "LessThanOrEqualToThreshold": "less than or equal to",
}
TREATED = {
    Missing.BREACHING: "Breaching",
    Missing.NOT_BREACHING: "NonBreaching",
    Missing.IGNORE: "Ignored",
    Missing.MISSING: "Missing",
}

Points = Sequence[tuple[int, float | None]]
"""The beginning of each period in epoch seconds, with its datapoint; oldest first."""


def reason(rule: AlarmRule, points: Points, state: State) -> str:
    """ "Threshold Crossed: 2 out of the last 3 datapoints [...] were greater than the threshold (1.0) (...)." """
    counted = _counted(rule, points)
    alarming = state is State.ALARM
    listed_points = [(at_s, value) for at_s, value in counted if rule.breached_by(value) == alarming]
    if state is State.INSUFFICIENT_DATA:
        return f"Insufficient Data: {_many(rule.periods, 'datapoint')} {_was(rule.periods)} unknown."
    if not listed_points:
        return _missing_text(rule, len(counted))
    listed = ", ".join(f"{value} ({_moment(at_s)})" for at_s, value in reversed(listed_points[-SHOWN:]))
    compared = f"{_was(len(listed_points))} {'' if alarming else 'not '}{COMPARED[rule.comparison]} the threshold"
    return (
        f"Threshold Crossed: {len(listed_points)} out of the last {len(counted)} datapoints [{listed}] "
        f"{compared} ({rule.threshold}) ({_minimum(rule, alarming)})."
    )


def _minimum(rule: AlarmRule, alarming: bool) -> str:
    if alarming:
        return f"minimum {_many(rule.to_alarm, 'datapoint')} for OK -> ALARM transition"
    return f"minimum {_many(rule.periods - rule.to_alarm + 1, 'datapoint')} for ALARM -> OK transition"


def _missing_text(rule: AlarmRule, counted: int) -> str:
    missing = rule.periods - counted
    none = "" if counted else f"no datapoints were received for {_many(rule.periods, 'period')} and "
    filled = f"{_many(missing, 'missing datapoint')} {_was(missing)} treated as [{TREATED[rule.missing]}]"
    return f"Threshold Crossed: {none}{filled}."


def reason_data(rule: AlarmRule, points: Points, statistic: str | None, period_s: int, now_s: float) -> str:
    """The JSON, `version` 1.0, that action handlers such as scaling policies read."""
    counted = _counted(rule, points)[-SHOWN * 10 :]
    data: dict[str, Any] = {
        "version": "1.0",
        "queryDate": _iso(now_s),
        **({"startDate": _iso(counted[0][0])} if counted else {}),
        **({"statistic": statistic} if statistic else {}),
        "period": period_s,
        "recentDatapoints": [value for _, value in counted],
        "threshold": rule.threshold,
    }
    return json.dumps(data)


def _counted(rule: AlarmRule, points: Points) -> list[tuple[int, float]]:
    at = taken(rule, [value for _, value in points])
    return [(points[one][0], value) for one in at if (value := points[one][1]) is not None]


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _moment(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%d/%m/%y %H:%M:%S}"


def _iso(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%dT%H:%M:%S.000+0000}"
