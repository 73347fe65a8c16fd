"""The metrics for a collector: the same series and numbers as on the page for Prometheus."""

from typing import Any

from opentelemetry.sdk.metrics.export import Histogram
from opentelemetry.sdk.resources import Resource
from prometheus_client.parser import text_string_to_metric_families

from tests.helpers.metric_pages import written
from torpor_account.metrics import metrics
from torpor_account.metrics.metrics import METRICS, Shown
from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.telemetry.durations import RequestDurations
from torpor_endpoint.telemetry.otlp_metrics import UNITS, OtlpMetrics, otlp_name

NOW_S = 1.7e9
SHOP = {"EndpointName": "shop", "VariantName": "v"}
GONE = {"EndpointName": "gone", "VariantName": "v"}


def registry() -> MetricRegistry:
    """A series of each kind, for an endpoint that exists and for one that does not."""
    made = MetricRegistry(lambda: NOW_S)
    for dimensions in (SHOP, GONE):
        made.series(metrics.INVOCATIONS, dimensions).add(1, NOW_S, 3)
        made.series(metrics.MODEL_LATENCY, dimensions).add_all([300.0, 5000.0, 7.5e5, 1e12], NOW_S)
        made.series(metrics.MODEL_CACHE_HIT, dimensions).add_all([True, False, True], NOW_S)
        made.series(metrics.MEMORY_UTILIZATION, dimensions).put("i-1", 25.0, NOW_S)
        made.series(metrics.LOADED_MODEL_COUNT, dimensions).put("i-1", 4.0, NOW_S)
    return made


def sent(of: MetricRegistry) -> dict[str, Any]:
    (resource,) = OtlpMetrics(of, {"shop"}, RequestDurations(), Resource({}), NOW_S - 60).now().resource_metrics
    return {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}


def test_a_sample_of_every_metric_has_its_dimensions_as_attributes() -> None:
    held = MetricRegistry(lambda: NOW_S)
    for metric in METRICS:
        series = held.series(metric, dict.fromkeys(metric.dimensions, "shop"))
        series.put("i-1", 1.0, NOW_S) if "GAUGE" in metric.shown.name else series.add(1, NOW_S, 1)
    points = [(name, point.attributes) for name, one in sent(held).items() for point in one.data.data_points]
    assert {name for name, _ in points} == {
        otlp_name(metric) for metric in METRICS if "EndpointName" in metric.dimensions
    }
    assert all(attributes["torpor.endpoint"] == "shop" for _, attributes in points)


def test_the_numbers_are_those_of_the_page_for_prometheus() -> None:
    held = registry()
    page = {
        (sample.name, sample.labels.get("le")): sample.value
        for family in text_string_to_metric_families(written(held, {"shop"}))
        for sample in family.samples
    }
    found: dict[tuple[str, str | None], float] = {}
    for metric in METRICS:
        for one in [one for name, one in sent(held).items() if name == otlp_name(metric)]:
            (point,) = one.data.data_points
            if isinstance(one.data, Histogram):
                found[f"{metric.prometheus}_count", None] = point.count
                found[f"{metric.prometheus}_sum", None] = point.sum
                edges = [*map(str, point.explicit_bounds), "+Inf"] if point.explicit_bounds else []
                for at, edge in enumerate(edges):
                    found[f"{metric.prometheus}_bucket", edge] = sum(point.bucket_counts[: at + 1])
            else:
                total = "_total" if metric.shown is Shown.COUNTER else ""
                found[metric.prometheus + total, None] = point.value
    assert {name: value for name, value in page.items() if not name[0].endswith("_created")} == found


def test_only_endpoints_that_exist_are_sent_and_points_begin_with_the_endpoint() -> None:
    for metric in sent(registry()).values():
        (point,) = metric.data.data_points
        assert point.attributes == {"torpor.endpoint": "shop", "torpor.variant": "v"}
        assert (point.start_time_unix_nano, point.time_unix_nano) == (int((NOW_S - 60) * 1e9), int(NOW_S * 1e9))


def test_each_metric_has_a_name_of_its_own_without_a_unit_in_it() -> None:
    names = [otlp_name(metric) for metric in METRICS]
    assert len(set(names)) == len(names)
    assert not [
        name for name in names if name.endswith(("_seconds", "_ratio")) or not name.startswith(("torpor.", "faas."))
    ]


def test_names_become_those_of_the_page_again_where_a_collector_translates_them() -> None:
    """Prometheus's translation: dots become underscores, and the unit and the kind are suffixes."""
    units = {"Microseconds": "_seconds", "Milliseconds": "_seconds", "Seconds": "_seconds", "Percent": "_ratio"}
    for metric in METRICS:
        if not metric.convention and metric.shown is not Shown.SUMMARY:
            translated = otlp_name(metric).replace(".", "_") + units.get(metric.unit, "")
            assert translated == metric.prometheus


def test_each_unit_of_a_metric_has_one_of_opentelemetry() -> None:
    assert {metric.unit for metric in METRICS} <= set(UNITS)


def test_without_samples_nothing_is_sent() -> None:
    assert sent(MetricRegistry(lambda: NOW_S)) == {}
