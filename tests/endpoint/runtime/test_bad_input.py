"""Bad input gets its own clear error, and a good model on the same instance answers at once, still loaded and right."""

import json
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import COLUMNS, ROW, booster, packed, predicted, put, script
from tests.endpoint.services.helpers.runtime_answers import code_and_status, refusal, steps_of

MIB = 1024 * 1024

ACTING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    {act}
"""
ACTS = {
    "exits": "import os; os._exit(3)",
    "leaves": "raise SystemExit(3)",
    "eats": "eaten = [bytearray(8 << 20) for _ in range(10_000)]",
    "prints": "print('x' * 100_000); raise ValueError('loud')",
    "answers-nothing": "return None",
    "answers-too-much": "return b'x' * (65 << 20), 'text/plain'",
    "smuggles": "return 'ok', 'text/plain\\r\\nX-Torpor-Fault: no-room'",
}


class Leaver:
    """A pickle of it calls `sys.exit` as it loads."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return sys.exit, (3,)


ARTIFACTS = {
    "leaver.pkl": pickle.dumps(Leaver()),
    "good.json": booster(),
    "truncated.tar.gz": packed({"model.json": booster()})[:-200],
    "escaping.tar.gz": packed({"../../../good.json": b"{}"}),
    "absolute.tar.gz": packed({"/tmp/model.json": b"{}"}),
    "bomb.tar.gz": packed({"model.json": bytes(40 * MIB)}),
    "crowd.tar.gz": packed({f"{number}.txt": b"" for number in range(200)}),
    "empty.tar.gz": b"",
    "torn.json": booster()[:500],
    **{f"{name}.tar.gz": script(ACTING.format(act=act)) for name, act in ACTS.items()},
    "exits-at-load.tar.gz": script("import os; os._exit(3)"),
    "eats-at-load.tar.gz": script("eaten = [bytearray(8 << 20) for _ in range(10_000)]"),
    "no-python.tar.gz": script("def model_fn(:"),
}
SETTINGS = {
    "TORPOR_MEMORY_MIB": "250",
    "TORPOR_UNPACK_MAX_ENTRIES": "100",
}


@dataclass(frozen=True)
class Bad:
    """One bad input: the called model, the request, and a part of the expected error."""

    target: str
    code: str
    says: str
    status: int | None = None  # OriginalStatusCode
    body: bytes = ROW
    content_type: str = "text/csv"


BAD = (
    Bad("good.json", "ModelError", "Input data contains `inf`", 400, b"inf,1,2,3\n1,2,3,4"),
    Bad("leaver.pkl", "ModelError", "SystemExit", 500),
    Bad("truncated.tar.gz", "ValidationError", "truncated"),
    Bad("escaping.tar.gz", "ValidationError", "leads out of the archive"),
    Bad("absolute.tar.gz", "ValidationError", "cannot be used"),
    Bad("bomb.tar.gz", "ValidationError", "it expands more than 200 times"),
    Bad("crowd.tar.gz", "ValidationError", "100"),
    Bad("empty.tar.gz", "ValidationError", "it is empty"),
    Bad("a/../../b.tar.gz", "ValidationError", "'..' segment"),
    Bad("good.json/", "ValidationError", "key: good.json/)"),
    Bad("torn.json", "ModelError", "torn.json is not a model that XGBoost can read", 500),
    Bad("exits.tar.gz", "ModelError", "exit code 3", 500),
    Bad("leaves.tar.gz", "ModelError", "exit code 3", 500),
    Bad("eats.tar.gz", "ModelError", "ran out of memory", 507),
    Bad("prints.tar.gz", "ModelError", "loud", 500),
    Bad("answers-too-much.tar.gz", "ModelError", "could not get a response from the Rough endpoint", 0),
    Bad("smuggles.tar.gz", "ModelError", "the script's content type cannot be sent as a header", 500),
    Bad("exits-at-load.tar.gz", "ModelError", "exit code 3", 500),
    Bad("eats-at-load.tar.gz", "ModelError", "ran out of memory", 507),
    Bad("no-python.tar.gz", "ModelError", "inference.py", 500),
    Bad("good.json", "ModelError", f"takes {COLUMNS} columns, and the rows have 2", 400, b"1,2"),
    Bad("good.json", "ModelError", "the request body is empty", 400, b""),
    Bad("good.json", "ModelError", "'house' is not a number", 400, b"1,2,3,house"),
    Bad("good.json", "ModelError", "", 400, b"\xff\xfe\x00"),
    Bad("good.json", "ModelError", "", 400, b'{"instances": [[1, 2', "application/json"),
    Bad("good.json", "ModelError", "", 400, b"\x93NUMPY", "application/x-npy"),
    Bad("good.json", "ModelError", "not an .npy array", 400, b"\x93NUMPY\x01\x00\x07\x00{[]: 1}", "application/x-npy"),
    Bad("good.json", "ModelError", "text/csv, text/libsvm, application/json", 415, b"\x89PNG", "image/png"),
)


