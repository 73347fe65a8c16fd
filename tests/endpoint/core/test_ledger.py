"""The rule of a cold request, and the sums of requests."""

from dataclasses import asdict, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.ledger_with_pages import FIRST_USE, NOON_S, invocation
from torpor_container.wire import ColdLoad, EffortFields, WaitStep
from torpor_endpoint.core.ledger import (
    COLD_STEPS,
    MOMENTS_AT_ONCE,
    MOMENTS_MAX,
    ContainerSums,
    FaceSums,
    MemoryKey,
    MemorySums,
    Span,
    Sums,
    add_sums,
    adds_up,
    arrival_moments,
    arrival_seconds,
    is_cold,
    milliseconds,
    minute_of,
    moments_ms,
)
from torpor_endpoint.core.ledger_records import MemoryReading, WarmRequests


@pytest.mark.parametrize("step", list(WaitStep))
def test_a_request_is_cold_if_it_has_a_step_that_a_warm_request_lacks(step: WaitStep) -> None:
    warm = {"predict": 0.002, "overhead": 0.001, "queue": 0.00001}
    assert not is_cold(warm)
    assert is_cold({**warm, step.value: 0.5}) == (step not in {WaitStep.PREDICT, WaitStep.STREAM, WaitStep.OVERHEAD})


def test_a_step_of_half_a_millisecond_is_no_wait() -> None:
    assert not is_cold({"predict": 0.002, "overhead": 0.001})
    assert not is_cold({"load": 0.0005})
    assert is_cold({"load": 0.0006})


def test_the_steps_of_a_request_add_up_to_its_wall_time_within_a_millisecond() -> None:
    assert adds_up(invocation(steps={"load": 0.1, "predict": 0.002, "overhead": 0.0009}))
    assert adds_up(invocation(steps={"predict": 0.0})._replace(total_s=0.001))
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


@pytest.mark.parametrize("of", [Sums, ContainerSums, FaceSums, MemorySums])
def test_sums_begin_at_nothing_and_each_of_them_is_added_to_its_own(of: type[Sums]) -> None:
    assert set(asdict(of()).values()) == {0}
    names = [one.name for one in fields(of)]
    into, others = of(**{name: at for at, name in enumerate(names)}), of(**dict.fromkeys(names, 100))
    add_sums(into, others)
    assert asdict(into) == {name: 100 + at for at, name in enumerate(names)}
    assert asdict(others) == dict.fromkeys(names, 100)


def test_a_request_counts_in_each_of_its_sums() -> None:
    sums = Sums()
    fetched: ColdLoad = {**FIRST_USE, "fetched_bytes": 7}
    streamed = invocation(steps={"load": 0.25, "predict": 0.5, "stream": 0.0625}, status=400, cold=fetched)
    sums.add(streamed._replace(shadow=True, request_bytes=3, response_bytes=4), cold=True)
    sums.add(invocation(steps={"overhead": 1.0}, status=399, cold=FIRST_USE, moved=(10, 20)), cold=False)
    assert asdict(sums) == {
        **asdict(Sums()),
        "requests": 2,
        "cold": 1,
        "errors": 1,
        "copies": 1,
        "total_s": 1.8125,
        "load_s": 0.25,
        "predict_s": 0.5625,
        "busy_ms": 813,
        "predict_ms": 563,
        "request_bytes": 13,
        "response_bytes": 24,
        "fetches": 1,
        "fetched_bytes": 7,
    }


def test_warm_requests_count_as_they_would_one_by_one() -> None:
    times = (0.0015, 0.0105, 0.25)
    for shadow in (False, True):
        together, one_by_one = Sums(requests=1), Sums(requests=1)
        together.add_warm(WarmRequests(NOON_S, "e", "v", "a", "i", times, times, 300, 150, shadow=shadow))
        for took_s in times:
            one_by_one.add(invocation(steps={"predict": took_s})._replace(shadow=shadow), cold=False)
        assert asdict(together) == pytest.approx(asdict(one_by_one))


def test_the_seconds_of_warm_requests_in_a_container_are_summed_apart() -> None:
    sums = ContainerSums()
    for requests, seconds, warm in ((3, 0.5, True), (2, 4.0, False), (1, 0.25, True)):
        sums.add(requests, seconds, warm)
    assert sums == ContainerSums(requests=6, total_s=4.75, warm=4, warm_s=0.75)


def test_readings_of_memory_are_summed_and_those_without_room_apart() -> None:
    sums = MemorySums()
    for own_bytes, short, workers in ((100, False, None), (20, True, 4), (3, True, 0)):
        sums.add(MemoryReading(NOON_S, "e", "v", "i", 1000, own_bytes, short, workers=workers))
    assert sums == MemorySums(looks=3, own_bytes=123, short=2, short_own_bytes=23, told=2, workers=4)
    assert MemoryKey(0, "e", "v", "ml.m5.large", 1000).container == ""


def test_a_span_covers_both_and_keeps_the_first_moments() -> None:
    one, other = Span(5.0, 9.0, 0b0110, "00010002"), Span(3.0, 7.0, 0b0011, "0003")
    assert one | other == Span(3.0, 9.0, 0b0111, "000100020003")
    assert Span(1.0, 2.0) | Span(0.0, 3.0) == Span(0.0, 3.0, 0, "")
    many = Span(0.0, 1.0, 0, "0001" * MOMENTS_MAX)
    assert (many | other).moments == many.moments


def test_the_seconds_in_which_requests_arrived_are_bits() -> None:
    assert arrival_seconds([]) == 0
    assert arrival_seconds([NOON_S, NOON_S + 2.9, NOON_S + 2.1, NOON_S + 59.0]) == 1 | 1 << 2 | 1 << 59


def test_the_last_moments_of_arrivals_are_written_and_read_back_in_their_order() -> None:
    assert arrival_moments([NOON_S + 59.999, NOON_S, NOON_S + 0.0165]) == "00000010ea5f"
    assert moments_ms("00000010ea5f") == [0, 16, 59_999]
    arrivals_s = [NOON_S + second for second in range(30)]
    assert moments_ms(arrival_moments(arrivals_s)) == [second * 1000 for second in range(30)][-MOMENTS_AT_ONCE:]


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
