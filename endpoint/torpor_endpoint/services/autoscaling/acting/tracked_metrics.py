"""The metrics that target tracking tracks: predefined ones as a table, and customized ones read from CloudWatch."""

from collections.abc import Mapping
from typing import Any, Final

from torpor_account.aws.errors import AwsError
from torpor_account.cloudwatch import querying
from torpor_account.cloudwatch.querying import Query
from torpor_account.metrics import metrics
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import MINUTE_S
from torpor_account.metrics.windows import PeriodWindow
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.autoscaling.delays import TimeScale
from torpor_endpoint.core.autoscaling.samples import (
    Measure,
    concurrent_requests_per_instance,
    invocations_per_instance,
    of_copies,
    provisioned_utilization,
)
from torpor_endpoint.core.autoscaling.tracking import BY_MINUTES, HIGH_RESOLUTION, Tracked, Tracking
from torpor_endpoint.services.autoscaling.scaling_records import CustomMetric, TargetTracking

SUMMED: Final = ("Sum", "SampleCount")
"""Statistics that mean nothing before their minute is over."""


@frozen
class Predefined:
    """A predefined metric. The alarms show `metric` and `statistic`."""

    tracked: Tracked
    metric: str
    statistic: str
    measure: Measure


PREDEFINED: Final[Mapping[str, Predefined]] = {
    "SageMakerVariantInvocationsPerInstance": Predefined(
        BY_MINUTES, metrics.INVOCATIONS_PER_INSTANCE.name, "Sum", invocations_per_instance
    ),
    "SageMakerVariantConcurrentRequestsPerModelHighResolution": Predefined(
        HIGH_RESOLUTION, metrics.CONCURRENT_REQUESTS_PER_MODEL.name, "Average", concurrent_requests_per_instance
    ),
    "SageMakerInferenceComponentInvocationsPerCopy": Predefined(
        BY_MINUTES, metrics.INVOCATIONS_PER_COPY.name, "Sum", of_copies(invocations_per_instance)
    ),
    "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution": Predefined(
        HIGH_RESOLUTION,
        metrics.CONCURRENT_REQUESTS_PER_COPY.name,
        "Average",
        of_copies(concurrent_requests_per_instance),
    ),
    "SageMakerVariantProvisionedConcurrencyUtilization": Predefined(
        BY_MINUTES, "ServerlessProvisionedConcurrencyUtilization", "Maximum", provisioned_utilization
    ),
}


def tracked(policy: TargetTracking) -> Tracked:
    return PREDEFINED[policy.predefined].tracked if policy.predefined else BY_MINUTES


def tracking(policy: TargetTracking, scale: TimeScale) -> Tracking:
    """The rule of a policy, with its delays in this endpoint's time scale."""
    of = tracked(policy)
    return Tracking(
        policy.target,
        of.points_out,
        of.points_in,
        scale.shortened(policy.scale_out_cooldown_s),
        scale.shortened(policy.scale_in_cooldown_s),
        policy.scales_in,
    )


def measured(policy: TargetTracking, registry: MetricRegistry, scale: TimeScale) -> Measure:
    if policy.predefined:
        return PREDEFINED[policy.predefined].measure
    shortened = scale.factor > 1
    return lambda row: newest(registry, customized(policy), row[-1].at_s, shortened)


def customized(policy: TargetTracking) -> list[Query]:
    """CloudWatch's queries for a customized metric; a single metric is one query."""
    if policy.custom is not None:
        return [{"Id": "m1", "MetricStat": _stat(policy.custom), "ReturnData": True}]
    return [
        {
            "Id": query.query_id,
            "ReturnData": query.returned,
            **({"MetricStat": _stat(query.metric)} if query.metric else {}),
            **({"Expression": query.expression} if query.expression else {}),
        }
        for query in policy.queries
    ]


def newest(registry: MetricRegistry, queries: list[Query], now_s: float, shortened: bool) -> float | None:
    """The value of the last whole minute; None without one, and for an expression that cannot be evaluated.

    With shortened delays it is the newest of this value and the current minute's, unless the statistic is a sum.
    """
    opened_s = int(now_s // MINUTE_S) * MINUTE_S
    whole = not shortened or any(query.get("MetricStat", {}).get("Stat") in SUMMED for query in queries)
    window = PeriodWindow(opened_s - MINUTE_S, opened_s if whole else opened_s + MINUTE_S, MINUTE_S)
    try:
        lines = querying.lines(registry, queries, lambda _: window)
    except AwsError:
        return None
    line = lines[next(query["Id"] for query in queries if query["ReturnData"])]
    return line[0].values[max(line[0].values)] if len(line) == 1 and line[0].values else None


def _stat(metric: CustomMetric) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": value} for name, value in metric.dimensions.items()]
    named = {"Namespace": metric.namespace, "MetricName": metric.metric, "Dimensions": dimensions}
    unit = {"Unit": metric.unit} if metric.unit else {}
    return {"Metric": named, "Period": MINUTE_S, "Stat": metric.statistic, **unit}
