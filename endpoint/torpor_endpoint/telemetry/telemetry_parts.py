"""Makes the parts of telemetry and runs them: what `torpor up --otel` starts. Only an endpoint with it imports this.

A collector that is slow, hangs or is gone delays no request: spans wait in a bounded queue, and the metrics in none, in
threads of their own.
"""

import asyncio
import logging
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Container, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.lone_thread import LoneThread
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.observing.observers import BatchObserver
from torpor_endpoint.runtime.passage import Passage
from torpor_endpoint.telemetry.durations import RequestDurations
from torpor_endpoint.telemetry.environment import Signals
from torpor_endpoint.telemetry.otlp_metrics import OtlpMetrics
from torpor_endpoint.telemetry.payload_traces import JobTraces
from torpor_endpoint.telemetry.span_sending import Dropped, SpanSender
from torpor_endpoint.telemetry.tracing import TraceObserver, Tracing

SERVICE = "torpor"
UNNAMED = "unknown_service"
"""The SDK's name of a service that has none."""
SDK_LOGS = ("trace_exporter", "metric_exporter")
SDK_LOGGED_EVERY_S = 60.0
"""The SDK writes several lines about each batch that a collector does not take: one in so many seconds is printed."""


class MetricSources(NamedTuple):
    """The metrics that are sent: those of these endpoints, after a `refresh`. A router has none: it counts for the
    control."""

    registry: MetricRegistry
    endpoints: Container[str]
    refresh: Callable[[], Awaitable[None]]


class Telemetry:
    """Everything that goes to the collector. For the event loop's thread."""

    def __init__(self, signals: Signals, sources: MetricSources | None, dropped: Dropped) -> None:
        """`dropped` gets the number of sampled requests of a variant whose spans are lost."""
        _quiet_the_sdk()
        self._every_s = signals.metrics_every_s
        self._sources = sources
        self._spans: SpanSender | None = None
        self._metrics: OtlpMetrics | None = None
        self.observers: list[BatchObserver] = []
        self._traced: TraceObserver | None = None
        resource = own_resource()
        sampler = TracerProvider(shutdown_on_exit=False).sampler if signals.traces else None
        self._tracing = Tracing(sampler, random.getrandbits, signals.baggage)
        if signals.traces:
            draw, limits = random.getrandbits, signals.queue
            self._spans = SpanSender(OTLPSpanExporter(), resource, dropped, time.perf_counter, draw, limits)
            self._traced = TraceObserver(self._tracing, self._spans)
            self.observers.append(self._traced)
        if signals.metrics and sources is not None:
            durations = RequestDurations()
            self.observers.append(durations)
            registry = sources.registry
            self._metrics = OtlpMetrics(registry, sources.endpoints, durations, resource, registry.clock())
            self._metric_exporter = OTLPMetricExporter()
        self._span_thread = LoneThread("the end of traces")
        self._metric_thread = LoneThread("metrics for the collector")

    def begin(self, request: Passage) -> None:
        """The step trace of a passage."""
        self._tracing.begin(request)

    def payloads(self, epoch: Callable[[], float], job: str, arn: str, pool: VariantPool) -> JobTraces | None:
        """The traces of a transform job's payloads; None where no traces are sent."""
        if self._traced is None:
            return None
        return JobTraces(job, arn, pool, self._tracing, self._traced, epoch, time.perf_counter)

    def settle(self) -> None:
        """Count what the collector did not take."""
        if self._spans is not None:
            self._spans.settle()

    async def run(self) -> None:
        """Send the metrics every so many seconds, for ever."""
        while True:
            await asyncio.sleep(self._every_s)
            await self._send_metrics()

    async def close(self) -> None:
        """Send what is left. Bound the time of this call: a collector that hangs takes as long as the SDK waits."""
        left = [self._send_metrics()]
        if self._spans is not None:
            left.append(_done(self._span_thread, self._spans.close))
        try:
            await asyncio.gather(*left)
        finally:
            for thread in (self._span_thread, self._metric_thread):
                thread.shutdown()

    async def _send_metrics(self) -> None:
        if self._metrics is None or self._sources is None:
            return
        await self._sources.refresh()
        data = self._metrics.now()
        await _done(self._metric_thread, lambda: self._export(data))

    def _export(self, data: MetricsData) -> None:
        self._metric_exporter.export(data)


async def _done(thread: LoneThread, work: Callable[[], None]) -> None:
    await asyncio.wrap_future(thread.submit(work))


def own_resource() -> Resource:
    """The service, as the variables name it, and else as `torpor`."""
    given = Resource.create()
    own = {"service.name": SERVICE, "service.version": _version(), "service.instance.id": str(uuid.uuid4())}
    missing = {name: value for name, value in own.items() if _is_missing(given.attributes.get(name))}
    return given.merge(Resource(missing))


def _is_missing(value: object) -> bool:
    return value is None or str(value).startswith(UNNAMED)


def _version() -> str:
    try:
        return version("torpor")
    except PackageNotFoundError:  # it runs from its sources
        return "0"


class NowAndThen(logging.Filter):
    """Lets one record through in so many seconds. `clock` gives steady seconds."""

    def __init__(self, every_s: float, clock: Callable[[], float]) -> None:
        super().__init__()
        self._every_s = every_s
        self._clock = clock
        self._last_s: float | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        now_s = self._clock()
        if self._last_s is not None and now_s - self._last_s < self._every_s:
            return False
        self._last_s = now_s
        return True


def _quiet_the_sdk(names: Sequence[str] = SDK_LOGS) -> None:
    for name in names:
        logger = logging.getLogger(f"opentelemetry.exporter.otlp.proto.http.{name}")
        logger.addFilter(NowAndThen(SDK_LOGGED_EVERY_S, time.perf_counter))
