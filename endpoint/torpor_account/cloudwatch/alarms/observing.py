"""Reads an alarm's datapoints from the registry. `core.alarms` judges them."""

from dataclasses import replace

from torpor_account.cloudwatch import errors, querying
from torpor_account.cloudwatch.alarms.shapes import Request, period_s, queries, rule, watched
from torpor_account.cloudwatch.alarms.state_reasons import Points
from torpor_account.cloudwatch.lookup import exact
from torpor_account.core.alarms import AlarmRule
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import MINUTE_S
from torpor_account.metrics.windows import looking_back


def by_minutes(rule: AlarmRule, period_s: int) -> AlarmRule:
    """The rule in minutes: the minutes of its span judge a shorter period of a metric that is stored by the minute."""
    if period_s >= MINUTE_S:
        return rule
    minutes = -(-rule.periods * period_s // MINUTE_S)
    return replace(rule, periods=minutes, to_alarm=min(-(-rule.to_alarm * period_s // MINUTE_S), minutes))


def observed(registry: MetricRegistry, request: Request, now_s: float) -> tuple[AlarmRule, Points]:
    """The rule to judge by, and a datapoint or None for each evaluated period. Raises AwsError for an expression that
    cannot be evaluated."""
    judged_by, length_s = rule(request), period_s(request)
    if not _all_fine(registry, request):
        judged_by, length_s = by_minutes(judged_by, length_s), max(length_s, MINUTE_S)
    window = looking_back(now_s, judged_by.looks_back, length_s)
    lines = querying.lines(registry, queries(request), lambda _: window)[watched(request)]
    if len(lines) != 1:
        raise errors.INVALID(f"The expression has {len(lines)} time series, and an alarm watches one.")
    return judged_by, [(at_s, lines[0].values.get(at_s)) for at_s in window.grid]


def _all_fine(registry: MetricRegistry, request: Request) -> bool:
    """Whether every metric that the alarm watches has samples by ten seconds."""
    stats = [query["MetricStat"] for query in queries(request) if "MetricStat" in query]
    return all(one.high_resolution for stat in stats for one in exact(registry, stat["Metric"], stat.get("Unit")))
