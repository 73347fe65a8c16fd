"""Rollouts under load while instances, the zygote, the control and a router are killed: each ends in new or old."""

import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.helpers.patient_callers import CALLERS, Calls, called, kill, zygotes
from tests.helpers.waiting import soon

INSTANCES = 2
VERSIONS = {"v1": 1.0, "v2": 2.0}
MODEL = {"EndpointName": "shop", "TargetModel": "m.tar"}
PACE = "60"
SIZED = {"InstanceType": "ml.m5.large", "InitialInstanceCount": INSTANCES}
HALF = {"Type": "CAPACITY_PERCENT", "Value": 50}
BLUE_GREEN = {"TerminationWaitInSeconds": 60}
ROLLBACK = {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "stop"}]}}


def blue_green(kind: str, **size: Any) -> dict[str, Any]:
    traffic = {"Type": kind, "WaitIntervalInSeconds": 60, **size}
    return {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": traffic, **BLUE_GREEN}, **ROLLBACK}


DEPLOYMENTS = (
    blue_green("CANARY", CanarySize=HALF),
    {"RollingUpdatePolicy": {"MaximumBatchSize": HALF, "WaitIntervalInSeconds": 60}, **ROLLBACK},
    blue_green("LINEAR", LinearStepSize=HALF),
    blue_green("ALL_AT_ONCE"),
)


class Shop:
    """A control, and a router beside it."""

    def __init__(self, folder: Path, live: LiveEndpoint, seed: int) -> None:
        self.live = live
        self.dice = random.Random(seed)
        self.killed = 0
        self._folder = folder
        self.router = LiveRouter(live.url, folder / "router.log")
        self.current = "v1"

    def deploy(self) -> None:
        for version, number in VERSIONS.items():
            put(self.live.folder("shop"), {f"{version}/m.tar": constant(number)})
        self.live.deploy("shop", Variant(many("shop/v1"), members=SIZED))
        for version in VERSIONS:
            self.live.sagemaker.create_model(ModelName=version, **Variant(many(f"shop/{version}")).model())
            production = Variant(many(f"shop/{version}"), members=SIZED).production(version)
            self.live.sagemaker.create_endpoint_config(EndpointConfigName=version, ProductionVariants=[production])
        self.live.cloudwatch.put_metric_alarm(
            AlarmName="stop",
            Namespace="Shop",
            MetricName="Complaints",
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1.0,
            ComparisonOperator="GreaterThanThreshold",
            TreatMissingData="ignore",
        )

    def rollout(self, number: int, victim: str, *, alarm: bool) -> str:
        """The version that the rollout ended in."""
        self._alarm("OK")
        new = "v2" if self.current == "v1" else "v1"
        self.live.sagemaker.update_endpoint(
            EndpointName="shop", EndpointConfigName=new, DeploymentConfig=DEPLOYMENTS[number % len(DEPLOYMENTS)]
        )
        time.sleep(self.dice.uniform(0.0, 2.0))  # any moment will do
        self._kill(victim)
        if alarm:
            self._alarm("ALARM")
        ended = self.live.settled("shop")
        assert ended["EndpointStatus"] == "InService", ended
        assert "PendingDeploymentSummary" not in ended
        name = str(ended["EndpointConfigName"])
        version = self.current if name == "shop" else name
        assert version in (self.current, new)
        self.current = version
        return version

    def answer(self, expected: set[float]) -> bool:
        """Whether ten calls answer this now."""
        return {number_of(self.live.invoke("shop", b"1", TargetModel="m.tar")) for _ in range(10)} == expected

    def _alarm(self, state: str) -> None:
        self.live.cloudwatch.set_alarm_state(AlarmName="stop", StateValue=state, StateReason="the test says so")

    def _kill(self, victim: str) -> None:
        if victim == "router":
            port = self.router.url.rpartition(":")[2]
            self.router.kill()
            log = self._folder / f"router-{self.dice.random()}.log"
            self.router = LiveRouter(self.live.url, log, {}, "--port", port)
        else:
            self.killed += kill(self.live, victim, self.dice)


def survive(folder: Path, seed: int, plan: list[str]) -> None:
    """One rollout after the other, each with its victim; each fourth one meets an alarm."""
    with LiveEndpoint(folder / "data", "--time-scale", PACE) as live:
        shop = Shop(folder, live, seed)
        try:
            shop.deploy()
            with called([live.url, shop.router.url], Calls(MODEL, VERSIONS.values())) as seen:
                for number, victim in enumerate(plan):
                    expected = {VERSIONS[shop.rollout(number, victim, alarm=number % 4 == 3)]}
                    assert soon(partial(shop.answer, expected), 60), (seed, number)
            assert seen.wrong == []
            assert seen.lost == []
            assert seen.answers > 10 * len(plan)
            assert seen.broken <= CALLERS * shop.killed, "more than the requests in the killed instances"
            live.sagemaker.delete_endpoint(EndpointName="shop")
            assert soon(lambda: not zygotes(live), 60)
        finally:
            shop.router.stop()


@pytest.mark.thorough
def test_rollouts_end_in_new_or_old_whoever_is_killed(tmp_path: Path) -> None:
    survive(tmp_path, seed=1, plan=["instance", "control"])


@pytest.mark.thorough
def test_forty_rollouts_end_in_new_or_old_whoever_is_killed(tmp_path: Path) -> None:
    seed = 40
    dice = random.Random(seed)
    survive(tmp_path, seed, [dice.choice(["instance", "zygote", "control", "router"]) for _ in range(40)])
