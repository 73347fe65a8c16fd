"""Inference components under load, updated, rescaled and moved, while instances, the zygote and the control are killed:
each change ends in new or old."""

import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.helpers.patient_callers import CALLERS, Calls, called, kill, zygotes
from tests.helpers.waiting import soon, until

PACE = "60"
ROLE = "arn:aws:iam::123456789012:role/service-role/role"
SCALE_IN = {"Strategy": "CONSOLIDATION", "CooldownInMinutes": 5}
SCALING = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 4, "ScaleInPolicy": SCALE_IN}
VARIANT = {
    "VariantName": "AllTraffic",
    "InstanceType": "ml.m5.large",
    "InitialInstanceCount": 1,
    "ManagedInstanceScaling": SCALING,
}
COOLDOWN_S = 5.0
ONE = {"EndpointName": "shelf", "InferenceComponentName": "one"}
BATCHES = {"RollingUpdatePolicy": {"MaximumBatchSize": {"Type": "COPY_COUNT", "Value": 1}, "WaitIntervalInSeconds": 60}}


def specification(number: int) -> dict[str, Any]:
    return {
        "Container": {"Image": "torpor", "ArtifactUrl": f"s3://shelf/{number}.tar.gz"},
        "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 3000},
    }


class Shelf:
    """An endpoint whose instances hold two copies each, with one component that changes and answers 1 or 2."""

    def __init__(self, live: LiveEndpoint, seed: int) -> None:
        self.live = live
        self.dice = random.Random(seed)
        self.killed = 0

    def deploy(self) -> None:
        put(self.live.folder("shelf"), {f"{number}.tar.gz": constant(number) for number in (1, 2)})
        self.live.sagemaker.create_endpoint_config(
            EndpointConfigName="shelf", ExecutionRoleArn=ROLE, ProductionVariants=[VARIANT]
        )
        self.live.sagemaker.create_endpoint(EndpointName="shelf", EndpointConfigName="shelf")
        assert self.live.settled("shelf")["EndpointStatus"] == "InService"
        self.live.sagemaker.create_inference_component(
            InferenceComponentName="one",
            EndpointName="shelf",
            Specification=specification(1),
            RuntimeConfig={"CopyCount": 2},
        )
        assert self.settled()["InferenceComponentStatus"] == "InService"

    def settled(self) -> Any:
        def shown() -> Any:
            found = self.live.sagemaker.describe_inference_component(InferenceComponentName="one")
            return None if found["InferenceComponentStatus"] in ("Creating", "Updating") else found

        return until(shown, 180.0, 0.05)

    def change(self, kind: str, victim: str) -> float:
        """Change the component, kill somebody meanwhile, and return the number that it answers at the end."""
        before = self.settled()
        old, copies = number_in(before), before["RuntimeConfig"]["DesiredCopyCount"]
        new = 3 - old
        if kind == "rest":
            new = old
            time.sleep(COOLDOWN_S)  # copies may move to fewer instances now
        elif kind == "copies":
            new, copies = old, self.dice.choice([count for count in (1, 2, 3, 4) if count != copies])
            self.live.sagemaker.update_inference_component_runtime_config(
                InferenceComponentName="one", DesiredRuntimeConfig={"CopyCount": copies}
            )
        else:
            members = {"DeploymentConfig": BATCHES} if kind == "batches" else {}
            self.live.sagemaker.update_inference_component(
                InferenceComponentName="one", Specification=specification(new), **members
            )
        time.sleep(self.dice.uniform(0.0, 2.0))  # any moment will do
        self.killed += kill(self.live, victim, self.dice)
        after = self.settled()
        assert after["InferenceComponentStatus"] == "InService", after
        assert number_in(after) in (old, new)
        assert number_in(after) == new or after["FailureReason"]
        return float(number_in(after))

    def is_whole(self, expected: float) -> bool:
        """Whether ten calls answer this, and all copies are there."""
        told = {number_of(self.live.invoke("shelf", b"1", InferenceComponentName="one")) for _ in range(10)}
        runtime = self.settled()["RuntimeConfig"]
        return told == {expected} and runtime["CurrentCopyCount"] == runtime["DesiredCopyCount"]


def number_in(described: Any) -> int:
    return int(described["Specification"]["Container"]["ArtifactUrl"].rpartition("/")[2].partition(".")[0])


def survive(folder: Path, seed: int, plan: list[tuple[str, str]]) -> None:
    """One change after the other, each with its victim."""
    with LiveEndpoint(folder / "data", "--time-scale", PACE) as live:
        shelf = Shelf(live, seed)
        shelf.deploy()
        with called([live.url], Calls(ONE, (1.0, 2.0))) as seen:
            for number, (kind, victim) in enumerate(plan):
                expected = shelf.change(kind, victim)
                assert soon(partial(shelf.is_whole, expected), 60), (seed, number, kind, victim)
        assert seen.wrong == []
        assert seen.lost == []
        assert seen.answers > 10 * len(plan)
        assert seen.broken <= CALLERS * shelf.killed, "more than the requests in the killed copies"
        live.sagemaker.delete_inference_component(InferenceComponentName="one")
        assert soon(lambda: not live.sagemaker.list_inference_components()["InferenceComponents"], 60)
        assert soon(lambda: not zygotes(live), 60)


@pytest.mark.thorough
def test_changes_of_a_component_end_in_new_or_old_whoever_is_killed(tmp_path: Path) -> None:
    survive(tmp_path, seed=1, plan=[("batches", "instance"), ("model", "control")])


@pytest.mark.thorough
def test_two_hundred_changes_of_a_component_end_in_new_or_old_whoever_is_killed(tmp_path: Path) -> None:
    seed = 200
    dice = random.Random(seed)
    kinds, victims = ["batches", "model", "copies", "copies", "rest"], ["instance", "zygote", "control"]
    survive(tmp_path, seed, [(dice.choice(kinds), dice.choice(victims)) for _ in range(200)])
