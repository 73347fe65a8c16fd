"""One endpoint's charts by the minute: columns of equal length, from the metrics and from the ledger's cold starts.

A value is None where a minute has none. Production variants are added up; shadows answer nobody, and are left out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from torpor_account.metrics.distribution import percentile
from torpor_account.metrics.metrics import (
    INVOCATION_4XX_ERRORS,
    INVOCATION_5XX_ERRORS,
    INVOCATIONS,
    LOADED_MODEL_COUNT,
    MEMORY_UTILIZATION,
    MODEL_CACHE_HIT,
    MODEL_LATENCY,
    OVERHEAD_LATENCY,
    Metric,
)
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import MINUTE_S
from torpor_account.metrics.tally import Tally
from torpor_account.metrics.windows import PeriodWindow
from torpor_endpoint.dashboard.figures import MICROSECONDS, VariantName, by_variant, rounded
from torpor_endpoint.ledger.reader import ColdPeriod

POINTS_MAX = 360
"""The most points of a chart: a longer time has longer periods."""

OPEN_MIN_S = 10.0
"""A period that has lasted no longer has no values yet: a first second would look like a burst, or like a silence."""

Column = list[float | None]


def window_of(span_s: float, now_s: float) -> PeriodWindow:
    """The whole periods that end with the minute of `now_s` and cover `span_s` seconds."""
    minutes = max(1, round(span_s / MINUTE_S))
    period_s = MINUTE_S * -(-minutes // POINTS_MAX)
    end_s = (int(now_s) // period_s + 1) * period_s
    return PeriodWindow(end_s - max(1, round(span_s / period_s)) * period_s, end_s, period_s)


def charts(
    registry: MetricRegistry,
    production: Collection[VariantName],
    window: PeriodWindow,
    cold: Iterable[ColdPeriod],
    now_s: float,
) -> dict[str, Any]:
    """The columns. Latencies are in seconds, and `hit_ratio` is from 0 to 1. `requests_hz`, `errors_hz` and `cold_s`,
    the seconds that requests waited for instances and models, are for each second."""

    def tallies(*metrics: Metric) -> Mapping[int, Tally]:
        found = (by_variant(registry.find(metric.namespace, metric.name)) for metric in metrics)
        return window.tallies(series for known in found for variant, series in known.items() if variant in production)

    grid = window.grid
    requests, hits = tallies(INVOCATIONS), tallies(MODEL_CACHE_HIT)
    errors = tallies(INVOCATION_4XX_ERRORS, INVOCATION_5XX_ERRORS)
    latency, overhead = tallies(MODEL_LATENCY), tallies(OVERHEAD_LATENCY)
    models, memory = tallies(LOADED_MODEL_COUNT), tallies(MEMORY_UTILIZATION)
    minutes = window.period_s / MINUTE_S  # an instance reports a level once a minute
    waited_s = {period.at_s: period.waited_s for period in cold}

    def each_second(at_s: int, total: float) -> float | None:
        lasted_s = min(window.period_s, now_s - at_s)
        return None if lasted_s < OPEN_MIN_S else rounded(total, lasted_s)

    def level(at_s: int, total: float) -> float | None:
        """Of the open period, only if an instance has reported in it. In any other, silence is that of no instance."""
        return None if not total and now_s < at_s + window.period_s else round(total / minutes, 2)

    return {
        "period_s": window.period_s,
        "at_s": list(grid),
        "requests_hz": [each_second(at_s, _sum(requests.get(at_s))) for at_s in grid],
        "errors_hz": [each_second(at_s, _sum(errors.get(at_s))) for at_s in grid],
        "hit_ratio": [_mean(hits.get(at_s)) for at_s in grid],
        "p50_s": _percentiles(latency, grid, 0.5),
        "p99_s": _percentiles(latency, grid, 0.99),
        "outside_p99_s": _percentiles(overhead, grid, 0.99),
        "models": [level(at_s, _sum(models.get(at_s))) for at_s in grid],
        "instances": [level(at_s, _count(memory.get(at_s))) for at_s in grid],
        "cold_s": [each_second(at_s, waited_s.get(at_s, 0.0)) for at_s in grid],
    }


def _sum(tally: Tally | None) -> float:
    return 0.0 if tally is None else tally.sum


def _count(tally: Tally | None) -> float:
    return 0.0 if tally is None else tally.count


def _mean(tally: Tally | None) -> float | None:
    return None if tally is None or not tally.count else round(tally.sum / tally.count, 4)


def _percentiles(tallies: Mapping[int, Tally], grid: Sequence[int], share: float) -> Column:
    return [rounded(percentile(tallies[at_s], share), MICROSECONDS) if at_s in tallies else None for at_s in grid]
