"""The charts' columns, from metrics and cold starts by the minute."""

import pytest

from torpor_account.metrics.metrics import INVOCATIONS, LOADED_MODEL_COUNT, MODEL_CACHE_HIT, MODEL_LATENCY
from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.dashboard.charts import POINTS_MAX, charts, window_of
from torpor_endpoint.dashboard.figures import figures, rounded
from torpor_endpoint.ledger.reader import ColdPeriod

NOON_S = 1_800_000_000
OURS = {"EndpointName": "houses", "VariantName": "v"}
SHADOW = {**OURS, "VariantName": "shadow"}
PRODUCTION = {("houses", "v")}


def registry() -> MetricRegistry:
    """Two requests in the first minute after noon, a thirty in the third, and as many to a shadow."""
    made = MetricRegistry(lambda: NOON_S)
    for at_s, count in ((NOON_S, 2), (NOON_S + 120, 30)):
        for dimensions in (OURS, SHADOW):
            made.series(INVOCATIONS, dimensions).add(1.0, at_s, count)
            made.series(MODEL_CACHE_HIT, dimensions).add_all([1.0, 0.0] * (count // 2), at_s)
            made.series(MODEL_LATENCY, dimensions).add(5_000.0, at_s, count)
    for instance, models in (("i-1", 3.0), ("i-2", 4.0)):
        made.series(LOADED_MODEL_COUNT, OURS).put(instance, models, NOON_S + 120)
    return made


def test_columns_have_a_value_for_each_minute() -> None:
    window = window_of(180, NOON_S + 150)
    found = charts(registry(), PRODUCTION, window, [ColdPeriod(NOON_S, 1, 0.6)], NOON_S + 150)
    assert found["at_s"] == [NOON_S, NOON_S + 60, NOON_S + 120]
    assert found["requests_hz"] == [0.0333, 0.0, 1.0]  # the open minute has lasted for 30 s
    assert found["hit_ratio"] == [0.5, None, 0.5]
    assert found["p99_s"] == [pytest.approx(0.005, rel=0.02), None, pytest.approx(0.005, rel=0.02)]
    assert found["models"] == [0.0, 0.0, 7.0]
    assert found["cold_s"] == [0.01, 0.0, 0.0]


def test_a_minute_that_has_just_begun_has_no_values_yet() -> None:
    found = charts(registry(), PRODUCTION, window_of(120, NOON_S + 183), [], NOON_S + 183)
    assert found["at_s"] == [NOON_S + 120, NOON_S + 180]
    columns = ("requests_hz", "cold_s", "models", "instances")
    assert [found[name][-1] for name in columns] == [None] * 4
    assert (found["requests_hz"][0], found["models"][0]) == (0.5, 7.0)


@pytest.mark.parametrize(("span_s", "period_s"), [(60, 60), (3600, 60), (21_600, 60), (86_400, 240)])
def test_a_long_time_has_longer_periods(span_s: float, period_s: int) -> None:
    window = window_of(span_s, NOON_S + 1)
    assert (window.period_s, window.end_s - window.start_s) == (period_s, span_s)
    assert window.periods <= POINTS_MAX
    assert window.start_s % period_s == 0
    assert window.end_s - period_s <= NOON_S + 1 < window.end_s


def test_figures_are_those_since_the_start_and_lately() -> None:
    metrics = registry()
    now = figures(metrics, NOON_S + 150)[("houses", "v")]
    assert (now.requests, now.looked_up, now.hits, now.errors) == (32, 32, 16, 0)
    assert now.p50_s == pytest.approx(0.005, rel=0.02)
    later = figures(metrics, NOON_S + 3600)[("houses", "v")]
    assert (later.requests, later.p50_s) == (32, None)
    assert "p50_s" not in later.record()


def test_looking_creates_no_series() -> None:
    empty = MetricRegistry(lambda: NOON_S)
    assert figures(empty, NOON_S) == {}
    charts(empty, PRODUCTION, window_of(60, NOON_S), [], NOON_S)
    assert list(empty.find()) == []


@pytest.mark.parametrize(("value", "shown"), [(0.0, 0.0), (123_456.0, 123_000.0), (0.0012345, 0.00123), (None, None)])
def test_figures_are_rounded_to_three_digits(value: float | None, shown: float | None) -> None:
    assert rounded(value) == shown
