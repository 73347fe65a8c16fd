"""Decides the state of an alarm from a row of datapoints, some of which may be missing. Pure, without a clock.

The rules are those of "Configuring how CloudWatch alarms treat missing data" in the CloudWatch user guide.
"""

import operator
from collections.abc import Callable, Sequence
from enum import StrEnum

from torpor_container.frozen_class import frozen

EXTRA_PERIODS = 2
"""AWS evaluates more periods than EvaluationPeriods, and does not say how many; its examples have two more."""


class State(StrEnum):
    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


class Missing(StrEnum):
    """How a period without a datapoint counts."""

    MISSING = "missing"
    IGNORE = "ignore"
    BREACHING = "breaching"
    NOT_BREACHING = "notBreaching"


Datapoints = Sequence[float | None]
"""One for each period, oldest first; None where there is none."""

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


@frozen
class AlarmRule:
    """ALARM when `to_alarm` of `periods` datapoints breach: the M and the N of "M out of N"."""

    comparison: str
    threshold: float
    periods: int
    to_alarm: int
    missing: Missing = Missing.MISSING

    @property
    def looks_back(self) -> int:
        """The number of periods that are evaluated: AWS's evaluation range."""
        return self.periods + EXTRA_PERIODS

    def breached_by(self, value: float) -> bool:
        return COMPARISONS[self.comparison](value, self.threshold)


def taken(rule: AlarmRule, datapoints: Datapoints) -> list[int]:
    """The positions of the datapoints that count, oldest first: the newest real ones, at most `periods`."""
    real = [at for at, value in enumerate(datapoints) if value is not None]
    return real[-rule.periods :]


def judged(rule: AlarmRule, datapoints: Datapoints, state: State) -> State:
    """The next state of an alarm in `state`. `datapoints` has one entry for each of the newest periods, at most
    `rule.looks_back`: what is missing before them makes no difference."""
    counted = [(len(datapoints) - at, value) for at in taken(rule, datapoints) if (value := datapoints[at]) is not None]
    breaching = [age for age, value in counted if rule.breached_by(value)]
    if len(breaching) >= rule.to_alarm:
        return State.ALARM
    if len(counted) == rule.periods:
        return State.OK
    return ABSENT[rule.missing](_Thin(rule, len(counted), breaching, state))


@frozen
class _Thin:
    """Fewer datapoints than periods. `breaching` has the ages of the breaching ones in periods, oldest first."""

    rule: AlarmRule
    counted: int
    breaching: list[int]
    state: State

    @property
    def none_is_good(self) -> bool:
        return len(self.breaching) == self.counted


def _missing(thin: _Thin) -> State:
    """ "Alarms are designed to always go into ALARM state when the oldest available breaching datapoint [..] is at
    least as old as the value of Datapoints to Alarm, and all other more recent data points are breaching or
    missing." """
    if thin.counted == 0:
        return State.INSUFFICIENT_DATA
    return State.ALARM if thin.none_is_good and thin.breaching[0] >= thin.rule.to_alarm else State.OK


def _ignored(thin: _Thin) -> State:
    return thin.state if thin.none_is_good else State.OK


def _bad(thin: _Thin) -> State:
    filled = thin.rule.periods - thin.counted
    return State.ALARM if len(thin.breaching) + filled >= thin.rule.to_alarm else State.OK


def _good(thin: _Thin) -> State:
    return State.OK


ABSENT: dict[Missing, Callable[[_Thin], State]] = {
    Missing.MISSING: _missing,
    Missing.IGNORE: _ignored,
    Missing.BREACHING: _bad,
    Missing.NOT_BREACHING: _good,
}
