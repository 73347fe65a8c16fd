"""Errors, compared with the endpoint's own table and with boto3's exceptions."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import get_session

from tests.sdk.helpers.recording_server import Reply, reply, served, session_of
from torpor.calling.answer import Answer
from torpor.calling.caller import Caller
from torpor.calling.invoke_errors import InvokeError, ModelError, refused
from torpor_endpoint.runtime.errors import ErrorPlace, RuntimeFault, Situation, wire_form

PLACE = ErrorPlace("houses", "123456789012", "us-east-1", "request-1")
FIELDS: dict[str, Any] = {"variant": "A", "variants": "B", "detail": "it is so", "limit": 6, "held": 7, "status": 418}
FIELDS |= {"following": "predict", "size": 9, "component": "houston"}
PAGES = {"a page": reply(502, body=b"<html>bad gateway</html>"), "nothing": reply(500, body=b"")}


def replied(situation: Situation) -> Reply:
    original = (418, "a teapot") if situation.code == "ModelError" else None
    status, headers, body = wire_form(RuntimeFault(situation, original=original, **FIELDS), PLACE)
    told = {name.decode(): value.decode() for name, value in headers}
    return reply(status, {**told, "x-amzn-requestid": PLACE.request_id}, body)


Refusal = Callable[[Reply], tuple[InvokeError, ClientError]]


@pytest.fixture(scope="module")
def refusal() -> Iterator[Refusal]:
    """The Caller's error and boto3's, to the same answer. Neither calls again."""
    once = Config(retries={"total_max_attempts": 1})
    with served() as server, Caller(server.url, session=session_of(), attempts=1) as caller:
        runtime = Session("AKIA", "secret").client(
            "sagemaker-runtime", "us-east-1", endpoint_url=server.url, config=once
        )

        def told(answer: Reply) -> tuple[InvokeError, ClientError]:
            server.replies[:] = [answer]
            with pytest.raises(InvokeError) as ours:
                caller.invoke("houses")
            with pytest.raises(ClientError) as theirs:
                runtime.invoke_endpoint(EndpointName="houses", Body=b"")
            for name in ("RetryAttempts", "MaxAttemptsReached"):
                theirs.value.response["ResponseMetadata"].pop(name, None)
            return ours.value, theirs.value

        yield told
        runtime.close()


@pytest.mark.parametrize("situation", Situation, ids=lambda situation: situation.name)
def test_every_error_of_the_table_is_the_one_that_boto3_raises(situation: Situation, refusal: Refusal) -> None:
    ours, theirs = refusal(replied(situation))
    assert ours.response == theirs.response
    told = theirs.response["Error"]["Message"]
    assert str(ours) == f"An error occurred ({ours.code}) when calling the InvokeEndpoint operation: {told}"
    assert (ours.code, ours.status) == (situation.code or "413", situation.status)
    assert ours.message == (told or "")
    assert ours.request_id == PLACE.request_id
    assert isinstance(ours, ModelError) == (situation.code == "ModelError")


def test_a_models_own_error_says_what_the_container_said(refusal: Refusal) -> None:
    ours, _ = refusal(replied(Situation.MODEL_CLIENT))
    assert isinstance(ours, ModelError)
    assert (ours.original_status_code, ours.original_message) == (418, "a teapot")
    assert ours.log_stream_arn.endswith(":log-group:/aws/sagemaker/Endpoints/houses")
    assert 'Received client error (418) from primary with message "a teapot"' in ours.message


@pytest.mark.parametrize("page", PAGES)
def test_an_error_page_from_elsewhere_is_reported_as_boto3_does(page: str, refusal: Refusal) -> None:
    ours, theirs = refusal(PAGES[page])
    assert ours.response["Error"] == theirs.response["Error"]
    assert (ours.code, ours.status) in {("502", 502), ("500", 500)}


@pytest.mark.parametrize("body", [b"\xff", b"[1]", b'"x"', b"null"])
def test_an_error_that_is_no_json_object_or_no_text_is_its_status(body: bytes) -> None:
    model = get_session().get_service_model("sagemaker-runtime")
    error = refused(Answer(body, {}, 503), model)
    assert (error.code, error.status) == ("503", 503)
