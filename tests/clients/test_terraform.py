"""Terraform with the AWS provider: the configuration in `examples/terraform`, applied, changed and destroyed; endpoints
that are updated step by step, by `terraform/rollouts.tf`; and a group of model packages, by `terraform/registry.tf`.

Terraform itself and its provider (some 600 MB) must be there: TF_CLI_CONFIG_FILE may name a mirror that has it.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.clients.helpers.wiring import only_if_asked, variables
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed

pytestmark = only_if_asked("terraform", "make clients-terraform")

EXAMPLE = Path(__file__).parents[2] / "examples" / "terraform" / "main.tf"
ROLLOUTS = Path(__file__).parent / "terraform" / "rollouts.tf"
REGISTRY = ROLLOUTS.with_name("registry.tf")
NOTHING_TO_DO, SOMETHING_TO_DO = 0, 2
"""`plan -detailed-exitcode`."""

Terraform = Callable[..., int]


@contextmanager
def terraform(live: LiveEndpoint, configuration: Path, folder: Path, **given: object) -> Iterator[Terraform]:
    """Run one command in a copy of the configuration, with these variables and its own; answer its exit code."""
    shutil.copy(configuration, folder)
    artifact = folder / "house.tar.gz"
    artifact.write_bytes(packed({"model.json": booster()}))

    def run(command: str, **more: object) -> int:
        named = {"artifact": artifact, **given, **more} if command != "init" else {}
        values = [f"-var={name}={value}" for name, value in named.items()]
        words = ["terraform", *command.split(), "-no-color", "-input=false", *values]
        return subprocess.run(words, cwd=folder, env=variables(live), timeout=300, check=False).returncode

    assert run("init") == 0
    try:
        yield run
    finally:
        run("destroy -auto-approve")


def answers(live: LiveEndpoint, endpoint: str) -> bool:
    answer = live.invoke(endpoint, ROW, TargetModel="house.tar.gz")
    return bool(answer["ResponseMetadata"]["HTTPStatusCode"] == 200)


def test_apply_then_nothing_to_do_then_an_update_then_destroy(live: LiveEndpoint, tmp_path: Path) -> None:
    with terraform(live, EXAMPLE, tmp_path, bake_s=1) as run:
        assert run("apply -auto-approve") == 0
        assert answers(live, "terraform-serverless")
        assert answers(live, "terraform-instances")
        assert run("plan -detailed-exitcode") == NOTHING_TO_DO
        assert run("plan -detailed-exitcode", instances=2) == SOMETHING_TO_DO
        assert run("apply -auto-approve", instances=2) == 0
        assert run("plan -detailed-exitcode", instances=2) == NOTHING_TO_DO
        shown = live.sagemaker.describe_endpoint(EndpointName="terraform-instances")
        assert shown["ProductionVariants"][0]["CurrentInstanceCount"] == 2
        assert policy(shown) == "CANARY"
        assert run("destroy -auto-approve", instances=2) == 0
    for name in ("terraform-serverless", "terraform-instances"):
        with pytest.raises(ClientError, match="Could not find endpoint"):
            live.sagemaker.describe_endpoint(EndpointName=name)
    assert not (live.data_dir / "s3" / "terraform-models").exists()


def test_a_group_of_model_packages_with_its_policy(live: LiveEndpoint, tmp_path: Path) -> None:
    name = "terraform-houses"
    with terraform(live, REGISTRY, tmp_path) as run:
        assert run("apply -auto-approve") == 0
        assert run("plan -detailed-exitcode") == NOTHING_TO_DO
        assert run("apply -auto-approve", team="other") == 0
        assert run("plan -detailed-exitcode", team="other") == NOTHING_TO_DO
        shown = live.sagemaker.describe_model_package_group(ModelPackageGroupName=name)
        tags = live.sagemaker.list_tags(ResourceArn=shown["ModelPackageGroupArn"])["Tags"]
        assert {"Key": "team", "Value": "other"} in tags
        assert "Reads" in live.sagemaker.get_model_package_group_policy(ModelPackageGroupName=name)["ResourcePolicy"]
        assert run("destroy -auto-approve", team="other") == 0
    assert live.sagemaker.list_model_package_groups()["ModelPackageGroupSummaryList"] == []


def test_updates_by_steps_and_by_batches_and_their_rollback(live: LiveEndpoint, tmp_path: Path) -> None:
    with terraform(live, ROLLOUTS, tmp_path) as run:
        assert run("apply -auto-approve") == 0
        assert run("plan -detailed-exitcode") == NOTHING_TO_DO
        assert run("apply -auto-approve", edition=2) == 0
        assert run("plan -detailed-exitcode", edition=2) == NOTHING_TO_DO
        second = {name: live.sagemaker.describe_endpoint(EndpointName=f"terraform-{name}") for name in POLICIES}
        assert {name: policy(shown) for name, shown in second.items()} == POLICIES
        for name in POLICIES:
            live.cloudwatch.set_alarm_state(
                AlarmName=f"terraform-{name}-errors", StateValue="ALARM", StateReason="to see what happens"
            )
        run("apply -auto-approve", edition=3)  # it fails if the provider looks while the endpoint is RollingBack
        for name in POLICIES:
            shown = live.settled(f"terraform-{name}")
            assert shown["EndpointConfigName"] == second[name]["EndpointConfigName"]
            assert f"terraform-{name}-errors" in shown["FailureReason"]
        assert run("plan -detailed-exitcode", edition=3) == SOMETHING_TO_DO
        assert run("destroy -auto-approve", edition=3) == 0


POLICIES = {"linear": "LINEAR", "rolling": "RollingUpdatePolicy"}


def policy(shown: dict[str, object]) -> str:
    """How an endpoint was updated last: the type of its traffic routing, or the name of another policy."""
    deployed = shown["LastDeploymentConfig"]
    assert isinstance(deployed, dict)
    if "BlueGreenUpdatePolicy" not in deployed:
        return next(str(name) for name in deployed if str(name).endswith("Policy"))
    return str(deployed["BlueGreenUpdatePolicy"]["TrafficRoutingConfiguration"]["Type"])
