"""The keeper in front of containers that find the model in the body: llama.cpp's router mode, and llama-swap."""

import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.container.helpers.contract_platform import Answer, Platform
from torpor_container import wire
from torpor_container.core.protocols.protocol_types import OPENAI, OPERATION
from torpor_container.image.server_command import LLAMA_SERVER, LLAMA_SWAP
from torpor_container.processes.zygote_client import ZygoteClient

PROGRAM = Path(__file__).parent.parent / "helpers" / "body_router_container.py"
FILES = {"good.tar.gz": "good", "other.tgz": "other", "broken.tar.gz": "broken"}


def ended() -> None:
    raise AssertionError("the container ended")


@pytest.fixture(params=[LLAMA_SERVER, LLAMA_SWAP])
def platform(request: pytest.FixtureRequest, tmp_path: Path, zygote: ZygoteClient) -> Iterator[Platform]:
    models = tmp_path / "artifacts"
    models.mkdir()
    for name, says in FILES.items():
        (tmp_path / "weights.gguf").write_text(says)
        with tarfile.open(models / name, "w:gz") as archive:
            archive.add(tmp_path / "weights.gguf", "weights.gguf")
    (tmp_path / "readme").write_text("nothing to load")
    with tarfile.open(models / "empty.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "readme", "readme")
    command = {
        "command": [sys.executable, str(PROGRAM), "{port}", "{models_dir}", request.param],
        "ready": ["/health"],
        "protocol": request.param,
    }
    wiring = {"TORPOR_CONTAINER": json.dumps(command), "TORPOR_MODEL_SOURCE": f"file://{models}"}
    with Platform(tmp_path / "base", ended, **wiring, TORPOR_WARM_PARENT=str(zygote.path)) as found:
        yield found


def call(platform: Platform, target: str, kind: str = "application/json") -> Answer:
    body = json.dumps({"model": target.split(".")[0], "messages": []}).encode()
    return platform.request("POST", "/invocations", body, {wire.TARGET_MODEL: target, "Content-Type": kind})


def resident(platform: Platform) -> set[str]:
    return {model["modelName"] for model in platform.get("/models").json()["models"]}


def test_models_are_loaded_by_the_containers_calls_asked_by_their_body_and_unloaded(platform: Platform) -> None:
    answer = call(platform, "good.tar.gz")
    assert (answer.status, answer.json()) == (200, {"path": "/v1/chat/completions", "model": "good", "says": "good"})
    answer = call(platform, "other.tgz", f"{OPENAI};{OPERATION}=embeddings")
    assert answer.json() == {"path": "/v1/embeddings", "model": "other", "says": "other"}
    assert resident(platform) == {"good.tar.gz", "other.tgz"}
    assert platform.request("POST", wire.MEMORY, b'{"budget_bytes": 1000000}').status == 200
    assert resident(platform) == set()
    assert call(platform, "good.tar.gz").status == 507  # nothing has room any more
    assert call(platform, "good.tar.gz", "text/csv").status in (415, 507)


def test_a_model_that_does_not_start_says_what_the_container_said(platform: Platform) -> None:
    said = {
        answer.json()["message"] for target in ("broken.tar.gz", "empty.tar.gz") if (answer := call(platform, target))
    }
    known = ("ended with 7", "model not found", "the container answered the load with 502")
    assert all(any(part in text for part in known) for text in said), said
    assert resident(platform) == set()
    answer = call(platform, "good.tar.gz", "text/csv")
    assert (answer.status, "takes the JSON of OpenAI's API, and not text/csv" in answer.body.decode()) == (415, True)
