"""Reads records from the JSON in which they are stored."""

from collections.abc import Mapping
from typing import Any

from torpor_endpoint.core.autoscaling.stepping import StepAdjustment, StepScaling
from torpor_endpoint.services.autoscaling.records import (
    CustomMetric,
    MetricQuery,
    ScalableTarget,
    ScalingPolicy,
    ScheduledAction,
    Suspended,
    TargetTracking,
)

Stored = Mapping[str, Any]


def target(record: Stored) -> ScalableTarget:
    return ScalableTarget(**{**record, "suspended": Suspended(**record["suspended"])})


def policy(record: Stored) -> ScalingPolicy:
    tracking, steps = record["target_tracking"], record["step_scaling"]
    return ScalingPolicy(
        **{
            **record,
            "target_tracking": _target_tracking(tracking) if tracking else None,
            "step_scaling": _step_scaling(steps) if steps else None,
        }
    )


def scheduled_action(record: Stored) -> ScheduledAction:
    return ScheduledAction(**record)


def _target_tracking(record: Stored) -> TargetTracking:
    queries = tuple(map(_query, record["queries"]))
    return TargetTracking(**{**record, "custom": _custom(record["custom"]), "queries": queries})


def _step_scaling(record: Stored) -> StepScaling:
    return StepScaling(**{**record, "steps": tuple(StepAdjustment(**step) for step in record["steps"])})


def _query(record: Stored) -> MetricQuery:
    return MetricQuery(**{**record, "metric": _custom(record["metric"])})


def _custom(record: Stored | None) -> CustomMetric | None:
    return CustomMetric(**record) if record else None
