"""Application Auto Scaling over a database in memory, called through boto3 without a port."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torpor_account.aws.in_process import client
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.autoscaling.service import service
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

ACCOUNT = "210987654321"
NOW_S = 1_770_000_000.0

INSTANCES = "sagemaker:variant:DesiredInstanceCount"
CONCURRENCY = "sagemaker:variant:DesiredProvisionedConcurrency"

OF = {"ServiceNamespace": "sagemaker", "ResourceId": "endpoint/ep/variant/v", "ScalableDimension": INSTANCES}
"""The target of most stories."""

INVOCATIONS: dict[str, Any] = {
    "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}
}


def refused(resource_id: str, dimension: str, capacity_min: int) -> str | None:
    """There is everything but the endpoint `ghost`, and the variant `sleepless` never sleeps."""
    if "ghost" in resource_id:
        return "Could not find endpoint ghost."
    return "it never sleeps" if capacity_min == 0 and "sleepless" in resource_id else None


class InMemoryAutoscaling:
    """The context, as the scaler has it, and a boto3 client of it."""

    def __init__(self, path: Path | str = ":memory:") -> None:
        self.database = SqliteFile(path, RECORDS)
        self.context = Autoscaling(self.database, Store(self.database, lambda: NOW_S), lambda: NOW_S, refused)
        self.client: Any = client(service(self.context, account=ACCOUNT))

    def clear(self) -> None:
        for table in ("scalable_targets", "scaling_policies", "scheduled_actions", "alarms", "tags"):
            self.database.changed(f"DELETE FROM {table}")

    def register(self, **members: Any) -> str:
        arn: str = self.client.register_scalable_target(**{**OF, "MinCapacity": 1, "MaxCapacity": 4, **members})[
            "ScalableTargetARN"
        ]
        return arn

    def track(self, **configuration: Any) -> None:
        self.client.put_scaling_policy(
            **OF,
            PolicyName="track",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={"TargetValue": 70.0, **INVOCATIONS, **configuration},
        )

    def schedule(self, **members: Any) -> None:
        action = {"Schedule": "rate(1 hour)", "ScalableTargetAction": {"MinCapacity": 2}}
        self.client.put_scheduled_action(**OF, ScheduledActionName="hourly", **{**action, **members})


@contextmanager
def autoscaling_over(path: Path) -> Iterator[InMemoryAutoscaling]:
    autoscaling = InMemoryAutoscaling(path)
    try:
        yield autoscaling
    finally:
        autoscaling.database.close()
