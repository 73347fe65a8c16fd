"""The records of Application Auto Scaling as frozen values: targets, policies, scheduled actions and activities.

`request` holds what a caller sent, to show it again. The scaler reads the other members.
"""

from dataclasses import field
from typing import Any

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.autoscaling.delays import DELAYS, Delay
from torpor_endpoint.core.autoscaling.stepping import StepScaling

DEFAULT_COOLDOWN_S = int(DELAYS[Delay.COOLDOWN].seconds)
"""The cooldown of a policy that names none, in seconds."""


@frozen
class Suspended:
    scale_in: bool = False
    scale_out: bool = False
    scheduled: bool = False


@frozen
class ScalableTarget:
    resource_id: str
    dimension: str
    arn: str
    role_arn: str
    created_s: float
    capacity_min: int
    capacity_max: int
    suspended: Suspended = Suspended()

    @property
    def name(self) -> str:
        return target_name(self.resource_id, self.dimension)


@frozen
class CustomMetric:
    """One CloudWatch metric, over one period."""

    metric: str
    namespace: str
    statistic: str
    dimensions: dict[str, str] = field(default_factory=dict)
    unit: str | None = None


@frozen
class MetricQuery:
    """One query of metric math: an expression over the other queries, or a metric."""

    query_id: str
    expression: str | None = None
    metric: CustomMetric | None = None
    returned: bool = True


@frozen
class TargetTracking:
    """Keep a metric near `target`. Exactly one of `predefined`, `custom` and `queries` names the metric."""

    target: float
    predefined: str | None = None
    custom: CustomMetric | None = None
    queries: tuple[MetricQuery, ...] = ()
    scale_out_cooldown_s: int = DEFAULT_COOLDOWN_S
    scale_in_cooldown_s: int = DEFAULT_COOLDOWN_S
    scales_in: bool = True

    @property
    def metric(self) -> tuple[str | None, CustomMetric | None, tuple[MetricQuery, ...]]:
        """The tracked metric, without the target value."""
        return self.predefined, self.custom, self.queries


@frozen
class ScalingPolicy:
    """A policy with either `target_tracking` or `step_scaling`."""

    policy_name: str
    resource_id: str
    dimension: str
    arn: str
    created_s: float
    policy_type: str
    request: dict[str, Any]  # the configuration as sent
    target_tracking: TargetTracking | None = None
    step_scaling: StepScaling | None = None

    @property
    def target(self) -> str:
        return target_name(self.resource_id, self.dimension)

    @property
    def name(self) -> str:
        return f"{self.target}|{self.policy_name}"


@frozen
class ScheduledAction:
    """New bounds for a target at the times of `schedule`, which `core.autoscaling.schedules` parses."""

    action_name: str
    resource_id: str
    dimension: str
    arn: str
    created_s: float
    schedule: str
    timezone: str | None = None
    start_s: float | None = None
    end_s: float | None = None
    capacity_min: int | None = None
    capacity_max: int | None = None

    @property
    def target(self) -> str:
        return target_name(self.resource_id, self.dimension)

    @property
    def name(self) -> str:
        return f"{self.target}|{self.action_name}"


@frozen
class NotScaledReason:
    code: str
    capacity_max: int | None = None
    capacity_min: int | None = None
    capacity: int | None = None


@frozen
class Activity:
    """One scaling activity, also one that did not scale. `activity_id` is unique."""

    activity_id: str
    resource_id: str
    dimension: str
    description: str
    cause: str
    started_s: float
    status: str  # Pending, InProgress, Successful, Overridden, Unfulfilled, Failed
    ended_s: float | None = None
    status_message: str | None = None
    not_scaled: tuple[NotScaledReason, ...] = ()


def target_name(resource_id: str, dimension: str) -> str:
    """The name of a target in its table; policies and schedules begin with it."""
    return f"{resource_id}|{dimension}"
