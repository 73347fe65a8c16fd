"""Turns the endpoint's metrics into OTLP's: the samples of `MetricRegistry`, by the table in `metrics.metrics`.

A metric is named as OpenTelemetry's semantic conventions name it, where they have a name for the same thing, and else
`torpor.*`: then a collector that translates names for Prometheus gives it the name that it has on `/_torpor/metrics`.
Series are cumulative since the endpoint's start. It sends nothing.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import pairwise

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Metric as OtlpMetric
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from torpor_account.metrics.metrics import METRICS, Metric, Shown
from torpor_account.metrics.prometheus import SCALE, cumulative, level, series_of
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import Series
from torpor_account.metrics.tally import Tally
from torpor_endpoint.telemetry.durations import DURATION, RequestDurations

SCOPE = InstrumentationScope("torpor")
UNITS = {"Microseconds": "s", "Milliseconds": "s", "Seconds": "s", "Percent": "1", "Count": "1", "None": "1"}
DIMENSIONS = {
    "EndpointName": "torpor.endpoint",
    "VariantName": "torpor.variant",
    "ContainerName": "torpor.container",
    "Face": "torpor.face",
}
SUFFIXES = ("_seconds", "_ratio")
"""What Prometheus has for a unit. OpenTelemetry's names have none."""
CUMULATIVE = AggregationTemporality.CUMULATIVE


def otlp_name(metric: Metric) -> str:
    """The metric's name in OpenTelemetry."""
    if metric.convention:
        return metric.convention
    name = metric.prometheus
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name.replace("torpor_", "torpor.", 1)


class OtlpMetrics:
    """All metrics of the endpoints that exist, and the durations of requests. `began_s` is in epoch seconds.

    Call it in the thread that writes the samples, after a refresh of the gauges.
    """

    def __init__(
        self,
        registry: MetricRegistry,
        endpoints: Container[str],
        durations: RequestDurations,
        resource: Resource,
        began_s: float,
    ) -> None:
        self._registry = registry
        self._endpoints = endpoints
        self._durations = durations
        self._resource = resource
        self._began_ns = int(began_s * 1e9)

    def now(self) -> MetricsData:
        """Every metric that has samples."""
        now_s = self._registry.clock()
        times_ns = self._began_ns, int(now_s * 1e9)
        found = []
        for metric in METRICS:
            series = series_of(metric, self._registry, self._endpoints)
            if series:
                found.append(_described(metric, POINTS[metric.shown](metric, series, times_ns)))
        tallies = self._durations.of(self._endpoints)
        if tallies:
            points = [_histogram_point(dict(key), tally, times_ns, 1e-6, edges=True) for key, tally in tallies]
            meaning = "Duration of HTTP server requests."
            found.append(OtlpMetric(DURATION, meaning, "s", Histogram(points, CUMULATIVE)))
        scope = ScopeMetrics(SCOPE, found, "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])


Points = Sum | Gauge | Histogram
Times = tuple[int, int]
"""The beginning and the end of what a point covers, in nanoseconds since 1970."""


def _described(metric: Metric, points: Points) -> OtlpMetric:
    return OtlpMetric(otlp_name(metric), metric.meaning, UNITS[metric.unit], points)


def _counter(metric: Metric, series: Sequence[Series], times_ns: Times) -> Sum:
    points = [NumberDataPoint(_attributes(one), *times_ns, one.total().sum) for one in series]
    return Sum(points, CUMULATIVE, is_monotonic=True)


def _gauge(metric: Metric, series: Sequence[Series], times_ns: Times) -> Gauge:
    levels = [(one, level(metric, one, times_ns[1] / 1e9)) for one in series]
    return Gauge([NumberDataPoint(_attributes(one), *times_ns, value) for one, value in levels if value is not None])


def _histogram(metric: Metric, series: Sequence[Series], times_ns: Times) -> Histogram:
    scale = SCALE[metric.unit]
    points = [_histogram_point(_attributes(one), one.total(), times_ns, scale, edges=True) for one in series]
    return Histogram(points, CUMULATIVE)


def _summary(metric: Metric, series: Sequence[Series], times_ns: Times) -> Histogram:
    """Count and sum alone: a histogram of one bucket, as OTLP's own summary is for old protocols."""
    points = [_histogram_point(_attributes(one), one.total(), times_ns, 1.0, edges=False) for one in series]
    return Histogram(points, CUMULATIVE)


def _histogram_point(
    attributes: Mapping[str, str | int], tally: Tally, times_ns: Times, scale: float, edges: bool
) -> HistogramDataPoint:
    bounds, counts = [], [int(tally.count)]
    if edges:
        up_to = cumulative(tally)
        bounds = [float(edge) for edge, _ in up_to[:-1]]
        counts = [int(count - before) for (_, before), (_, count) in pairwise([("", 0.0), *up_to])]
    extremes = tally.minimum * scale, tally.maximum * scale
    return HistogramDataPoint(attributes, *times_ns, sum(counts), tally.sum * scale, counts, bounds, *extremes)


def _attributes(series: Series) -> dict[str, str | int]:
    return {DIMENSIONS[name]: value for name, value in series.key.dimensions}


POINTS: dict[Shown, Callable[[Metric, Sequence[Series], Times], Points]] = {
    Shown.COUNTER: _counter,
    Shown.SUMMARY: _summary,
    Shown.HISTOGRAM: _histogram,
    Shown.GAUGE_SUM: _gauge,
    Shown.GAUGE_MEAN: _gauge,
}
