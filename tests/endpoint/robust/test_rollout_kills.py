"""Rollouts under load while instances, the zygote, the control and a router are killed: each ends in new or old."""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, many
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.processes import children, gone, serving
from tests.helpers.waiting import soon

CALLERS = 3
TRIES = 2_400
"""A control that was killed takes a while to come back, on a busy machine."""
INSTANCES = 2
VERSIONS = {"v1": 1.0, "v2": 2.0}
ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=90)
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


@dataclass
class Calls:
    """What callers got. A call that was cut or refused for now is made again, as boto3 does; it is lost if no answer
    comes."""

    answers: int = 0
    wrong: list[float] = field(default_factory=list)
    broken: int = 0  # answered by an instance that was killed meanwhile
    lost: list[str] = field(default_factory=list)

    def call(self, clients: list[Any], place: int) -> None:
        again = ""
        for turn in range(TRIES):
            try:
                said = clients[(place + turn) % len(clients)].invoke_endpoint(
                    EndpointName="shop", TargetModel="m.tar", ContentType="text/csv", Body=b"1"
                )
                number = number_of({"Body": said["Body"].read()})
            except (ConnectionError, HTTPClientError) as error:
                again = str(error)
            except ClientError as error:
                if error.response["Error"]["Code"] == "ModelError":
                    self.broken += 1
                    return
                again = str(error)
            else:
                self.answers += 1
                self.wrong += [number] * (number not in VERSIONS.values())
                return
            time.sleep(0.05)
        self.lost.append(again)


@contextmanager
def called(urls: list[str]) -> Iterator[Calls]:
    """Callers of one model, at all of these ports in turn."""
    seen, over = Calls(), threading.Event()
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}

    def caller(place: int) -> None:
        clients = [boto3.client("sagemaker-runtime", REGION, endpoint_url=url, config=ONCE, **keys) for url in urls]
        while not over.is_set():
            place += 1
            seen.call(clients, place)

    threads = [threading.Thread(target=caller, args=(place,)) for place in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join(180.0)


class Shop:
    """A control, and a router beside it."""

    def __init__(self, folder: Path, live: LiveEndpoint, seed: int) -> None:
        self.live = live
        self.dice = random.Random(seed)
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
        match victim:
            case "instance":
                instances = [pid for parent in self._zygotes() for pid in serving(parent)]
                if instances:
                    self._end(self.dice.choice(instances))
            case "zygote":
                for pid in self._zygotes():
                    self._end(pid)
            case "control":
                self.live.kill()
                self.live.start()
            case "router":
                port = self.router.url.rpartition(":")[2]
                self.router.kill()
                log = self._folder / f"router-{self.dice.random()}.log"
                self.router = LiveRouter(self.live.url, log, {}, "--port", port)

    def _zygotes(self) -> list[int]:
        return [pid for worker in self.live.worker_pids() for pid in children(worker) if serving(pid)]

    def _end(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert gone(pid, 60)


def survive(folder: Path, seed: int, plan: list[str]) -> None:
    """One rollout after the other, each with its victim; each fourth one meets an alarm."""
    with LiveEndpoint(folder / "data", "--time-scale", PACE) as live:
        shop = Shop(folder, live, seed)
        try:
            shop.deploy()
            with called([live.url, shop.router.url]) as seen:
                for number, victim in enumerate(plan):
                    expected = {VERSIONS[shop.rollout(number, victim, alarm=number % 4 == 3)]}
                    assert soon(partial(shop.answer, expected), 60), (seed, number)
            assert seen.wrong == []
            assert seen.lost == []
            assert seen.answers > 10 * len(plan)
            assert seen.broken <= CALLERS * len(plan), "more than the requests in a killed instance"
            live.sagemaker.delete_endpoint(EndpointName="shop")
            assert soon(lambda: not shop._zygotes(), 60)
        finally:
            shop.router.stop()


def test_rollouts_end_in_new_or_old_whoever_is_killed(tmp_path: Path) -> None:
    survive(tmp_path, seed=1, plan=["instance", "control"])


@pytest.mark.thorough
def test_forty_rollouts_end_in_new_or_old_whoever_is_killed(tmp_path: Path) -> None:
    seed = 40
    dice = random.Random(seed)
    survive(tmp_path, seed, [dice.choice(["instance", "zygote", "control", "router"]) for _ in range(40)])
