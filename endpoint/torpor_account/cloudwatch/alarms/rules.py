"""The rules for PutMetricAlarm that AWS's service model does not express."""

import re
from math import isfinite

from torpor_account.cloudwatch import errors, querying
from torpor_account.cloudwatch.alarms.shapes import ACTIONS, METRIC_MEMBERS, Request, periods_s, queries
from torpor_account.core.alarms import COMPARISONS, Missing
from torpor_account.metrics.statistics import SIMPLE

ARN = re.compile(r"arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[^:\s]*:\S+", re.ASCII)

DAY_S = 86_400
HOUR_S = 3600
UNSUPPORTED = (
    "ThresholdMetricId",
    "EvaluationWindow",
    "WarmUpConfiguration",
    "EvaluationCriteria",
    "EvaluationInterval",
    "ActionConfiguration",
)
"""Members that would change how an alarm is judged: anomaly detection, PromQL and others."""

REQUIRED = ("ComparisonOperator", "EvaluationPeriods")
"""Newer service models call them optional, for kinds of alarms that Torpor lacks."""


def check(request: Request) -> None:
    """Check the request. Raises an AwsError with CloudWatch's code."""
    for name in UNSUPPORTED:
        if name in request:
            raise errors.INVALID(f"Torpor does not implement {name} of PutMetricAlarm.")
    for name in REQUIRED:
        if name not in request:
            raise errors.MISSING(f"The parameter {name} is required.")
    if request["ComparisonOperator"] not in COMPARISONS:
        raise errors.INVALID("Torpor does not implement alarms on anomaly detection.")
    if "Threshold" not in request:
        raise errors.INVALID("The parameter Threshold is required.")
    if not isfinite(request["Threshold"]):
        raise errors.INVALID_VALUE(parameter="Threshold", value=request["Threshold"])
    _check_words(request)
    _check_actions(request)
    _check_metric(request)
    _check_periods(request)


def _check_words(request: Request) -> None:
    missing, low = request.get("TreatMissingData"), request.get("EvaluateLowSampleCountPercentile")
    if missing is not None and missing not in list(Missing):
        raise errors.INVALID(f"TreatMissingData must be one of {', '.join(Missing)}.")
    if low not in (None, "evaluate"):
        raise errors.INVALID(f"Torpor does not implement EvaluateLowSampleCountPercentile {low}.")


def _check_actions(request: Request) -> None:
    for name in ACTIONS.values():
        for action in request.get(name, []):
            if not ARN.fullmatch(action):
                raise errors.INVALID(f"Invalid arn syntax: {action}")


def _check_metric(request: Request) -> None:
    if "Metrics" in request:
        _check_queries(request)
        return
    for name in ("MetricName", "Namespace", "Period"):
        if name not in request:
            raise errors.MISSING(f"The parameter {name} is required for an alarm without Metrics.")
    if ("Statistic" in request) == ("ExtendedStatistic" in request):
        raise errors.COMBINATION("Exactly one of Statistic and ExtendedStatistic must be specified.")
    if request.get("ExtendedStatistic") in SIMPLE:
        raise errors.INVALID(
            f"The value {request['ExtendedStatistic']} for parameter ExtendedStatistic is not supported."
        )
    querying.check(queries(request))


def _check_queries(request: Request) -> None:
    beside = [name for name in METRIC_MEMBERS if name in request]
    if beside:
        raise errors.COMBINATION(f"Metrics cannot be combined with {', '.join(beside)}.")
    querying.check(request["Metrics"])
    returned = [query["Id"] for query in request["Metrics"] if query.get("ReturnData", True)]
    if len(returned) != 1:
        raise errors.INVALID(f"Exactly one element of the metrics list should return data, and {len(returned)} do.")
    periods = range(min(request["EvaluationPeriods"], DAY_S // 10))  # more are refused below
    series = querying.rehearsed(request["Metrics"], periods)[returned[0]]
    if len(series) != 1:
        raise errors.INVALID(f"The expression has {len(series)} time series, and an alarm watches one.")


def _check_periods(request: Request) -> None:
    periods, periods_of_metrics = request["EvaluationPeriods"], periods_s(request)
    if len(periods_of_metrics) > 1:
        raise errors.INVALID("The metrics of an alarm must all have the same period.")
    if request.get("DatapointsToAlarm", 1) > periods:
        raise errors.INVALID("DatapointsToAlarm must not be greater than EvaluationPeriods.")
    for period_s in periods_of_metrics:
        if period_s not in (10, 20, 30) and period_s % 60:
            raise errors.INVALID("The period of an alarm must be 10, 20, 30 or a multiple of 60.")
        limit_s = DAY_S if period_s < HOUR_S else 7 * DAY_S
        if period_s * periods > limit_s:
            raise errors.INVALID(
                f"Metrics cannot be checked across more than {limit_s} seconds (EvaluationPeriods * Period)."
            )
