"""Reads Application Auto Scaling's wire shapes into records, and writes them from records."""

from collections.abc import Iterable, Mapping
from typing import Any

from torpor_account.cloudwatch.alarms.alarm_record import Alarm
from torpor_endpoint.core.autoscaling.stepping import StepAdjustment, StepScaling
from torpor_endpoint.services.autoscaling.policy_rules import CONFIGURATIONS
from torpor_endpoint.services.autoscaling.resources import NAMESPACE
from torpor_endpoint.services.autoscaling.scaling_records import (
    DEFAULT_COOLDOWN_S,
    Activity,
    CustomMetric,
    MetricQuery,
    NotScaledReason,
    ScalableTarget,
    ScalingPolicy,
    ScheduledAction,
    TargetTracking,
)

Wire = Mapping[str, Any]

# -- reading -------------------------------------------------------------------------------------------------------


def target_tracking(wire: Wire) -> TargetTracking:
    customized = wire.get("CustomizedMetricSpecification", {})
    return TargetTracking(
        target=wire["TargetValue"],
        predefined=wire.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType"),
        custom=_metric(customized, customized["Statistic"], customized) if "MetricName" in customized else None,
        queries=tuple(map(_query, customized.get("Metrics", ()))),
        scale_out_cooldown_s=wire.get("ScaleOutCooldown", DEFAULT_COOLDOWN_S),
        scale_in_cooldown_s=wire.get("ScaleInCooldown", DEFAULT_COOLDOWN_S),
        scales_in=not wire.get("DisableScaleIn", False),
    )


def step_scaling(wire: Wire) -> StepScaling:
    return StepScaling(
        adjustment_type=wire["AdjustmentType"],
        steps=tuple(map(_step, wire["StepAdjustments"])),
        cooldown_s=wire.get("Cooldown", DEFAULT_COOLDOWN_S),
        aggregation=wire.get("MetricAggregationType", "Average"),
        adjustment_min=wire.get("MinAdjustmentMagnitude"),
    )


def _step(wire: Wire) -> StepAdjustment:
    lower, upper = wire.get("MetricIntervalLowerBound"), wire.get("MetricIntervalUpperBound")
    return StepAdjustment(wire["ScalingAdjustment"], lower, upper)


def _query(wire: Wire) -> MetricQuery:
    stat = wire.get("MetricStat")
    metric = _metric(stat["Metric"], stat["Stat"], stat) if stat else None
    return MetricQuery(wire["Id"], wire.get("Expression"), metric, wire.get("ReturnData", True))


def _metric(wire: Wire, statistic: str, with_unit: Wire) -> CustomMetric:
    dimensions = {dimension["Name"]: dimension["Value"] for dimension in wire.get("Dimensions", ())}
    name, namespace = wire.get("MetricName", ""), wire.get("Namespace", "")
    return CustomMetric(name, namespace, statistic, dimensions, with_unit.get("Unit"))


# -- writing -----------------------------------------------------------------------------------------------------------


def scalable_target(record: ScalableTarget) -> dict[str, Any]:
    return {
        **_of_target(record.resource_id, record.dimension),
        "MinCapacity": record.capacity_min,
        "MaxCapacity": record.capacity_max,
        "RoleARN": record.role_arn,
        "CreationTime": record.created_s,
        "SuspendedState": {
            "DynamicScalingInSuspended": record.suspended.scale_in,
            "DynamicScalingOutSuspended": record.suspended.scale_out,
            "ScheduledScalingSuspended": record.suspended.scheduled,
        },
        "ScalableTargetARN": record.arn,
    }


def scaling_policy(record: ScalingPolicy, alarms: Iterable[Alarm]) -> dict[str, Any]:
    return {
        "PolicyARN": record.arn,
        "PolicyName": record.policy_name,
        **_of_target(record.resource_id, record.dimension),
        "PolicyType": record.policy_type,
        CONFIGURATIONS[record.policy_type]: record.request,
        "Alarms": list(map(alarm, alarms)),
        "CreationTime": record.created_s,
    }


def alarm(record: Alarm) -> dict[str, str]:
    return {"AlarmName": record.name, "AlarmARN": record.arn}


def scheduled_action(record: ScheduledAction) -> dict[str, Any]:
    return {
        "ScheduledActionName": record.action_name,
        "ScheduledActionARN": record.arn,
        **_of_target(record.resource_id, record.dimension),
        "Schedule": record.schedule,
        "Timezone": record.timezone,
        "StartTime": record.start_s,
        "EndTime": record.end_s,
        "ScalableTargetAction": {"MinCapacity": record.capacity_min, "MaxCapacity": record.capacity_max},
        "CreationTime": record.created_s,
    }


def activity(record: Activity) -> dict[str, Any]:
    return {
        "ActivityId": record.activity_id,
        **_of_target(record.resource_id, record.dimension),
        "Description": record.description,
        "Cause": record.cause,
        "StartTime": record.started_s,
        "EndTime": record.ended_s,
        "StatusCode": record.status,
        "StatusMessage": record.status_message,
        "NotScaledReasons": list(map(_not_scaled_reason, record.not_scaled)),
    }


def _not_scaled_reason(reason: NotScaledReason) -> dict[str, Any]:
    return {
        "Code": reason.code,
        "MaxCapacity": reason.capacity_max,
        "MinCapacity": reason.capacity_min,
        "CurrentCapacity": reason.capacity,
    }


def _of_target(resource_id: str, dimension: str) -> dict[str, str]:
    return {"ServiceNamespace": NAMESPACE, "ResourceId": resource_id, "ScalableDimension": dimension}
