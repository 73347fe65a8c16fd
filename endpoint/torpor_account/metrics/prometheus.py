"""Writes the metrics for Prometheus, in base units, by the names in the metric table. It leaves out custom metrics."""

from collections.abc import Callable, Container, Iterator
from itertools import accumulate

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.core import (
    Metric as Family,
)
from prometheus_client.registry import Collector

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


PORTION = 32
"""So many series are written at once: a few milliseconds, if they are histograms."""

HEAD_LINES = 2
"""A family's text begins with its meaning and its type."""

Mark = tuple[float, ...] | float | None
"""What the samples of a series follow from."""


class MetricPage:
    """The page of a registry, in portions. It keeps the text of each series until the series changes."""

    def __init__(self, registry: MetricRegistry) -> None:
        self._registry = registry
        self._kept: dict[Series, tuple[Mark, bytes]] = {}

    def portions(self, endpoints: Container[str]) -> Iterator[bytes]:
        """The page of these endpoints, of type CONTENT_TYPE, in pieces of PORTION series at most.

        Take each piece in the thread that writes the samples; it may do other things between two pieces. Refresh the
        gauges before the first one. Deleted endpoints are left out; CloudWatch has them.
        """
        kept: dict[Series, tuple[Mark, bytes]] = {}
        for metric in METRICS:
            series = series_of(metric, self._registry, endpoints)
            if series:
                yield self._text(metric, [])
            for first in range(0, len(series), PORTION):
                piece = {one: self._samples(metric, one) for one in series[first : first + PORTION]}
                yield b"".join([samples for _, samples in piece.values()])
                kept |= piece
        self._kept = kept

    def _samples(self, metric: Metric, series: Series) -> tuple[Mark, bytes]:
        """The mark of the series, and its lines."""
        mark = level(metric, series, self._registry.clock()) if metric.shown in GAUGES else series.mark
        known = self._kept.get(series)
        if known is not None and known[0] == mark:
            return known
        return mark, self._text(metric, [series]).split(b"\n", HEAD_LINES)[HEAD_LINES]

    def _text(self, metric: Metric, series: list[Series]) -> bytes:
        """The family of a metric, with the samples of these series."""
        return generate_latest(_Families([FAMILIES[metric.shown](metric, series, self._registry.clock())]))


class _Families(Collector):
    """What prometheus_client writes as a page."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> list[Family]:
        return self._families


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
GAUGES = frozenset((Shown.GAUGE_SUM, Shown.GAUGE_MEAN))
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
