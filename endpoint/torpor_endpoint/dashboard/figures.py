"""The figures of each variant right now, from the metrics. It only reads: asking for a figure creates no series."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import floor, log10
from typing import Any

from torpor_account.metrics.distribution import percentile
from torpor_account.metrics.metrics import (
    INVOCATION_4XX_ERRORS,
    INVOCATION_5XX_ERRORS,
    INVOCATIONS,
    MODEL_CACHE_HIT,
    MODEL_LATENCY,
    VARIANT,
    Metric,
)
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import MINUTE_S, Series
from torpor_account.metrics.tally import Tally, merged

VariantName = tuple[str, str]
"""An endpoint's name and a variant's."""

RECENT_S = 2 * MINUTE_S
"""Percentiles are of the open minute and the one before it."""
MICROSECONDS = 1e6


@dataclass(frozen=True)
class VariantFigures:
    """Counts since the endpoint started, and the latency of the last one to two minutes, in seconds."""

    requests: int = 0
    errors: int = 0
    looked_up: int = 0  # requests for a model of many
    hits: int = 0  # of those, the ones that found it in memory
    p50_s: float | None = None
    p99_s: float | None = None

    def record(self) -> dict[str, Any]:
        """The figures that are known, for a snapshot."""
        known = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in known if value is not None}


def figures(registry: MetricRegistry, now_s: float) -> dict[VariantName, VariantFigures]:
    """The figures of every variant that has had a request."""
    errors = [_by_variant(registry, metric) for metric in (INVOCATION_4XX_ERRORS, INVOCATION_5XX_ERRORS)]
    hits, latencies = _by_variant(registry, MODEL_CACHE_HIT), _by_variant(registry, MODEL_LATENCY)
    found = {}
    for variant, series in _by_variant(registry, INVOCATIONS).items():
        looked_up = hits[variant].total() if variant in hits else Tally()
        p50_s, p99_s = _latency(latencies.get(variant), now_s)
        found[variant] = VariantFigures(
            requests=round(series.total().sum),
            errors=round(sum(kind[variant].total().sum for kind in errors if variant in kind)),
            looked_up=round(looked_up.count),
            hits=round(looked_up.sum),
            p50_s=p50_s,
            p99_s=p99_s,
        )
    return found


def by_variant(series: Iterable[Series]) -> dict[VariantName, Series]:
    """The series of whole variants, by variant. Those of a container or of a deployment have further dimensions."""
    named = ((dict(one.key.dimensions), one) for one in series)
    return {(of["EndpointName"], of["VariantName"]): one for of, one in named if of.keys() == set(VARIANT)}


def _by_variant(registry: MetricRegistry, metric: Metric) -> dict[VariantName, Series]:
    return by_variant(registry.find(metric.namespace, metric.name))


def _latency(series: Series | None, now_s: float) -> tuple[float | None, float | None]:
    """The median and the 99th percentile; None without a recent request."""
    recent = [] if series is None else [tally for _, tally in series.buckets(now_s - RECENT_S, now_s + MINUTE_S)]
    if not recent:
        return None, None
    tally = merged(recent)
    p50, p99 = percentile(tally, 0.5), percentile(tally, 0.99)
    return rounded(p50, MICROSECONDS), rounded(p99, MICROSECONDS)


def rounded(value: float | None, divisor: float = 1.0) -> float | None:
    """The quotient to three figures: the sketch knows no more, and the feed sends what differs."""
    if value is None or value == 0:
        return value
    quotient = value / divisor
    return round(quotient, 2 - floor(log10(abs(quotient))))
