"""The keeper in front of a container that loads its models by the Open Inference Protocol's repository."""

import json
import struct
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.container.helpers import repository_container
from tests.container.helpers.contract_platform import Answer, Platform
from torpor_container import wire
from torpor_container.adapter.linked_models import repository_name
from torpor_container.core.protocols.protocol_types import METADATA, TENSORS
from torpor_container.errors import LoadFailed
from torpor_container.image.server_command import ServerCommand
from torpor_container.processes.zygote_client import ZygoteClient

TENSOR = {"name": "x", "shape": [2], "datatype": "FP32"}
IN_JSON = json.dumps({"inputs": [{**TENSOR, "data": [1.0, 2.0]}]}).encode()
COMMAND = {
    "command": [sys.executable, repository_container.__file__, "{port}", "{models_dir}"],
    "ready": ["/v2/health/ready"],
    "protocol": "open-inference",
}


def ended() -> None:
    raise AssertionError("the container ended")


@pytest.fixture
def platform(tmp_path: Path, zygote: ZygoteClient) -> Iterator[Platform]:
    models = tmp_path / "artifacts"
    models.mkdir()
    for name, file in (("ten.tar.gz", "weights"), ("five.tgz", "weights"), ("empty.tar.gz", "other")):
        (tmp_path / file).write_text("10" if name.startswith("ten") else "5")
        with tarfile.open(models / name, "w:gz") as archive:
            archive.add(tmp_path / file, file)
    wiring = {"TORPOR_CONTAINER": json.dumps(COMMAND), "TORPOR_MODEL_SOURCE": f"file://{models}"}
    with Platform(tmp_path / "base", ended, **wiring, TORPOR_WARM_PARENT=str(zygote.path)) as found:
        yield found


def call(platform: Platform, target: str, kind: str, body: bytes = b"") -> Answer:
    return platform.request("POST", "/invocations", body, {wire.TARGET_MODEL: target, "Content-Type": kind})


def resident(platform: Platform) -> set[str]:
    return {model["modelName"] for model in platform.get("/models").json()["models"]}


def test_models_are_loaded_called_and_unloaded_by_the_containers_own_repository(platform: Platform) -> None:
    answer = call(platform, "ten.tar.gz", TENSORS, IN_JSON)
    assert (answer.status, answer.json()["outputs"][0]["data"], answer.headers["content-type"]) == (
        200,
        [13.0],
        TENSORS,
    )
    head = json.dumps({"inputs": [{**TENSOR, "parameters": {"binary_data_size": 8}}]}).encode()
    body = head + struct.pack("<2f", 1, 2)
    answer = call(platform, "five.tgz", f"{TENSORS};json-header-size={len(head)}", body)
    size = int(answer.headers["content-type"].removeprefix(f"{TENSORS};json-header-size="))
    assert struct.unpack("<f", answer.body[size:]) == (8.0,)
    assert call(platform, "ten.tar.gz", METADATA).json()["platform"] == "stand-in"
    assert call(platform, "ten.tar.gz", "application/json", IN_JSON).json()["model_name"] == "ten"
    assert resident(platform) == {"ten.tar.gz", "five.tgz"}
    assert platform.request("POST", wire.MEMORY, b'{"budget_bytes": 1000000}').status == 200
    assert resident(platform) == set()


def test_a_refusal_says_what_the_container_said(platform: Platform) -> None:
    answer = call(platform, "empty.tar.gz", TENSORS, IN_JSON)
    assert "the container answered the load with 400" in answer.json()["message"]
    assert call(platform, "ten.tar.gz", "text/csv", b"1,2").status == 415


def test_a_target_is_the_name_of_a_folder() -> None:
    assert [repository_name(one) for one in ("a.tar.gz", "b.tgz", "c")] == ["a", "b", "c"]
    for target in ("a/b.tar.gz", "..", ".tar.gz"):
        with pytest.raises(LoadFailed, match="side by side in one folder"):
            repository_name(target)


def test_another_protocol_is_refused_by_its_member() -> None:
    with pytest.raises(ValueError, match="protocol must be one of sagemaker, open-inference, llama-server, llama-swap"):
        ServerCommand.read(json.dumps({**COMMAND, "protocol": "grpc"}))
