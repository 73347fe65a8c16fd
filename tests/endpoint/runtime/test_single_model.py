"""Single-model endpoints: one artifact behind `InvokeEndpoint`, and the reason of an endpoint that cannot serve."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put, script
from tests.endpoint.services.helpers.runtime_answers import refusal

FICKLE = """
import os, time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    if str(body) == "leave":
        os._exit(3)
    if str(body) == "hang":
        time.sleep(600)
    return "here", "text/plain"
"""
SLOW_TO_LOAD = "import time; time.sleep(600)"
PING_SENTENCE = (
    "The primary container for production variant AllTraffic did not pass the ping health check. "
    "Please check CloudWatch logs for this endpoint."
)


@pytest.fixture(scope="module")
def bucket(live: LiveEndpoint) -> str:
    objects = {
        "model.tar.gz": packed({"xgboost-model": booster()}),
        "fickle.tar.gz": script(FICKLE),
        "torn.tar.gz": packed({"model.json": booster()})[:-100],
        "strange.tar.gz": packed({"notes.txt": b"no model"}),
        "raising.tar.gz": script("raise RuntimeError('the weights are not here')"),
        "slow.tar.gz": script(SLOW_TO_LOAD),
    }
    put(live.folder("single"), objects)
    return "single"


@pytest.mark.parametrize("mode", [{}, {"Mode": "SingleModel"}], ids=["no mode", "SingleModel"])
def test_a_single_model_endpoint_answers(live: LiveEndpoint, bucket: str, mode: dict[str, Any]) -> None:
    name = live.deploy(f"Single{len(mode)}", Variant(one(f"{bucket}/model.tar.gz", **mode)))
    answer = live.invoke(name, ROW, Accept="application/json")
    assert predicted() == pytest.approx(float(str(_first(answer["Body"]))))
    assert answer["InvokedProductionVariant"] == "AllTraffic"


def _first(body: bytes) -> Any:
    """The first prediction, in the toolkit's form or in that of SageMaker's XGBoost container."""
    document = json.loads(body)
    rows = document["predictions"] if isinstance(document, dict) else document
    return rows[0]["score"] if isinstance(rows[0], dict) else rows[0]


def test_a_script_that_exits_or_hangs_is_started_again(live: LiveEndpoint, bucket: str) -> None:
    live.deploy("Fickle", Variant(one(f"{bucket}/fickle.tar.gz", {"TORPOR_INVOCATION_TIMEOUT_SECONDS": "1"})))
    for bad, status in (("leave", 500), ("hang", 0)):
        response = refusal(lambda bad=bad: live.invoke("Fickle", bad.encode()))  # type: ignore[misc]
        assert (response["Error"]["Code"], response["OriginalStatusCode"]) == ("ModelError", status)
        assert live.invoke("Fickle", b"stay")["Body"] == b"here"


@dataclass(frozen=True)
class Failing:
    """A container that never serves, and its FailureReason: the beginning, and a word of the real cause."""

    container: dict[str, Any]
    begins: str
    says: str = ""


FAILING = {
    "no such artifact": Failing(
        one("single/none.tar.gz"),
        'Failed to download model data for container "container_1" from URL: "s3://single/none.tar.gz". Please ensure '
        "that there is an object located at the URL and that the role passed to CreateModel has permissions to "
        "download the object.",
    ),
    "no such bucket": Failing(
        one("nowhere/none.tar.gz"), 'Failed to download model data for container "container_1" from URL: "s3://nowhere/'
    ),
    "torn artifact": Failing(one("single/torn.tar.gz"), PING_SENTENCE, "truncated"),
    "no model in it": Failing(one("single/strange.tar.gz"), PING_SENTENCE, "no model file of a known format"),
    "script raises": Failing(one("single/raising.tar.gz"), PING_SENTENCE, "the weights are not here"),
    "no artifact named": Failing({"Image": "torpor", "Environment": {}}, PING_SENTENCE, "model"),
    "unknown image": Failing(
        {**one("single/model.tar.gz"), "Image": "123.dkr.ecr.us-east-1.amazonaws.com/mine:1"},
        "The image 123.dkr.ecr.us-east-1.amazonaws.com/mine:1 of production variant AllTraffic is not one that",
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_an_endpoint_that_cannot_serve_fails_soon_with_the_reason(live: LiveEndpoint, bucket: str, name: str) -> None:
    failing = FAILING[name]
    endpoint = f"Failing-{name.replace(' ', '-')}"
    live.create(endpoint, Variant(failing.container))
    described = live.settled(endpoint)
    assert described["EndpointStatus"] == "Failed"
    assert described["FailureReason"].startswith(failing.begins)
    assert failing.says in described["FailureReason"]


def test_an_endpoint_that_is_still_creating_is_not_found(live: LiveEndpoint, bucket: str) -> None:
    live.create("Waiting", Variant(one(f"{bucket}/slow.tar.gz")))
    assert live.sagemaker.describe_endpoint(EndpointName="Waiting")["EndpointStatus"] == "Creating"
    response = refusal(lambda: live.invoke("Waiting", ROW))
    assert response["Error"]["Message"] == "Endpoint Waiting of account 123456789012 not found."
