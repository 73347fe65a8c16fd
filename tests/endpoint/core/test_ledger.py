"""The rule of a cold request, and the sums of requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.ledger_with_pages import NOON_S, invocation
from torpor_container.wire import EffortFields, WaitStep
from torpor_endpoint.core.ledger import COLD_STEPS, Sums, adds_up, is_cold, milliseconds, minute_of


@pytest.mark.parametrize("step", list(WaitStep))
def test_a_request_is_cold_if_it_has_a_step_that_a_warm_request_lacks(step: WaitStep) -> None:
    warm = {"predict": 0.002, "overhead": 0.001, "queue": 0.00001}
    assert not is_cold(warm)
    assert is_cold({**warm, step.value: 0.5}) == (step not in {WaitStep.PREDICT, WaitStep.STREAM, WaitStep.OVERHEAD})


def test_the_steps_of_a_request_add_up_to_its_wall_time_within_a_millisecond() -> None:
    assert adds_up(invocation(steps={"load": 0.1, "predict": 0.002, "overhead": 0.0009}))
    whole = invocation()
    assert not adds_up(whole._replace(total_s=whole.total_s + 0.0011))


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5), st.sampled_from([200, 424, 503]), st.booleans())))
def test_sums_are_the_sums_of_their_requests(rows: list[tuple[float, float, int, bool]]) -> None:
    sums = Sums()
    for load_s, predict_s, status, cold in rows:
        sums.add(invocation(steps={"load": load_s, "predict": predict_s}, status=status), cold)
    assert (sums.requests, sums.cold) == (len(rows), sum(cold for *_, cold in rows))
    assert sums.errors == sum(status != 200 for _, _, status, _ in rows)
    assert sums.busy_s == pytest.approx(sums.total_s)
    assert sums.busy_s * 1000 - 1e-3 <= sums.busy_ms <= sums.busy_s * 1000 + len(rows)
    assert sums.moved_bytes == 150 * len(rows)


def test_the_efforts_of_those_that_were_measured_add_up() -> None:
    sums = Sums()
    for effort in (None, EffortFields(work_s=0.25, delay_s=0.5), None, EffortFields(work_s=0.5, delay_s=0.0)):
        sums.add(invocation(effort=effort), cold=False)
    assert (sums.requests, sums.measured, sums.work_s, sums.delay_s) == (4, 2, 0.75, 0.5)


@given(st.integers(0, 10**6))
def test_a_whole_number_of_milliseconds_stays_it(count: int) -> None:
    assert milliseconds(count / 1000) == count
    assert milliseconds(count / 1000 + 0.0001) == count + 1


@given(st.floats(0, 4e9))
def test_a_minute_holds_the_moment_that_it_is_of(at_s: float) -> None:
    assert minute_of(at_s) <= at_s < minute_of(at_s) + 60
    assert minute_of(at_s) % 60 == 0


def test_noon_is_a_whole_minute() -> None:
    assert minute_of(NOON_S + 59.9) == NOON_S
    assert {WaitStep.HOLD.value, WaitStep.WAKE.value, "nonsense"} & COLD_STEPS == {"hold", "wake"}
