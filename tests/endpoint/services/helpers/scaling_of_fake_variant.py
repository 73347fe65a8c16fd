"""A real scaler over a fake variant: a clock, a rate of requests and a count of instances, each a number."""

import asyncio
from typing import Any

from tests.endpoint.services.helpers.in_memory_autoscaling import ACCOUNT, INSTANCES, OF, refused
from torpor_account.aws.calls import Unanswered
from torpor_account.aws.in_process import client
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.cloudwatch.alarms.actions import alarm_actions
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.cloudwatch.alarms.watch import next_standing
from torpor_account.cloudwatch.service import CloudWatch
from torpor_account.cloudwatch.service import service as cloudwatch_service
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.topics import Topics
from torpor_endpoint.core.autoscaling.delays import TimeScale
from torpor_endpoint.core.autoscaling.samples import VariantLoad
from torpor_endpoint.services.autoscaling.acting.activities import Activities
from torpor_endpoint.services.autoscaling.acting.scaler import Scaler, World
from torpor_endpoint.services.autoscaling.acting.tracking_alarms import is_managed
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.autoscaling.service import service as autoscaling_service
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

NOON_S = 1_772_366_400.0
"""2026-03-01, a Sunday."""


async def no_topics(service: str, operation: str, request: AwsRequest) -> Any:
    raise Unanswered(service)


class FakeVariantScaler:
    """`per_minute` requests come, `ready` instances serve; `faults` has the errors of the next changes."""

    def __init__(self) -> None:
        self.now_s = NOON_S
        self.database = SqliteFile(":memory:", RECORDS)
        store = Store(self.database, self.clock)
        self.context = Autoscaling(self.database, store, self.clock, refused)
        self.registry = MetricRegistry(self.clock)
        # As in an endpoint: CloudWatch's own keeper of the same alarms, whose actions are carried out.
        self.alarms = Alarms(
            self.database, store.tags, self.clock, alarm_actions(Topics(no_topics), self.context.fired)
        )
        self.restart()

    def restart(self, factor: float = 1.0) -> None:
        """At noon, with nothing registered; delays are `factor` times shorter than on AWS."""
        for target in self.context.targets.all():
            self.context.remove(target)
        for alarm in self.alarms.all():
            self.alarms.remove(alarm.name)
        self.context.activities = Activities()
        self.registry.forget({})
        self.now_s = NOON_S
        self.per_minute = self.came = 0.0
        self.in_flight = 0
        self.wanted = self.ready = 1
        self.provisioned = 0
        self.serving = True
        self.faults: list[Exception] = []
        self.let_go = asyncio.Event()  # changes wait for it
        self.let_go.set()
        self.scale = TimeScale(factor)
        self.scaler = Scaler(self.context, World(self.load, self.registry, self.apply), self.scale)

    def clients(self) -> tuple[Any, Any]:
        """Application Auto Scaling's and CloudWatch's; they take half a second each to make."""
        watching = cloudwatch_service(CloudWatch(self.registry), self.alarms, account=ACCOUNT)
        return client(autoscaling_service(self.context, account=ACCOUNT)), client(watching)

    def clock(self) -> float:
        return self.now_s

    def load(self, resource_id: str) -> VariantLoad | None:
        assert resource_id == "endpoint/ep/variant/v"
        load = VariantLoad(int(self.came), self.in_flight, self.wanted, self.ready, self.provisioned)
        return load if self.serving else None

    async def apply(self, resource_id: str, to: int, dimension: str) -> None:
        if self.faults:
            raise self.faults.pop(0)
        await self.let_go.wait()
        if dimension == INSTANCES:
            self.wanted = self.ready = to
        else:
            self.provisioned = to

    # -- time ------------------------------------------------------------------------------------------------------
    async def pass_s(self, seconds: float) -> None:
        """Every look of that time, and every minute CloudWatch's own alarms."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s += self.scale.look_s
            self.came += self.per_minute * self.scale.look_s / 60
            if self.now_s % 60 < self.scale.look_s:
                await self.judge()
            await self.look()

    async def look(self) -> None:
        await self.scaler.look()
        for _ in range(5):  # for the changes that were begun
            await asyncio.sleep(0)

    async def judge(self) -> None:
        for alarm in self.alarms.all():
            standing = next_standing(self.registry, alarm, self.now_s)
            if not is_managed(alarm) and standing.state is not alarm.standing.state:
                await self.alarms.enter(alarm.name, standing)


class FakeVariantScaling:
    """The scaler of a fake variant and its boto3 clients; `restart` begins each story."""

    def __init__(self) -> None:
        self.variant = FakeVariantScaler()
        self.scaling, self.cloudwatch = self.variant.clients()
        self.runner = asyncio.Runner()  # one loop, on which changes stay under way from step to step

    def close(self) -> None:
        self.runner.run(self.variant.scaler.close())
        self.runner.close()
        self.variant.database.close()

    def register(self, **members: Any) -> None:
        self.scaling.register_scalable_target(**{**OF, "MinCapacity": 1, "MaxCapacity": 4, **members})

    def track(self, name: str = "track", **configuration: Any) -> str:
        metric = {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}
        known = {"TargetValue": 60.0, "PredefinedMetricSpecification": metric, **configuration}
        return self._put(name, "TargetTrackingScaling", {k: v for k, v in known.items() if v is not None})

    def step(self, name: str = "step", **configuration: Any) -> str:
        up = {"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}
        known = {"AdjustmentType": "ChangeInCapacity", "StepAdjustments": [up], "Cooldown": 60, **configuration}
        return self._put(name, "StepScaling", known)

    def _put(self, name: str, kind: str, configuration: dict[str, Any]) -> str:
        configured = {f"{kind}PolicyConfiguration": configuration}
        answer = self.scaling.put_scaling_policy(**OF, PolicyName=name, PolicyType=kind, **configured)
        return str(answer["PolicyARN"])

    def wake_by(self, policy: str, **members: Any) -> None:
        """AWS's documented way out of zero: an alarm on requests that found no capacity."""
        known = {
            "AlarmName": "nobody-there",
            "Namespace": "AWS/SageMaker",
            "MetricName": "NoCapacityInvocationFailures",
            "Dimensions": [{"Name": "EndpointName", "Value": "ep"}, {"Name": "VariantName", "Value": "v"}],
            "Statistic": "Maximum",
            "Period": 60,
            "EvaluationPeriods": 1,
            "Threshold": 1.0,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "notBreaching",
            "AlarmActions": [policy],
        }
        self.cloudwatch.put_metric_alarm(**{**known, **members})

    def after(self, seconds: float) -> int:
        """Lets this many seconds pass. Returns the number of instances that are wanted then."""
        self.runner.run(self.variant.pass_s(seconds))
        return self.variant.wanted

    def states(self) -> dict[str, str]:
        """Of the alarms that target tracking keeps, by side."""
        found = self.cloudwatch.describe_alarms(AlarmNamePrefix="TargetTracking-")["MetricAlarms"]
        return {alarm["AlarmName"].split("-")[2]: alarm["StateValue"] for alarm in found}

    def activities(self, **members: Any) -> list[dict[str, Any]]:
        """The newest first."""
        found = self.scaling.describe_scaling_activities(ServiceNamespace="sagemaker", **members)
        return list(found["ScalingActivities"])
