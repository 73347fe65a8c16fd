"""Reads PutMetricAlarm's members into rules and queries, and writes alarms as `MetricAlarm`."""

from typing import Any

from torpor_account.cloudwatch.alarms.alarm_record import Alarm
from torpor_account.cloudwatch.querying import Query
from torpor_account.core.alarms import AlarmRule, Missing, State

Request = dict[str, Any]

ACTIONS = {
    State.OK: "OKActions",
    State.ALARM: "AlarmActions",
    State.INSUFFICIENT_DATA: "InsufficientDataActions",
}
METRIC_MEMBERS = ("MetricName", "Namespace", "Dimensions", "Period", "Unit", "Statistic", "ExtendedStatistic")
"""The members of an alarm on one metric, instead of `Metrics`."""


def rule(request: Request) -> AlarmRule:
    periods: int = request["EvaluationPeriods"]
    return AlarmRule(
        request["ComparisonOperator"],
        request["Threshold"],
        periods,
        request.get("DatapointsToAlarm", periods),
        Missing(request.get("TreatMissingData", Missing.MISSING)),
    )


def queries(request: Request) -> list[Query]:
    """The queries of an alarm. An alarm on one metric has one."""
    if "Metrics" in request:
        return [*request["Metrics"]]
    metric = {name: request[name] for name in ("Namespace", "MetricName", "Dimensions") if name in request}
    stat = {"Metric": metric, "Period": request["Period"], "Stat": statistic(request)}
    return [{"Id": "m1", "MetricStat": {**stat, **({"Unit": request["Unit"]} if "Unit" in request else {})}}]


def watched(request: Request) -> str:
    """The id of the query that is compared with the threshold: the one with ReturnData."""
    return next(str(query["Id"]) for query in queries(request) if query.get("ReturnData", True))


def statistic(request: Request) -> str | None:
    """The alarm's statistic; None for an expression."""
    return request.get("Statistic") or request.get("ExtendedStatistic")


def period_s(request: Request) -> int:
    """The period in seconds, which is the same for all metrics of an alarm."""
    return next(iter(periods_s(request)), 60)


def periods_s(request: Request) -> set[int]:
    stats = [query.get("MetricStat", query) for query in queries(request)]
    return {stat["Period"] for stat in stats if "Period" in stat}


def actions(request: Request, state: State) -> list[str]:
    return [*request.get(ACTIONS[state], [])]


def shape(alarm: Alarm) -> dict[str, Any]:
    request, standing = alarm.request, alarm.standing
    return {
        **dict.fromkeys(ACTIONS.values(), ()),
        **({} if "Metrics" in request else {"Dimensions": ()}),
        **{name: value for name, value in request.items() if name != "Tags"},
        "AlarmName": alarm.name,
        "AlarmArn": alarm.arn,
        "AlarmConfigurationUpdatedTimestamp": alarm.configured_s,
        "ActionsEnabled": alarm.actions_enabled,
        "StateValue": standing.state,
        "StateReason": standing.reason,
        "StateReasonData": standing.reason_data,
        "StateUpdatedTimestamp": standing.since_s,
        "StateTransitionedTimestamp": standing.since_s,
    }
