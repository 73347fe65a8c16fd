"""Finds each request's place in a distributed trace, and plans the spans of those that are sampled when they end.

The step `begin` runs before all others of a passage. It reads the caller's trace context, asks OpenTelemetry's sampler,
and draws the ids. `TraceObserver` sees ended requests many at a time, when their callers have their answers.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context
from opentelemetry.trace.span import TraceState

from torpor_account.aws.wire.asgi import Headers
from torpor_endpoint.runtime.observing.observers import Alike
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Served
from torpor_endpoint.telemetry.spans import PlannedSpan, planned, route_of
from torpor_endpoint.telemetry.trace_context import RANDOM, SAMPLED, ParentSpan, RequestTrace, read

NO_HEADERS: Headers = []


class SpanSink(Protocol):
    """Where the spans of one request go; `parent` is the caller's span. It never waits."""

    def send(self, request: Passage, trace: RequestTrace, spans: Sequence[PlannedSpan]) -> None: ...


class Tracing:
    """`draw` gives random numbers of so many bits. `baggage`: whether the caller's is passed on.

    Without a sampler no spans are recorded, and containers get the caller's context as it came.
    """

    def __init__(self, sampler: Sampler | None, draw: Callable[[int], int], baggage: bool = True) -> None:
        self._sampler = sampler
        self._draw = draw
        self._baggage = baggage

    def begin(self, request: Passage) -> None:
        """The step trace of a passage. It raises nothing, and a second call does nothing."""
        if request.trace is None:
            request.trace = self.place(request)

    def place(self, request: Passage) -> RequestTrace:
        """The request's place: below the caller's span, or at the root of a trace of its own."""
        parent, baggage = read(request.scope["headers"])
        carried = baggage if self._baggage else b""
        if self._sampler is None:
            known = parent or ParentSpan(0, 0, 0)
            of_caller = (known.trace_id, known.span_id, known.flags, None, known.state)
            return RequestTrace(*of_caller, carried, self._span_id, recorded=False)
        if parent is None:
            trace_id, flags, parent_id, state = self._id(128), RANDOM, None, b""
        else:
            trace_id, flags, parent_id, state = parent.trace_id, parent.flags & RANDOM, parent.span_id, parent.state
        context = None if parent is None else parent_context(parent)
        sampled = self._sampler.should_sample(context or NO_PARENT, trace_id, route_of(request.scope), SpanKind.SERVER)
        recorded = sampled.decision is Decision.RECORD_AND_SAMPLE
        if recorded:
            flags |= SAMPLED
        return RequestTrace(trace_id, self._id(64), flags, parent_id, state, carried, self._span_id, recorded)

    def of(self, request: Passage) -> RequestTrace:
        """The place of a request that has ended. One that was refused before the first step gets its place now."""
        trace = request.trace
        return trace if isinstance(trace, RequestTrace) else self.place(request)

    def _span_id(self) -> int:
        return self._id(64)

    def _id(self, bits: int) -> int:
        drawn = 0
        while not drawn:  # an id of zeros is not valid
            drawn = self._draw(bits)
        return drawn


NO_PARENT = Context()
"""Given to the sampler in place of None, which would mean the context of this thread."""


def parent_context(parent: ParentSpan) -> Context:
    """The caller's span in OpenTelemetry's form."""
    state = TraceState.from_header([parent.state.decode("latin-1")]) if parent.state else None
    span = SpanContext(parent.trace_id, parent.span_id, True, TraceFlags(parent.flags), state)
    return set_span_in_context(NonRecordingSpan(span), NO_PARENT)


class TraceObserver:
    """A batch observer: plans the spans of sampled requests, and hands them to the sink."""

    def __init__(self, tracing: Tracing, sink: SpanSink) -> None:
        self._tracing = tracing
        self._sink = sink

    def ended(self, request: Passage, answer: InvokeAnswer) -> None:
        self._send(request, answer.headers)

    def ended_alike(self, alike: Alike, requests: Sequence[Passage], served: Sequence[Served]) -> None:
        for request in requests:
            self._send(request, NO_HEADERS)

    def _send(self, request: Passage, answered: Headers) -> None:
        trace = self._tracing.of(request)
        if trace.recorded:
            self._sink.send(request, trace, planned(request, answered, trace))
