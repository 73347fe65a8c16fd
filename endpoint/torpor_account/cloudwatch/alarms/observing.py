"""Reads an alarm's datapoints from the registry. `core.alarms` judges them."""

from dataclasses import replace

from torpor_account.cloudwatch import errors, querying
from torpor_account.cloudwatch.alarms.shapes import Request, period_s, queries, rule, watched
from torpor_account.cloudwatch.alarms.state_reasons import Points
from torpor_account.core.alarms import AlarmRule
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import MINUTE_S
from torpor_account.metrics.windows import looking_back


def by_minutes(rule: AlarmRule, period_s: int) -> AlarmRule:
    """The rule in minutes: samples are stored by the minute, so the minutes of its span judge a shorter period."""
    if period_s >= MINUTE_S:
        return rule
    minutes = -(-rule.periods * period_s // MINUTE_S)
    return replace(rule, periods=minutes, to_alarm=min(-(-rule.to_alarm * period_s // MINUTE_S), minutes))


def observed(registry: MetricRegistry, request: Request, now_s: float) -> tuple[AlarmRule, Points]:
    """The rule to judge by, and a datapoint or None for each evaluated period. Raises AwsError for an expression that
    cannot be evaluated."""
    judged_by = by_minutes(rule(request), period_s(request))
    window = looking_back(now_s, judged_by.looks_back, period_s(request))
    lines = querying.lines(registry, queries(request), lambda _: window)[watched(request)]
    if len(lines) != 1:
        raise errors.INVALID(f"The expression has {len(lines)} time series, and an alarm watches one.")
    return judged_by, [(at_s, lines[0].values.get(at_s)) for at_s in window.grid]
