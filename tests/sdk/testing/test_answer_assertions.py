"""Assertions on answers, on those of a real endpoint and on written ones."""

from typing import Any

import pytest

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.testing import assert_cold, assert_warm


def response(timing: str) -> dict[str, Any]:
    return {"ResponseMetadata": {"HTTPHeaders": {"server-timing": timing, "x-amzn-requestid": "r-1"}}}


def test_the_first_answer_of_a_model_is_cold_and_the_next_is_warm(endpoint: torpor.Local) -> None:
    endpoint.unload(CITIES[1])
    assert_cold(endpoint.invoke_raw(CITIES[1], ROWS), endpoint)
    assert_warm(endpoint.invoke_raw(CITIES[1], ROWS), endpoint)


def test_the_ledgers_reason_is_in_the_message(endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[2], ROWS)
    endpoint.unload(CITIES[2])
    cold = endpoint.invoke_raw(CITIES[2], ROWS)
    with pytest.raises(AssertionError, match=r"(?s)is cold\n  request .*: load .*ledger: .*unloaded"):
        assert_warm(cold, endpoint)
    assert_cold(cold, endpoint, reason="unloaded")
    with pytest.raises(AssertionError, match=r"(?s)another reason than 'first request'.*ledger: .*unloaded"):
        assert_cold(cold, endpoint, reason="first request")


def test_the_steps_are_in_the_message_without_an_endpoint() -> None:
    with pytest.raises(AssertionError, match=r"request r-1: wake 120 ms, predict 1\.0 ms"):
        assert_warm(response("wake;dur=120, predict;dur=1"))
    with pytest.raises(AssertionError, match=r"waited for no instance and no model\n  request r-1: predict 1\.0 ms"):
        assert_cold(response("predict;dur=1, overhead;dur=0.2"))


def test_an_answer_of_the_caller_has_steps_too(endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[0], ROWS)
    assert_warm(endpoint.caller().invoke(endpoint.name, "1,2,3,4", target_model=CITIES[0], content_type="text/csv"))


@pytest.mark.parametrize("other", [b"0.5", [0.5], None, {"Body": b""}])
def test_something_else_than_an_answer_is_refused(other: object) -> None:
    with pytest.raises(TypeError, match="an answer is needed"):
        assert_warm(other)


def test_an_answer_of_another_service_is_refused() -> None:
    with pytest.raises(TypeError, match="no header Server-Timing"):
        assert_cold({"ResponseMetadata": {"HTTPHeaders": {}}})


def test_a_reason_needs_the_endpoint() -> None:
    with pytest.raises(TypeError, match="needs the endpoint"):
        assert_cold(response("load;dur=9"), reason="first")
