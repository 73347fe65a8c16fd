import asyncio
from pathlib import Path
from typing import Any, Never

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.helpers.ledger_with_pages import answer
from tests.helpers.metric_pages import written
from torpor_account.cloudwatch.list_metrics import list_metrics
from torpor_account.cloudwatch.put_metric_data import put_metric_data
from torpor_account.metrics.metrics import (
    INVOCATIONS,
    LOADED_MODEL_COUNT,
    MEMORY_UTILIZATION,
    METRICS,
    MODEL_CACHE_HIT,
    MODEL_LATENCY,
    SAGEMAKER,
    TORPOR,
)
from torpor_account.metrics.prometheus import FRESH_S, PORTION, MetricPage
from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.pages.app import OwnPages

NOON_S = 1_772_366_400
VARIANT = {"EndpointName": "houses", "VariantName": "AllTraffic"}
LABELS = {"endpoint_name": "houses", "variant_name": "AllTraffic"}


def page(registry: MetricRegistry) -> dict[tuple[str, str], float]:
    """Samples by name and, for a histogram, edge."""
    return {
        (sample.name, sample.labels.get("le", "")): sample.value
        for family in text_string_to_metric_families(written(registry, {"houses"}))
        for sample in family.samples
        if sample.labels.items() >= LABELS.items()
    }


def test_counters_go_on_counting_from_minute_to_minute() -> None:
    registry = MetricRegistry(lambda: NOON_S)
    invocations = registry.series(INVOCATIONS, VARIANT)
    seen = []
    for number in range(5):
        invocations.add(1, NOON_S + 40 * number)
        seen.append(page(registry)[("torpor_invocations_total", "")])
    assert seen == [1, 2, 3, 4, 5]


def test_latencies_are_histograms_in_seconds() -> None:
    registry = MetricRegistry(lambda: NOON_S)
    for microseconds in (100, 256, 257, 512, 5_000, 10**12):
        registry.series(MODEL_LATENCY, VARIANT).add(microseconds, NOON_S)
    shown = page(registry)
    name = "torpor_model_latency_seconds"
    edges = ("0.000256", "0.000512", "0.004096", "0.008192", "+Inf")
    assert [shown[(f"{name}_bucket", edge)] for edge in edges] == [2, 4, 4, 5, 6]
    assert shown[(f"{name}_count", "")] == 6
    assert abs(shown[(f"{name}_sum", "")] - 1_000_000.006125) < 1e-6


def test_the_hit_ratio_is_sum_over_count() -> None:
    registry = MetricRegistry(lambda: NOON_S)
    for hit in (0.0, 1.0, 1.0):
        registry.series(MODEL_CACHE_HIT, VARIANT).add(hit, NOON_S)
    shown = page(registry)
    assert (shown[("torpor_model_cache_hit_sum", "")], shown[("torpor_model_cache_hit_count", "")]) == (2, 3)


def test_gauges_show_the_newest_minute_until_it_is_stale() -> None:
    now = [NOON_S]
    registry = MetricRegistry(lambda: now[0])
    for instance, models in (("a", 3), ("b", 4)):
        registry.series(LOADED_MODEL_COUNT, VARIANT).put(instance, models, NOON_S)
        registry.series(MEMORY_UTILIZATION, VARIANT).put(instance, 25 * models - 50, NOON_S)
    shown = page(registry)
    assert (shown[("torpor_loaded_models", "")], shown[("torpor_memory_utilization_ratio", "")]) == (7, 0.375)
    now[0] += 600
    assert page(registry) == {}


def test_deleted_endpoints_leave_the_page_and_stay_in_cloudwatch() -> None:
    now = [NOON_S]
    registry = MetricRegistry(lambda: now[0])
    roster = FleetRoster()
    for name in ("houses", "villas"):
        roster.serve(FleetEndpoint(name, "arn"))
        registry.series(INVOCATIONS, {**VARIANT, "EndpointName": name}).add(1, NOON_S)
    own = OwnPages(roster, registry, lambda: asyncio.sleep(0), Path(), never, never, never).app()

    def shown() -> list[str]:
        _, body = asyncio.run(answer(own, "/_torpor/metrics"))
        families = text_string_to_metric_families(body.decode())
        return [sample.labels["endpoint_name"] for family in families for sample in family.samples]

    assert shown() == ["houses", "villas"]
    roster.stop("houses")
    assert shown() == ["villas"]
    assert len(list_metrics(registry, {})["Metrics"]) == 2


def never() -> Never:
    raise AssertionError("nobody asks for costs")


def test_every_metric_of_the_table_is_shown_and_custom_ones_are_not() -> None:
    registry = MetricRegistry(lambda: NOON_S)
    for metric in METRICS:
        registry.series(metric, dict.fromkeys(metric.dimensions, "houses")).add(1, NOON_S)
    put_metric_data(registry, {"Namespace": "shop", "MetricData": [{"MetricName": "Orders", "Value": 1.0}]})
    shown = written(registry, {"houses"})
    for metric in METRICS:
        assert f"\n{metric.prometheus}" in shown, metric
    assert "rders" not in shown
    assert {metric.namespace for metric in METRICS} == {SAGEMAKER, "/aws/sagemaker/Endpoints", TORPOR}


def test_the_page_comes_in_portions_and_only_what_changed_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [NOON_S]
    registry = MetricRegistry(lambda: now[0])
    names = [f"endpoint-{number:03}" for number in range(2 * PORTION + 1)]
    for name in names:
        registry.series(MODEL_LATENCY, {**VARIANT, "EndpointName": name}).add(300.0, NOON_S)
        registry.series(LOADED_MODEL_COUNT, {**VARIANT, "EndpointName": name}).put("i-1", 2.0, NOON_S)
    texts: list[int] = []

    def counted(families: Any) -> bytes:
        texts.append(sum(bool(family.samples) for family in families.collect()))
        return generate_latest(families)

    monkeypatch.setattr("torpor_account.metrics.prometheus.generate_latest", counted)
    held = MetricPage(registry)
    first = list(held.portions(names))
    assert [portion.count(b"_sum{") for portion in first if b"latency" in portion] == [0, PORTION, PORTION, 1]
    assert sum(texts) == 2 * len(names)
    texts.clear()
    registry.series(MODEL_LATENCY, {**VARIANT, "EndpointName": names[7]}).add(300.0, NOON_S)
    registry.series(LOADED_MODEL_COUNT, {**VARIANT, "EndpointName": names[9]}).put("i-1", 3.0, NOON_S)
    assert b"".join(held.portions(names)).decode() == written(registry, names) != b"".join(first).decode()
    assert sum(texts) == 2 + 2 * len(names)  # the other page wrote all
    texts.clear()
    now[0] += FRESH_S
    assert b"".join(held.portions(names)).count(b"loaded_models{") == sum(texts) == 0
