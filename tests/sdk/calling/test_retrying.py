"""The calls that are retried, and the wait before each retry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.calling.retrying import Retries, may_repeat

draws = st.floats(0, 1)


@given(st.integers(1, 9), draws)
def test_there_are_never_more_attempts_than_were_asked_for(attempts: int, draw: float) -> None:
    waits_s = [Retries(attempts).wait_s(attempt, "", draw) for attempt in range(1, 12)]
    assert [wait_s is not None for wait_s in waits_s].count(True) == attempts - 1
    assert waits_s[attempts - 1 :] == [None] * (12 - attempts)


def test_waits_double_up_to_the_longest() -> None:
    retries = Retries(attempts=9, wait_max_s=5.0)
    assert [retries.wait_s(attempt, "", 1.0) for attempt in range(1, 6)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert retries.wait_s(3, "", 0.25) == 1.0


@given(draws)
def test_a_short_retry_after_is_obeyed_and_a_long_one_ends_the_retries(draw: float) -> None:
    assert Retries().wait_s(1, "7", draw) == 7.0
    assert Retries().wait_s(1, "3600", draw) is None
    assert Retries().wait_s(1, "Wed, 21 Oct 2026 07:28:00 GMT", draw) == draw


def test_only_a_call_that_the_service_did_not_begin_is_retried() -> None:
    assert [status for status in range(400, 600) if may_repeat(status, "")] == [429, 503]
    assert may_repeat(400, "ThrottlingException")
    assert not may_repeat(424, "ModelError")


def test_no_attempt_is_refused() -> None:
    with pytest.raises(ValueError, match="attempts is 0: a call takes at least 1"):
        Retries(0)
