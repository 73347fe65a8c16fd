"""The error table as pure values: every situation has its wire form, and no text loses a word to a caller's braces."""

import json
import uuid
from typing import Any

import pytest

from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_container.wire import Fault
from torpor_endpoint.runtime.errors import (
    FAULTS,
    MESSAGE_MAX,
    ORIGINAL_MAX,
    ErrorPlace,
    RuntimeFault,
    Situation,
    check_attributes,
    from_answer,
    model_error,
    wire_form,
)
from torpor_endpoint.runtime.passage import new_request_id

PLACE = ErrorPlace("Houses", "123456789012", "us-east-1", "request-1")
FIELDS: dict[str, Any] = {
    "detail": "why",
    "variant": "A",
    "component": "C",
    "variants": "A, B",
    "limit": 1,
    "held": 2,
    "status": 500,
    "following": "b",
    "size": 9,
}


@pytest.mark.parametrize("situation", Situation)
def test_every_situation_has_a_wire_form(situation: Situation) -> None:
    status, headers, body = wire_form(RuntimeFault(situation, original=(500, "why"), **FIELDS), PLACE)
    assert status == situation.status
    assert (b"x-amzn-errortype" in dict(headers)) == (situation.code is not None)
    assert b"{" not in body.removeprefix(b"{")


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_of_an_instance_becomes_a_situation(fault: Fault) -> None:
    body = json.dumps({"message": "why {so}"}).encode()
    found = from_answer(UpstreamAnswer(500, [(b"x-torpor-fault", fault.value.encode())], [body]), PLACE)
    assert found.situation is FAULTS.get(fault, Situation.MODEL_SERVER)
    assert wire_form(found, PLACE)[0] == found.situation.status


@pytest.mark.parametrize("original", ["{}", "{status} {0}", "%s", '"quoted"', "é\x00", "x" * 5000])
def test_a_models_message_is_quoted_and_never_read_as_the_endpoints_own(original: str) -> None:
    members = json.loads(wire_form(model_error(500, original), PLACE)[2])
    assert members["OriginalMessage"] == original
    quoted = members["Message"].partition('from primary with message "')[2].rpartition('". See ')[0]
    assert original.startswith(quoted)
    assert quoted == original or len(members["Message"]) == MESSAGE_MAX


def test_a_model_s_failure_names_where_its_log_is_and_in_strict_mode_aws_s_console() -> None:
    for place, told in (
        (PLACE, "See `torpor logs Houses` or the log group /aws/sagemaker/Endpoints/Houses for more information."),
        (
            PLACE._replace(console=True),
            "See https://us-east-1.console.aws.amazon.com/cloudwatch/home?region=us-east-1#logEventViewer:group=/aws/"
            "sagemaker/Endpoints/Houses in account 123456789012 for more information.",
        ),
    ):
        message = json.loads(wire_form(model_error(500, "why"), place)[2])["Message"]
        assert message == f'Received server error (500) from primary with message "why". {told}'


def test_a_body_that_is_no_text_is_still_a_model_error() -> None:
    found = from_answer(UpstreamAnswer(502, [], [b"\xff\xfe"]), PLACE)
    assert found.original == (502, "\ufffd\ufffd")


def test_an_error_body_is_kept_up_to_its_limit() -> None:
    assert model_error(500, "x" * ORIGINAL_MAX).situation is Situation.MODEL_SERVER
    assert model_error(500, "x" * (ORIGINAL_MAX + 1)).situation is Situation.MODEL_UNKEPT
    assert model_error(400, "x" * (ORIGINAL_MAX + 1)).situation is Situation.MODEL_CLIENT_UNKEPT


def test_a_request_id_is_a_unique_uuid_of_version_4() -> None:
    given = [uuid.UUID(new_request_id()) for _ in range(1000)]
    assert {(each.version, each.variant) for each in given} == {(4, uuid.RFC_4122)}
    assert len(set(given)) == 1000


@pytest.mark.parametrize("value", [b"", b"x" * 1024, b"trace=7; user=me", b"a\tb", bytes(range(32, 127))])
def test_visible_custom_attributes_are_returned(value: bytes) -> None:
    check_attributes([(b"x-amzn-sagemaker-custom-attributes", value)], PLACE)


@pytest.mark.parametrize("value", [b"x" * 1025, "é".encode(), b"\x7f", b"\x00", b"a\nb"])
def test_custom_attributes_that_no_answer_can_have_are_the_containers_fault(value: bytes) -> None:
    with pytest.raises(RuntimeFault) as caught:
        check_attributes([(b"x-amzn-sagemaker-custom-attributes", value)], PLACE)
    members = json.loads(wire_form(caught.value, PLACE)[2])
    assert (members["OriginalStatusCode"], members["ErrorCode"]) == (0, "INTERNAL_FAILURE_FROM_MODEL")
    assert f"the primary container has custom attributes of {len(value)} bytes" in members["OriginalMessage"]
