"""Sends spans to a collector by OpenTelemetry's SDK: a queue with a bound, and a thread that empties it.

The SDK reads its own variables: the collector's address and headers (`OTEL_EXPORTER_OTLP_*`), the queue (`OTEL_BSP_*`)
and the length of attributes. What it drops it does not count for us, so the bound is held here: the spans of
a request are sent whole, or are dropped whole and counted.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.span import TraceState

from torpor_endpoint.runtime.passage import Passage
from torpor_endpoint.telemetry.environment import QueueLimits
from torpor_endpoint.telemetry.spans import Attributes, PlannedKind, PlannedSpan
from torpor_endpoint.telemetry.trace_context import RequestTrace

log = logging.getLogger(__name__)

SCOPE = InstrumentationScope("torpor")
UNSET = Status(StatusCode.UNSET)
KINDS = {kind.name: kind for kind in SpanKind}
LOGGED_EVERY_S = 60.0
"""The log has at most one line in so many seconds about spans that are lost."""

Dropped = Callable[[str, str, int], None]
"""Gets an endpoint, a variant, and the number of sampled requests whose spans are lost."""


class Whose(NamedTuple):
    endpoint: str
    variant: str


class CountedExporter(SpanExporter):
    """Another exporter, and counts of the spans that it was given and of those that it lost. For the queue's thread."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.left = 0
        self.lost: deque[Whose] = deque()
        """One item for each request whose own span did not reach the collector."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            if result is not SpanExportResult.SUCCESS:
                self.lost.extend(whose for span in spans if (whose := _whose(span)) is not None)
            self.left += len(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class SpanSender:
    """For the event loop's thread, but for `close`, which may wait for a collector that hangs.

    `clock` gives steady seconds; `draw` random numbers of so many bits.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        resource: Resource,
        dropped: Dropped,
        clock: Callable[[], float],
        draw: Callable[[int], int],
        limits: QueueLimits,
    ) -> None:
        self._exporter = CountedExporter(exporter)
        self._queue = BatchSpanProcessor(self._exporter, limits.waiting, max_export_batch_size=limits.together)
        self._resource = resource
        self._value_max = SpanLimits().max_span_attribute_length
        self._dropped = dropped
        self._clock = clock
        self._draw = draw
        self._queue_max = limits.waiting
        self._came = 0
        self._unlogged = 0
        self._logged_s: float | None = None

    def send(self, request: Passage, trace: RequestTrace, spans: Sequence[PlannedSpan]) -> None:
        """Queue the spans of one request, or drop all of them if the queue has no room for them. `spans` has its own
        first, and that is queued last: a batch may end anywhere, and a collector that has the request's own has
        all of them."""
        if self._came - self._exporter.left + len(spans) > self._queue_max:
            self._count(Counter({_of(request): 1}))
            return
        self._came += len(spans)
        state = TraceState.from_header([trace.state.decode("latin-1")]) if trace.state else None
        flags = TraceFlags(trace.flags)

        def context(span_id: int, remote: bool = False) -> SpanContext:
            return SpanContext(trace.trace_id, span_id, remote, flags, state)

        for plan in (*spans[1:], *spans[:1]):
            remote = plan.kind is PlannedKind.SERVER  # its parent is the caller's
            # Made as they are, and not by a Tracer, which takes fifteen times as long for spans that have ended.
            span = ReadableSpan(
                plan.name,
                context(plan.span_id or self._draw(64) or 1),
                None if plan.parent_id is None else context(plan.parent_id, remote),
                self._resource,
                self._limited(plan.attributes),
                kind=KINDS[plan.kind],
                status=UNSET if plan.error is None else Status(StatusCode.ERROR, plan.error),
                start_time=int(plan.began_s * 1e9),
                end_time=int(plan.ended_s * 1e9),
                instrumentation_scope=SCOPE,
            )
            self._queue.on_end(span)

    def _limited(self, attributes: Attributes) -> Attributes:
        """The attributes within OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT, if it is set."""
        most = self._value_max
        if most is None:
            return attributes
        return {name: value[:most] if isinstance(value, str) else value for name, value in attributes.items()}

    def settle(self) -> None:
        """Count what the exporter has lost meanwhile."""
        lost: Counter[Whose | None] = Counter()
        while self._exporter.lost:
            lost[self._exporter.lost.popleft()] += 1
        if lost:
            self._count(lost)

    def close(self) -> None:
        """Send what is queued. It waits for a collector that hangs: give it a thread, and leave that after a while."""
        self._queue.shutdown()  # type: ignore[no-untyped-call]  # the SDK has not typed it

    def _count(self, lost: "Counter[Whose | None]") -> None:
        for whose, requests in lost.items():
            if whose is not None:
                self._dropped(whose.endpoint, whose.variant, requests)
        self._unlogged += lost.total()
        now_s = self._clock()
        if self._logged_s is None or now_s - self._logged_s >= LOGGED_EVERY_S:
            log.warning("the spans of %d requests are lost: the collector does not take them", self._unlogged)
            self._unlogged, self._logged_s = 0, now_s


def _of(request: Passage) -> Whose | None:
    """The variant of a request; None for one that was refused before it had one."""
    return None if request.route is None else Whose(request.route.live.name, request.route.variant)


def _whose(span: ReadableSpan) -> Whose | None:
    """The variant, of a request's own span alone."""
    attributes = span.attributes or {}
    if "torpor.variant" not in attributes:
        return None
    return Whose(str(attributes["torpor.endpoint"]), str(attributes["torpor.variant"]))
