"""The step that finds a request's place in a trace: whose decision holds, and what containers are told."""

import random
from itertools import count

import pytest
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    DEFAULT_OFF,
    DEFAULT_ON,
    ParentBased,
    Sampler,
    TraceIdRatioBased,
)

from tests.endpoint.helpers.passages import passage
from torpor_endpoint.runtime.passage import Passage
from torpor_endpoint.telemetry.trace_context import RANDOM, SAMPLED, RequestTrace
from torpor_endpoint.telemetry.tracing import Tracing

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ON, OFF = (f"00-{TRACE}-{SPAN}-{flags}".encode() for flags in ("01", "00"))


def begun(sampler: Sampler | None, parent: bytes | None = None, baggage: bool = True) -> RequestTrace:
    request = with_headers(parent)
    Tracing(sampler, random.Random(7).getrandbits, baggage).begin(request)
    assert isinstance(request.trace, RequestTrace)
    return request.trace


def with_headers(parent: bytes | None) -> Passage:
    return passage("shop", (b"baggage", b"k=v"), *([(b"traceparent", parent)] if parent is not None else []))


@pytest.mark.parametrize(
    ("sampler", "parent", "recorded"),
    [
        (DEFAULT_ON, None, True),
        (DEFAULT_ON, ON, True),
        (DEFAULT_ON, OFF, False),
        (DEFAULT_OFF, None, False),
        (DEFAULT_OFF, ON, True),
        (ALWAYS_ON, OFF, True),
        (ALWAYS_OFF, ON, False),
        (ParentBased(TraceIdRatioBased(0.0)), None, False),
    ],
)
def test_the_sampler_decides_and_containers_learn_what_it_decided(
    sampler: Sampler, parent: bytes | None, recorded: bool
) -> None:
    trace = begun(sampler, parent)
    assert trace.recorded is recorded
    told = int(dict(trace.headers(0))[b"traceparent"].rpartition(b"-")[2], 16)
    assert (told & SAMPLED) == recorded
    assert bool(told & RANDOM) is (parent is None)  # only ids of our own are known to be random
    assert (trace.parent_id == int(SPAN, 16)) is (parent is not None)


def test_a_share_of_the_requests_is_sampled() -> None:
    tracing = Tracing(ParentBased(TraceIdRatioBased(0.25)), random.Random(7).getrandbits)
    sampled = sum(tracing.place(with_headers(None)).recorded for _ in range(2000))
    assert 420 < sampled < 580


def test_ids_are_never_zero() -> None:
    drawn = count()
    trace = Tracing(DEFAULT_ON, lambda bits: next(drawn) // 2).place(with_headers(None))
    assert trace.trace_id > 0
    assert trace.span_id > 0


def test_a_second_call_keeps_the_place() -> None:
    request, tracing = with_headers(None), Tracing(DEFAULT_ON, random.Random(7).getrandbits)
    tracing.begin(request)
    first = request.trace
    tracing.begin(request)
    assert request.trace is first


def test_without_a_sampler_containers_get_the_caller_s_context_as_it_came() -> None:
    assert begun(None, ON).headers(1) == [(b"traceparent", ON), (b"baggage", b"k=v")]
    assert begun(None).headers(0) == [(b"baggage", b"k=v")]


def test_baggage_stays_here_where_it_is_not_propagated() -> None:
    assert b"baggage" not in dict(begun(DEFAULT_ON, ON, baggage=False).headers(0))
