"""The headers that a user script reads from its context and answers with, through boto3."""

import json
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import ROW, put, script
from tests.endpoint.services.helpers.runtime_answers import code_and_status, refusal

TELLING = """
import json
def model_fn(model_dir):
    return None
def input_fn(body, content_type, context):
    return context.get_request_header(0, "X-Amzn-SageMaker-Inference-Id")
def predict_fn(inference_id, model):
    return inference_id
def output_fn(inference_id, accept, context):
    told = context.get_all_request_header(0)
    return json.dumps({"id": inference_id, "headers": told}), "application/json"
"""
SESSIONS = """
def model_fn(model_dir):
    return {}
def transform_fn(sessions, body, content_type, accept, context):
    session = context.get_request_header(0, "X-Amzn-SageMaker-Session-Id")
    if session == "NEW_SESSION":
        sessions["s-1"] = 0
        context.set_response_header(0, "X-Amzn-SageMaker-New-Session-Id", "s-1; Expires=2030-01-01T00:00:00Z")
    elif body == "close":
        del sessions[session]
        context.set_response_header(0, "X-Amzn-SageMaker-Closed-Session-Id", session)
    elif session:
        sessions[session] += 1
        return str(sessions[session]), "text/plain"
    return "ok", "text/plain"
"""
ANSWERING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept, context):
    context.set_response_header(0, "X-Amzn-SageMaker-Custom-Attributes", "x" * int(body))
    return "ok", "text/plain"
"""


@pytest.fixture(scope="module")
def told(live: LiveEndpoint, houses: str) -> dict[str, str]:
    """Every header that reached a script, by the name that it has there; the target is among them."""
    put(live.folder("houses"), {"models/telling.tar.gz": script(TELLING)})
    members = {
        "CustomAttributes": "trace=7; user=me",
        "InferenceId": "call 7",
        "SessionId": "s-1",
        "PrefixAwareId": "app/1",
        "TargetVariant": "AllTraffic",
        "Accept": "application/json",
    }
    answer: dict[str, Any] = json.loads(live.invoke(houses, ROW, TargetModel="telling.tar.gz", **members)["Body"])
    assert answer["id"] == members["InferenceId"]
    return dict(answer["headers"])


def test_every_header_that_aws_forwards_reaches_a_script_in_aws_s_spelling(told: dict[str, str]) -> None:
    assert told == {
        "Content-Type": "text/csv",
        "Accept": "application/json",
        "X-Amzn-SageMaker-Custom-Attributes": "trace=7; user=me",
        "X-Amzn-SageMaker-Inference-Id": "call 7",
        "X-Amzn-SageMaker-Session-Id": "s-1",
        "X-Amzn-SageMaker-Prefix-Aware-Id": "app/1",
        "X-Amzn-SageMaker-Target-Variant": "AllTraffic",
        "X-Amzn-SageMaker-Target-Model": "telling.tar.gz",
    }


def test_a_script_may_keep_sessions(live: LiveEndpoint, houses: str) -> None:
    put(live.folder("houses"), {"models/sessions.tar.gz": script(SESSIONS)})

    def call(body: str, session: str) -> Any:
        return live.invoke(houses, body.encode(), TargetModel="sessions.tar.gz", SessionId=session)

    assert call("open", "NEW_SESSION")["NewSessionId"] == "s-1; Expires=2030-01-01T00:00:00Z"
    assert [call("next", "s-1")["Body"] for _ in range(2)] == [b"1", b"2"]
    closed = call("close", "s-1")
    assert closed["ClosedSessionId"] == "s-1"
    assert "NewSessionId" not in closed


def test_a_model_without_sessions_answers_as_to_any_request(live: LiveEndpoint, houses: str) -> None:
    answer = live.invoke(houses, ROW, TargetModel="good.json", SessionId="NEW_SESSION")
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert "NewSessionId" not in answer


def test_the_longest_custom_attributes_come_back_and_longer_ones_are_an_error(live: LiveEndpoint, houses: str) -> None:
    put(live.folder("houses"), {"models/answering.tar.gz": script(ANSWERING)})
    assert live.invoke(houses, b"1024", TargetModel="answering.tar.gz")["CustomAttributes"] == "x" * 1024
    response = refusal(lambda: live.invoke(houses, b"1025", TargetModel="answering.tar.gz"))
    assert code_and_status(response) == ("ModelError", 424)
    assert "has custom attributes of 1025 bytes" in response["OriginalMessage"]
