"""Writes the metrics for Prometheus, in base units, by the names in the metric table. It leaves out custom metrics."""

from collections.abc import Callable, Container, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.core import (
    Metric as Family,
)

from torpor_account.metrics.metrics import METRICS, Metric, Shown
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import Series
from torpor_account.metrics.sketch import ONE, STEPS_PER_DOUBLING
from torpor_account.metrics.tally import Tally

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SCALE = {"Microseconds": 1e-6, "Milliseconds": 1e-3, "Percent": 1e-2}
"""The factor from a CloudWatch unit to Prometheus's base unit; 1 for any other unit."""

DOUBLINGS = range(8, 30)
"""Histogram edges are powers of two in microseconds, from 256 us to 537 s: steps of the sketch end there too."""

FRESH_S = 300
"""A gauge is not shown if its newest sample is older than this: the instance is gone."""


def exposition(registry: MetricRegistry, endpoints: Container[str]) -> bytes:
    """The page of these endpoints, of type CONTENT_TYPE. Call it in the thread that writes the samples, after a
    refresh of the gauges."""
    page = CollectorRegistry()
    page.register(PrometheusCollector(registry, endpoints))
    return generate_latest(page)


class PrometheusCollector:
    """A custom collector of prometheus_client over a `MetricRegistry`. It leaves out deleted endpoints; CloudWatch has
    them."""

    def __init__(self, registry: MetricRegistry, endpoints: Container[str]) -> None:
        self._registry = registry
        self._endpoints = endpoints

    def describe(self) -> list[Family]:
        """Nothing beforehand: the families depend on the endpoints."""
        return []

    def collect(self) -> Iterator[Family]:
        for metric in METRICS:
            series = series_of(metric, self._registry, self._endpoints)
            if series:
                yield FAMILIES[metric.shown](metric, series, self._registry.clock())


def series_of(metric: Metric, registry: MetricRegistry, endpoints: Container[str]) -> list[Series]:
    """The metric's series of these endpoints, sorted by their dimensions."""
    found = registry.find(metric.namespace, metric.name)
    series = [one for one in found if one.key.endpoint in endpoints and _has(metric.dimensions, one)]
    return sorted(series, key=lambda one: one.key.dimensions)


def _counter(metric: Metric, series: list[Series], now_s: float) -> Family:
    family = CounterMetricFamily(metric.prometheus, metric.meaning, labels=_names(metric))
    for one in series:
        family.add_metric(_values(metric, one), one.total().sum)
    return family


def _summary(metric: Metric, series: list[Series], now_s: float) -> Family:
    family = SummaryMetricFamily(metric.prometheus, metric.meaning, labels=_names(metric))
    for one in series:
        total = one.total()
        family.add_metric(_values(metric, one), count_value=int(total.count), sum_value=total.sum)
    return family


def _histogram(metric: Metric, series: list[Series], now_s: float) -> Family:
    family = HistogramMetricFamily(metric.prometheus, metric.meaning, labels=_names(metric))
    for one in series:
        total = one.total()
        family.add_metric(_values(metric, one), cumulative(total), total.sum * SCALE[metric.unit])
    return family


def _gauge(metric: Metric, series: list[Series], now_s: float) -> Family:
    family = GaugeMetricFamily(metric.prometheus, metric.meaning, labels=_names(metric))
    for one in series:
        if (shown := level(metric, one, now_s)) is not None:
            family.add_metric(_values(metric, one), shown)
    return family


def level(metric: Metric, series: Series, now_s: float) -> float | None:
    """The level of a gauge in base units; None if its newest sample is too old to be shown."""
    latest = series.latest()
    if latest is None or now_s - latest[0] >= FRESH_S:
        return None
    tally = latest[1]
    return (tally.sum if metric.shown is Shown.GAUGE_SUM else tally.sum / tally.count) * SCALE.get(metric.unit, 1.0)


KINDS = {shown: shown.partition(",")[0] for shown in Shown}
"""Prometheus's name of the type, such as `gauge` for both kinds of gauge."""
SUFFIXES = {Shown.COUNTER: "_total"}
"""The suffix that prometheus_client adds to the name on the page."""


def exposed(metric: Metric) -> str:
    """The metric's name on the page. Histograms and summaries also have `_sum` and `_count`, histograms `_bucket`."""
    return metric.prometheus + SUFFIXES.get(metric.shown, "")


FAMILIES: dict[Shown, Callable[[Metric, list[Series], float], Family]] = {
    Shown.COUNTER: _counter,
    Shown.SUMMARY: _summary,
    Shown.HISTOGRAM: _histogram,
    Shown.GAUGE_SUM: _gauge,
    Shown.GAUGE_MEAN: _gauge,
}


def cumulative(total: Tally) -> list[tuple[str, float]]:
    """For each edge in seconds, the number of samples up to it, which are in microseconds; `+Inf` is last."""
    counts = [0.0] * (len(DOUBLINGS) + 1)
    for at, count in total.items():
        doubling = -((ONE - at) // STEPS_PER_DOUBLING)  # the first power of two that is at least the value
        counts[min(max(doubling - DOUBLINGS.start, 0), len(DOUBLINGS))] += count
    edges = [*(repr(2**doubling / 1e6) for doubling in DOUBLINGS), "+Inf"]
    return list(zip(edges, accumulate(counts), strict=True))


def _has(dimensions: tuple[str, ...], series: Series) -> bool:
    """Whether these are the dimensions of the series: one name may have series of variants and of containers."""
    return {name for name, _ in series.key.dimensions} == set(dimensions)


def _names(metric: Metric) -> list[str]:
    """The labels: `EndpointName` becomes `endpoint_name`."""
    return ["".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_") for name in metric.dimensions]


def _values(metric: Metric, series: Series) -> list[str]:
    dimensions = dict(series.key.dimensions)
    return [dimensions[name] for name in metric.dimensions]
