"""The traffic of a variant on the page of endpoints, from the metrics of the last minutes."""

import pytest

from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.core.pages.state import VariantTraffic
from torpor_endpoint.pages.recent_traffic import RecentTraffic
from torpor_endpoint.runtime.observing.meter import AlikeRequests, Meters

NOON_S = 1_800_000_000.0  # a whole minute


def test_a_variant_without_requests_has_no_figures() -> None:
    found = RecentTraffic(MetricRegistry(lambda: NOON_S + 30)).of("houses", "a")
    assert found == VariantTraffic(recent_s=90.0)


def test_counts_are_since_the_start_and_figures_of_the_last_two_minutes() -> None:
    registry = MetricRegistry(lambda: NOON_S + 30)
    meters = Meters(registry)
    meters.of("houses", "a").add_cold_start(0.5, NOON_S - 600)
    meters.add("houses", "a", AlikeRequests(1, 500, False, [9.0], [0.0], [1.0]), NOON_S - 600)
    meters.add("houses", "a", AlikeRequests(1, 200, True, [0.010] * 98, [0.0] * 98, ()), NOON_S - 60)
    meters.add("houses", "a", AlikeRequests(1, 200, False, [1.0] * 2, [0.0] * 2, [0.5] * 2), NOON_S)
    meters.add("houses", "b", AlikeRequests(1, 200, True, [5.0], [0.0], ()), NOON_S)
    found = RecentTraffic(registry).of("houses", "a")
    assert (found.requests, found.cold, found.failed) == (101, 1, 1)
    assert (found.recent_s, found.recent_requests) == (90.0, 100)
    assert found.hit_ratio == pytest.approx(0.98)
    assert found.p50_s == pytest.approx(0.010, rel=0.02)
    assert found.p99_s == pytest.approx(1.0, rel=0.02)
