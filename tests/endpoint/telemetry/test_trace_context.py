"""W3C trace context as values, compared with OpenTelemetry's own reading of the same headers."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from torpor_endpoint.telemetry.trace_context import (
    BAGGAGE_MAX_BYTES,
    RANDOM,
    SAMPLED,
    STATE_MAX_BYTES,
    ParentSpan,
    RequestTrace,
    parent_of,
    read,
)

PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331

HEX = "0123456789abcdef"
NEARLY = st.one_of(
    st.from_regex(r"\A(00|01|cc|ff)-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[a-z0-9]{1,4})?\Z"),
    st.from_regex(r"\A00-(0{32}|[0-9a-fA-F]{31,33})-(0{16}|[0-9a-f]{15,17})-[0-9a-g]{2}\Z"),
    st.text(HEX + "-", max_size=60),
)


def numbers() -> Callable[[], int]:
    return count(1).__next__


def place(flags: int = SAMPLED, state: bytes = b"", baggage: bytes = b"") -> RequestTrace:
    return RequestTrace(TRACE, SPAN, flags, None, state, baggage, numbers(), recorded=bool(flags & SAMPLED))


@given(value=NEARLY)
def test_a_traceparent_is_read_as_by_opentelemetry(value: str) -> None:
    theirs = get_current_span(TraceContextTextMapPropagator().extract({"traceparent": value})).get_span_context()
    ours = parent_of(value.encode())
    assert (ours is not None) == theirs.is_valid
    if ours is not None:
        assert (ours.trace_id, ours.span_id) == (theirs.trace_id, theirs.span_id)
        assert ours.sampled == theirs.trace_flags.sampled


@given(
    trace_id=st.integers(1, 2**128 - 1),
    flags=st.sampled_from([0, SAMPLED, RANDOM, SAMPLED | RANDOM]),
    step=st.integers(0, 14),
)
def test_what_is_passed_on_is_read_again(trace_id: int, flags: int, step: int) -> None:
    trace = RequestTrace(trace_id, SPAN, flags, None, b"a=1", b"k=v", numbers(), recorded=bool(flags & SAMPLED))
    parent, baggage = read(trace.headers(step))
    assert parent == ParentSpan(trace_id, trace.legs.get(step, SPAN), flags, b"a=1")
    assert baggage == b"k=v"


def test_each_container_of_a_sampled_request_has_a_span_of_its_own_and_a_second_try_the_same_one() -> None:
    trace = place()
    first, second = trace.headers(0), trace.headers(1)
    assert first != second
    assert trace.headers(0) == first
    assert set(trace.legs) == {0, 1}


def test_the_containers_of_a_request_that_is_not_sampled_learn_that_it_is_not() -> None:
    trace = place(flags=0)
    assert trace.headers(0) == [(b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")]
    assert trace.legs == {}


def test_the_copy_for_a_shadow_variant_is_a_child_of_the_request() -> None:
    copy = place(state=b"a=1").copy()
    assert (copy.trace_id, copy.parent_id, copy.flags, copy.state) == (TRACE, SPAN, SAMPLED, b"a=1")
    assert copy.span_id != SPAN


@pytest.mark.parametrize(
    ("headers", "state", "baggage"),
    [
        ([(b"tracestate", b"a=1"), (b"tracestate", b"b=2")], b"a=1,b=2", b""),
        ([(b"tracestate", b"a=1,"), (b"baggage", b" k=v ")], b"a=1,", b"k=v"),
        ([(b"tracestate", b"a=" + b"1" * STATE_MAX_BYTES)], b"", b""),
        ([(b"baggage", b"a=" + b"1" * BAGGAGE_MAX_BYTES)], b"", b""),
        ([(b"tracestate", b"a=\xff"), (b"baggage", "ö=1".encode())], b"", b""),
    ],
)
def test_state_and_baggage_are_passed_on_as_they_are_within_their_bounds(
    headers: list[tuple[bytes, bytes]], state: bytes, baggage: bytes
) -> None:
    parent, carried = read([(b"traceparent", PARENT), *headers])
    assert parent is not None
    assert (parent.state, carried) == (state, baggage)


def test_state_without_a_valid_parent_is_dropped_and_baggage_is_not() -> None:
    assert read([(b"traceparent", b"00-0"), (b"tracestate", b"a=1"), (b"baggage", b"k=v")]) == (None, b"k=v")


def test_two_parents_are_none() -> None:
    assert read([(b"traceparent", PARENT), (b"traceparent", PARENT)]) == (None, b"")
