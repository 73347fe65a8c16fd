"""The rules for scaling policies, as tables: what breaks a rule, and AWS's message to the caller."""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from math import inf
from typing import Any

from torpor_endpoint.services.autoscaling import errors
from torpor_endpoint.services.autoscaling.resources import DIMENSIONS

Wire = Mapping[str, Any]
Rules = tuple[tuple[Callable[[Wire], bool], str], ...]

CONFIGURATIONS = {
    "StepScaling": "StepScalingPolicyConfiguration",
    "TargetTrackingScaling": "TargetTrackingScalingPolicyConfiguration",
    "PredictiveScaling": "PredictiveScalingPolicyConfiguration",
}

SINGLE_METRIC = ("MetricName", "Namespace", "Statistic", "Dimensions", "Unit")


def check_configuration(policy_type: str, params: Wire) -> None:
    """Check that there is exactly the one configuration that the policy's type names."""
    if policy_type == "PredictiveScaling":
        raise errors.INVALID("PolicyType PredictiveScaling is not supported for the service namespace sagemaker.")
    if CONFIGURATIONS[policy_type] not in params:
        raise errors.INVALID(f"{policy_type} policy configuration must be specified")
    if sum(member in params for member in CONFIGURATIONS.values()) > 1:
        raise errors.INVALID(
            "You must only provide a single scaling policy configuration, which must match the scaling policy type "
            "specified."
        )


def check_target_tracking(configuration: Wire, dimension: str) -> None:
    _check(TARGET_TRACKING, configuration)
    predefined = configuration.get("PredefinedMetricSpecification")
    if predefined is None:
        return
    metric, metrics = predefined["PredefinedMetricType"], DIMENSIONS[dimension].metrics
    if metric not in metrics:
        known = ", ".join(metrics)
        raise errors.INVALID(
            f"Scalable dimension {dimension} only supports the following predefined metric types: {known}"
        )
    if "ResourceLabel" in predefined:
        raise errors.INVALID(f"Resource label should not be specified for predefined metric type {metric}")


def check_step_scaling(configuration: Wire) -> None:
    _check(STEP_SCALING, configuration)


def _check(rules: Rules, configuration: Wire) -> None:
    for broken, why in rules:
        if broken(configuration):
            raise errors.INVALID(why)


def _customized(configuration: Wire) -> Wire:
    found: Wire = configuration.get("CustomizedMetricSpecification", {})
    return found


def _is_half_a_metric(configuration: Wire) -> bool:
    metric = _customized(configuration)
    named = {member for member in SINGLE_METRIC if member in metric}
    if "Metrics" in metric:
        return bool(named)
    return bool(metric) and not named.issuperset(("MetricName", "Namespace", "Statistic"))


def _answers(configuration: Wire) -> int:
    return sum(query.get("ReturnData", True) for query in _customized(configuration).get("Metrics", ()))


TARGET_TRACKING: Rules = (
    (
        lambda tracking: not {"PredefinedMetricSpecification", "CustomizedMetricSpecification"} & tracking.keys(),
        "PredefinedMetricSpecification or CustomizedMetricSpecification must be set for target tracking scaling.",
    ),
    (
        lambda tracking: {"PredefinedMetricSpecification", "CustomizedMetricSpecification"} <= tracking.keys(),
        "Only one of PredefinedMetricSpecification or CustomizedMetricSpecification can be set for target tracking "
        "scaling.",
    ),
    (_is_half_a_metric, "The customized metric specification is not valid."),
    # "specify true for this value for only the final math expression that the metric specification is based on"
    (
        lambda tracking: "Metrics" in _customized(tracking) and _answers(tracking) != 1,
        "The customized metric specification is not valid.",
    ),
    (lambda tracking: tracking["TargetValue"] <= 0, "The target value must be greater than 0."),
    # "The target metric value must be in the range of 8.515920e-109 to 1.174271e+108 (Base 10)"
    (
        lambda tracking: not 8.515920e-109 <= tracking["TargetValue"] <= 1.174271e108,
        "The target value is out of range.",
    ),
)


def _steps(configuration: Wire) -> list[Wire]:
    """The steps in the order of their intervals."""
    return sorted(configuration.get("StepAdjustments", ()), key=lambda step: (_lower(step), _upper(step)))


def _lower(step: Wire) -> float:
    return float(step.get("MetricIntervalLowerBound", -inf))


def _upper(step: Wire) -> float:
    return float(step.get("MetricIntervalUpperBound", inf))


def _neighbours(configuration: Wire) -> Iterable[tuple[float, float]]:
    """For each interval but the last: its end, and the beginning of the next."""
    return ((_upper(one), _lower(other)) for one, other in pairwise(_steps(configuration)))


def _lowest(configuration: Wire) -> float:
    return min(map(_lower, _steps(configuration)))


def _highest(configuration: Wire) -> float:
    return max(map(_upper, _steps(configuration)))


STEP_SCALING: Rules = (
    (lambda policy: "AdjustmentType" not in policy, "Adjustment type must be specified"),
    (lambda policy: not _steps(policy), "There must be at least one step adjustment"),
    (
        lambda policy: "MinAdjustmentMagnitude" in policy and policy["AdjustmentType"] != "PercentChangeInCapacity",
        "Minimum adjustment magnitude is only allowed for adjustment type PercentChangeInCapacity",
    ),
    (
        lambda policy: (
            policy["AdjustmentType"] == "ExactCapacity"
            and any(step["ScalingAdjustment"] < 0 for step in _steps(policy))
        ),
        "Scaling adjustment cannot be less than 0 when adjustment type is ExactCapacity",
    ),
    (
        lambda policy: any((_lower(step), _upper(step)) == (-inf, inf) for step in _steps(policy)),
        "Both lower and upper bounds of a step adjustment cannot be left unspecified",
    ),
    (
        lambda policy: any(_lower(step) >= _upper(step) for step in _steps(policy)),
        "Lower bound must be less than upper bound for a step adjustment",
    ),
    (
        lambda policy: sum(_lower(step) == -inf for step in _steps(policy)) > 1,
        "At most one step adjustment may have an unspecified lower bound",
    ),
    (
        lambda policy: sum(_upper(step) == inf for step in _steps(policy)) > 1,
        "At most one step adjustment may have an unspecified upper bound",
    ),
    (
        lambda policy: any(end > begin for end, begin in _neighbours(policy)),
        "Step adjustment intervals cannot overlap",
    ),
    (
        lambda policy: any(end < begin for end, begin in _neighbours(policy)),
        "Step adjustment intervals cannot have gaps between them",
    ),
    (
        lambda policy: -inf < _lowest(policy) < 0,
        "There must be a step adjustment with an unspecified lower bound when one step adjustment has a negative "
        "lower bound",
    ),
    (
        lambda policy: 0 < _highest(policy) < inf,
        "There must be a step adjustment with an unspecified upper bound when one step adjustment has a positive "
        "upper bound",
    ),
)
