"""Terraform with the AWS provider: the configuration in `examples/terraform`, applied, changed and destroyed.

Terraform itself and its provider (some 600 MB) must be there: TF_CLI_CONFIG_FILE may name a mirror that has it.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.clients.helpers.wiring import only_if_asked, variables
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed

pytestmark = only_if_asked("terraform", "make clients-terraform")

EXAMPLE = Path(__file__).parents[2] / "examples" / "terraform"
NOTHING_TO_DO, SOMETHING_TO_DO = 0, 2
"""`plan -detailed-exitcode`."""

Terraform = Callable[..., int]


@pytest.fixture
def terraform(live: LiveEndpoint, tmp_path: Path) -> Iterator[Terraform]:
    """Run one command in a copy of the example; answer its exit code."""
    shutil.copy(EXAMPLE / "main.tf", tmp_path)
    artifact = tmp_path / "house.tar.gz"
    artifact.write_bytes(packed({"model.json": booster()}))

    def run(command: str, **given: object) -> int:
        named = {"artifact": artifact, **given} if command != "init" else {}
        values = [f"-var={name}={value}" for name, value in named.items()]
        words = ["terraform", *command.split(), "-no-color", "-input=false", *values]
        return subprocess.run(words, cwd=tmp_path, env=variables(live), timeout=300, check=False).returncode

    assert run("init") == 0
    yield run
    run("destroy -auto-approve")


def answers(live: LiveEndpoint, endpoint: str) -> bool:
    answer = live.invoke(endpoint, ROW, TargetModel="house.tar.gz")
    return bool(answer["ResponseMetadata"]["HTTPStatusCode"] == 200)


def test_apply_then_nothing_to_do_then_an_update_then_destroy(live: LiveEndpoint, terraform: Terraform) -> None:
    assert terraform("apply -auto-approve") == 0
    assert answers(live, "terraform-serverless")
    assert answers(live, "terraform-instances")
    assert terraform("plan -detailed-exitcode") == NOTHING_TO_DO
    assert terraform("plan -detailed-exitcode", instances=2) == SOMETHING_TO_DO
    assert terraform("apply -auto-approve", instances=2) == 0
    assert terraform("plan -detailed-exitcode", instances=2) == NOTHING_TO_DO
    (variant,) = live.sagemaker.describe_endpoint(EndpointName="terraform-instances")["ProductionVariants"]
    assert variant["CurrentInstanceCount"] == 2
    assert terraform("destroy -auto-approve", instances=2) == 0
    for name in ("terraform-serverless", "terraform-instances"):
        with pytest.raises(ClientError, match="Could not find endpoint"):
            live.sagemaker.describe_endpoint(EndpointName=name)
    assert not (live.data_dir / "s3" / "terraform-models").exists()