@pytest.fixture(scope="module")
def rough(live: LiveEndpoint) -> str:
    put(live.folder("rough"), ARTIFACTS)
    return live.deploy("Rough", Variant(many("rough", SETTINGS)))


@pytest.fixture(autouse=True)
def _the_good_model_answers_at_once(live: LiveEndpoint, rough: str) -> Iterator[None]:
    assert right(live.invoke(rough, ROW, TargetModel="good.json"))
    yield
    answer = live.invoke(rough, ROW, TargetModel="good.json")
    assert right(answer)
    waited = steps_of(answer).keys() - {"predict", "overhead"}
    assert waited <= {"hold"}  # for a ping at most, after an answer that broke off: nothing started or loaded again


def right(answer: Any) -> bool:
    return bool(json.loads(answer["Body"]) == [pytest.approx(predicted())])


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.target}-{bad.body[:5].hex()}")
def test_a_bad_input_gets_its_error(live: LiveEndpoint, rough: str, bad: Bad) -> None:
    response = refusal(lambda: live.invoke(rough, bad.body, bad.content_type, TargetModel=bad.target))
    assert response["Error"]["Code"] == bad.code
    assert bad.says in response["Error"]["Message"]
    assert response.get("OriginalStatusCode") == bad.status


@pytest.mark.parametrize("body", [b"nan,nan,nan,nan", b",,,", b"nan,1,2,3\n1,2,3,4"])
def test_a_missing_value_is_no_error(live: LiveEndpoint, rough: str, body: bytes) -> None:
    answers = json.loads(live.invoke(rough, body, TargetModel="good.json")["Body"])
    assert len(answers) == len(body.splitlines())


def test_an_answer_that_is_nothing_is_an_answer(live: LiveEndpoint, rough: str) -> None:
    assert live.invoke(rough, ROW, TargetModel="answers-nothing.tar.gz")["Body"] in (b"null", b"")


def test_the_largest_body_is_taken(live: LiveEndpoint, rough: str) -> None:
    padded = b" " * (6 * MIB - len(ROW)) + ROW
    assert right(live.invoke(rough, padded, TargetModel="good.json"))


def test_nothing_escaped_from_an_archive(live: LiveEndpoint, rough: str) -> None:
    refusal(lambda: live.invoke(rough, ROW, TargetModel="escaping.tar.gz"))
    disk = live.data_dir / "instances" / "rough"
    assert not [path for path in disk.rglob("good.json") if path.read_bytes() == b"{}"]


def test_a_disk_that_is_too_small_is_no_room(live: LiveEndpoint, rough: str) -> None:
    live.deploy("Narrow", Variant(many("rough", {"TORPOR_DISK_MIB": "0.001"})))
    response = refusal(lambda: live.invoke("Narrow", ROW, TargetModel="good.json"))
    assert (response["Error"]["Code"], response["OriginalStatusCode"]) == ("ModelError", 507)


@pytest.fixture
def small_disk(live: LiveEndpoint) -> Iterator[Path]:
    """A file system of one MiB where the instance of `Full` has its disk."""
    folder = live.data_dir / "instances" / "full"
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    live.sagemaker.delete_endpoint(EndpointName="Full")
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_disk_that_is_really_full_is_the_machines_fault_and_not_the_models(
    live: LiveEndpoint, rough: str, small_disk: Path
) -> None:
    noise = random.Random(7).randbytes(3 * MIB)
    put(live.folder("rough"), {"large.tar.gz": packed({"model.json": booster(), "noise": noise})})
    live.deploy("Full", Variant(many("rough")))
    response = refusal(lambda: live.invoke("Full", ROW, TargetModel="large.tar.gz"))
    assert code_and_status(response) == ("InternalDependencyException", 530)
    assert "No space left" in response["Error"]["Message"]
    assert right(live.invoke("Full", ROW, TargetModel="good.json"))


def test_an_unreachable_s3_is_a_failed_dependency(tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = LiveEndpoint(tmp_path_factory.mktemp("elsewhere"), "--s3-endpoint", "http://127.0.0.1:9")
    with elsewhere as live:
        live.deploy("Remote", Variant(many("bucket/models")))
        response = refusal(lambda: live.invoke("Remote", ROW, TargetModel="good.json"))
    assert code_and_status(response) == ("InternalDependencyException", 530)
    assert "Please check the S3 endpoint" in response["Error"]["Message"]
