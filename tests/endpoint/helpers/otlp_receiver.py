"""A collector in this process: takes OTLP over HTTP, and keeps the spans and metrics that came."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.helpers.waiting import until


@dataclass(frozen=True)
class ReceivedSpan:
    """One span as it came. Ids are in hex; `parent` is empty at a root."""

    name: str
    kind: str
    trace: str
    id: str
    parent: str
    state: str
    began_ns: int
    ended_ns: int
    attributes: dict[str, Any]
    error: str | None
    resource: dict[str, Any]

    @property
    def took_s(self) -> float:
        return (self.ended_ns - self.began_ns) / 1e9


@dataclass
class Received:
    """What came so far. `held`: answers wait until it is set, as at a collector that hangs."""

    url: str = ""
    held: Event = field(default_factory=Event)
    spans: list[ReceivedSpan] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    requests: int = 0

    def environment(self, **more: str) -> dict[str, str]:
        """The variables of an endpoint that sends to this collector, and soon."""
        soon = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200"}
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, **soon, **more}

    def trees(self) -> dict[str, list[ReceivedSpan]]:
        """The spans of each request, by its request id, its own span first."""
        roots = {span.id: span for span in self.spans if "aws.request_id" in span.attributes}
        above = {span.id: span.parent for span in self.spans}

        def root_of(id: str) -> str:
            while id not in roots and id in above:
                id = above[id]
            return id

        found: dict[str, list[ReceivedSpan]] = {}
        for root in roots.values():
            below = [span for span in self.spans if span is not root and root_of(span.id) == root.id]
            below.sort(key=lambda span: (span.began_ns, -span.ended_ns))
            found.setdefault(root.attributes["aws.request_id"], []).extend([root, *below])
        return found

    def tree(self, request_id: str) -> list[ReceivedSpan]:
        """The spans of one request, once they are there."""
        until(lambda: request_id in self.trees(), within_s=60)
        return self.trees()[request_id]

    def metric(self, name: str, fits: Callable[[Any], object] = lambda metric: True) -> Any:
        """The newest metric of this name that fits, once it is there."""

        def found() -> Any:
            return next((one for one in reversed(self.metrics) if one.name == name and fits(one)), None)

        return until(found)


@contextmanager
def otlp_receiver(hangs: bool = False) -> Iterator[Received]:
    received = Received()
    if not hangs:
        received.held.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.requests += 1
            received.held.wait()
            _take(received, self.path, gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *values: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    received.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        received.held.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _take(received: Received, path: str, body: bytes) -> None:
    if path == "/v1/traces":
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _values(group.resource.attributes)
            for scope in group.scope_spans:
                received.spans.extend(_span(span, resource) for span in scope.spans)
    else:
        for group in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            received.resources.append(_values(group.resource.attributes))
            for scope in group.scope_metrics:
                received.metrics.extend(scope.metrics)


def _span(span: Any, resource: dict[str, Any]) -> ReceivedSpan:
    kinds, error = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT"), 2
    return ReceivedSpan(
        span.name,
        kinds[span.kind],
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.trace_state,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _values(span.attributes),
        span.status.message if span.status.code == error else None,
        resource,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)


def attributes_of(point: Any) -> dict[str, Any]:
    """A data point's attributes."""
    return _values(point.attributes)
