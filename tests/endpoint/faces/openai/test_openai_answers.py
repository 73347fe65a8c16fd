"""Answers in OpenAI's form: errors of the runtime, errors of containers, and streams that break off."""

import json
from typing import Any

import pytest

from torpor_endpoint.faces.openai.openai_answers import ServerSentParts, answered, listed
from torpor_endpoint.runtime.errors import RuntimeFault, Situation, model_error
from torpor_endpoint.runtime.face_notes import FaceNote


def refusal(fault: RuntimeFault, status: int = 424, body: bytes = b'{"message": "no"}') -> tuple[int, Any]:
    note = FaceNote("openai")
    note.fault = fault
    given, headers, said = answered(note, status, [(b"content-type", b"x"), (b"x-amzn-requestid", b"r")], body)
    assert dict(headers) == {b"content-type": b"application/json", b"x-amzn-requestid": b"r"}
    return given, json.loads(said)["error"]


@pytest.mark.parametrize(
    ("fault", "status", "kind", "code"),
    [
        (RuntimeFault(Situation.ENDPOINT_UNKNOWN), 404, "invalid_request_error", "model_not_found"),
        (RuntimeFault(Situation.THROTTLED), 429, "rate_limit_error", None),
        (RuntimeFault(Situation.NOT_READY), 503, "server_error", None),
        (model_error(500, "no"), 500, "server_error", None),
        (model_error(415, "Content type x is not supported"), 400, "invalid_request_error", None),
    ],
)
def test_a_refusal_has_a_type_and_a_code(fault: RuntimeFault, status: int, kind: str, code: str | None) -> None:
    given, error = refusal(fault)
    assert (given, error["type"], error["code"]) == (status, kind, code)


def test_what_a_container_says_in_this_form_stays_as_it_is() -> None:
    said = {"message": "too long", "type": "invalid_request_error", "param": "messages", "code": "context_length"}
    assert refusal(model_error(400, json.dumps({"error": said}))) == (400, said)


def test_events_that_break_off_end_with_an_error_and_any_other_answer_is_not_ended() -> None:
    last = ServerSentParts().failure(b"text/event-stream; charset=utf-8", "gone", "StreamBroken")
    assert last is not None
    assert json.loads(last.removeprefix(b"data: "))["error"]["message"] == "gone"
    assert ServerSentParts().failure(b"application/json", "gone", "StreamBroken") is None


def test_a_list_says_what_is_in_memory() -> None:
    found = json.loads(listed({"a": True, "b": False}).body)["data"]
    assert [(one["id"], one["status"]["value"]) for one in found] == [("a", "loaded"), ("b", "unloaded")]
