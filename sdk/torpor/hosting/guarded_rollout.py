"""Updates an endpoint by a DeploymentConfig, through SageMaker's own API, and follows the update to its end."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor.hosting.endpoint_deployment import IN_PROGRESS, POLL_S

POLL_MOST_S = 0.5
"""The pause between two polls, once the update has lasted for some seconds."""


@dataclass(frozen=True)
class RolloutSize:
    """A CapacitySize: a percentage of the fleet, or a number of instances."""

    value: int
    percent: bool

    @property
    def wire(self) -> dict[str, Any]:
        return {"Type": "CAPACITY_PERCENT" if self.percent else "INSTANCE_COUNT", "Value": self.value}


@dataclass(frozen=True)
class GuardedRollout:
    """How an endpoint is updated. One of `canary`, `linear` and `rolling` at most; none of them is all at once."""

    canary: RolloutSize | None = None
    linear: RolloutSize | None = None
    rolling: RolloutSize | None = None
    bake_s: int = 0
    """After each step: the alarms are watched."""
    keep_old_s: int = 0
    """After the last step, before the old fleet ends. The old fleet of a rolling update ends batch by batch."""
    timeout_s: int | None = None
    alarms: Sequence[str] = field(default_factory=tuple)

    def deployment_config(self) -> dict[str, Any]:
        """It as UpdateEndpoint's DeploymentConfig."""
        timeout = {} if self.timeout_s is None else {"MaximumExecutionTimeoutInSeconds": self.timeout_s}
        alarms = [{"AlarmName": name} for name in self.alarms]
        guard = {"AutoRollbackConfiguration": {"Alarms": alarms}} if alarms else {}
        if self.rolling is not None:
            policy = {"MaximumBatchSize": self.rolling.wire, "WaitIntervalInSeconds": self.bake_s, **timeout}
            return {"RollingUpdatePolicy": policy, **guard}
        wait = {"TerminationWaitInSeconds": self.keep_old_s} if self.keep_old_s else {}
        policy = {"TrafficRoutingConfiguration": self._routing(), **wait, **timeout}
        return {"BlueGreenUpdatePolicy": policy, **guard}

    def _routing(self) -> dict[str, Any]:
        wait = {"WaitIntervalInSeconds": self.bake_s}
        if self.canary is not None:
            return {"Type": "CANARY", "CanarySize": self.canary.wire, **wait}
        if self.linear is not None:
            return {"Type": "LINEAR", "LinearStepSize": self.linear.wire, **wait}
        return {"Type": "ALL_AT_ONCE", **wait}


@dataclass(frozen=True)
class RolloutView:
    """What DescribeEndpoint says of a rollout at one moment."""

    status: str
    config: str
    stages: tuple[str, ...]
    """Of each variant, what it does: `Baking: Baking for 300 seconds …`. Empty between two stages."""
    doing: str = ""
    """The same in a word: Baking."""
    reason: str = ""

    @property
    def under_way(self) -> bool:
        return self.status in IN_PROGRESS


def viewed(described: dict[str, Any]) -> RolloutView:
    """DescribeEndpoint's answer, of which a rollout's view is a part."""
    pending = described.get("PendingDeploymentSummary", {}).get("ProductionVariants", [])
    variants = [*pending, *described.get("ProductionVariants", [])]
    several = len({variant["VariantName"] for variant in variants}) > 1
    told = [
        (variant["VariantName"], one)
        for variant in variants
        for one in variant.get("VariantStatus", [])
        if one.get("StatusMessage")
    ]
    stages = [f"{name}: {_stage(one)}" if several else _stage(one) for name, one in told]
    return RolloutView(
        described["EndpointStatus"],
        described["EndpointConfigName"],
        tuple(dict.fromkeys(stages)),
        ", ".join(dict.fromkeys(one["Status"] for _, one in told)),
        described.get("FailureReason", ""),
    )


def views(
    sagemaker: Any, name: str, pause: Callable[[float], None] = time.sleep, poll_s: float = POLL_S
) -> Iterator[RolloutView]:
    """Views of the rollout until it has ended; the last one is of the end. Raises botocore's ClientError."""
    while True:
        view = viewed(sagemaker.describe_endpoint(EndpointName=name))
        yield view
        if not view.under_way:
            return
        pause(poll_s)
        poll_s = min(2 * poll_s, POLL_MOST_S)


def _stage(status: dict[str, Any]) -> str:
    return f"{status['Status']}: {status['StatusMessage']}"
