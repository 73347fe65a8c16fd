"""A known story of calls in CloudWatch and Prometheus: exact counts, current when asked."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.request import urlopen

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put, script
from tests.endpoint.services.helpers.runtime_answers import refusal

RAISING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    raise ValueError("no")
"""
EXITING = RAISING.replace('raise ValueError("no")', "__import__('os')._exit(3)")
STORY: tuple[tuple[str | None, bytes], ...] = (
    ("good.json", ROW),  # a miss
    ("good.json", ROW),  # a hit
    ("/good.json", ROW),  # a hit: the same model
    ("good.json", b"1,2"),  # a hit, and the model's 400
    ("raising.tar.gz", ROW),  # a miss, and the model's 500
    ("raising.tar.gz", ROW),  # a hit, and the model's 500
    ("exiting.tar.gz", ROW),  # a miss, and no answer of the model
    ("torn.json", ROW),  # a miss: it cannot be loaded
    # What the platform refuses by itself never reached a model, and is in no metric.
    ("none.json", ROW),
    ("../none.json", ROW),
    (None, ROW),
)
CALLS, HITS = 8, 4

EXPECTED: tuple[tuple[str, str, str, float], ...] = (
    ("AWS/SageMaker", "Invocations", "Sum", CALLS),
    ("AWS/SageMaker", "InvocationsPerInstance", "Sum", CALLS),
    ("AWS/SageMaker", "Invocation4XXErrors", "Sum", 1),
    ("AWS/SageMaker", "Invocation4XXErrors", "SampleCount", CALLS),
    ("AWS/SageMaker", "Invocation5XXErrors", "Sum", 4),
    ("AWS/SageMaker", "InvocationModelErrors", "Sum", 5),
    ("AWS/SageMaker", "ModelLatency", "SampleCount", CALLS),
    ("AWS/SageMaker", "OverheadLatency", "SampleCount", CALLS),
    ("AWS/SageMaker", "ModelCacheHit", "SampleCount", CALLS),
    ("AWS/SageMaker", "ModelCacheHit", "Sum", HITS),
    ("AWS/SageMaker", "ModelCacheHit", "Average", HITS / CALLS),
    ("AWS/SageMaker", "ModelLoadingWaitTime", "SampleCount", CALLS - HITS),
    ("AWS/SageMaker", "ModelDownloadingTime", "SampleCount", 4),
    ("AWS/SageMaker", "ModelLoadingTime", "SampleCount", 3),
    ("AWS/SageMaker", "ModelUnloadingTime", "SampleCount", 1),  # the one whose process ended
    ("/aws/sagemaker/Endpoints", "LoadedModelCount", "Maximum", 2),
)
UNITS = {"ModelLatency": "Microseconds", "ModelCacheHit": "None", "LoadedModelCount": "None"}


@pytest.fixture(scope="module")
def counted(live: LiveEndpoint) -> str:
    """An endpoint with which exactly the story above has happened."""
    scripts = {"raising.tar.gz": script(RAISING), "exiting.tar.gz": script(EXITING)}
    put(live.folder("counted"), {"good.json": booster(), "torn.json": b"{", **scripts})
    name = live.deploy("Counted", Variant(many("counted")))
    for number, (target, body) in enumerate(STORY):
        request = {"TargetModel": target} if target is not None else {}
        if number < 3:
            live.invoke(name, body, **request)
        else:
            refusal(lambda body=body, request=request: live.invoke(name, body, **request))  # type: ignore[misc]
    return name


def dimensions(endpoint: str) -> list[dict[str, str]]:
    return [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": "AllTraffic"}]


def window() -> dict[str, Any]:
    """Ten minutes, in one period that holds all of the story."""
    now = datetime.now(UTC)
    return {"StartTime": now - timedelta(hours=12), "EndTime": now + timedelta(hours=12)}


@pytest.mark.parametrize(("namespace", "name", "statistic", "expected"), EXPECTED, ids=lambda value: str(value))
def test_every_call_is_counted_once(
    live: LiveEndpoint, counted: str, namespace: str, name: str, statistic: str, expected: float
) -> None:
    asked = {"Namespace": namespace, "MetricName": name, "Dimensions": dimensions(counted), "Statistics": [statistic]}
    answer = live.cloudwatch.get_metric_statistics(**asked, **window(), Period=86400)
    (point,) = answer["Datapoints"]
    assert point[statistic] == pytest.approx(expected)
    assert point["Unit"] == UNITS.get(name, point["Unit"])


def test_get_metric_data_has_the_hit_ratio_as_an_expression(live: LiveEndpoint, counted: str) -> None:
    def query(identity: str, name: str, statistic: str) -> dict[str, Any]:
        metric = {"Namespace": "AWS/SageMaker", "MetricName": name, "Dimensions": dimensions(counted)}
        return {"Id": identity, "MetricStat": {"Metric": metric, "Period": 86400, "Stat": statistic}}

    queries = [query("hits", "ModelCacheHit", "Sum"), query("calls", "Invocations", "Sum")]
    queries.append({"Id": "ratio", "Expression": "hits / calls"})
    results = live.cloudwatch.get_metric_data(MetricDataQueries=queries, **window())["MetricDataResults"]
    assert {result["Id"]: result["Values"] for result in results} == {"hits": [4], "calls": [8], "ratio": [0.5]}


def test_list_metrics_names_them_all(live: LiveEndpoint, counted: str) -> None:
    pages = live.cloudwatch.get_paginator("list_metrics").paginate(Dimensions=dimensions(counted))
    found = {(metric["Namespace"], metric["MetricName"]) for page in pages for metric in page["Metrics"]}
    assert {(namespace, name) for namespace, name, _, _ in EXPECTED} <= found
    assert {name for namespace, name in found if namespace.startswith("/aws")} >= {
        "MemoryUtilization",
        "DiskUtilization",
        "LoadedModelCount",
    }


def test_latencies_are_microseconds_and_add_up(live: LiveEndpoint, counted: str) -> None:
    def average(name: str) -> float:
        asked = {"Namespace": "AWS/SageMaker", "MetricName": name, "Dimensions": dimensions(counted)}
        points = live.cloudwatch.get_metric_statistics(**asked, **window(), Period=86400, Statistics=["Average"])
        return float(points["Datapoints"][0]["Average"])

    assert 10 < average("ModelLatency") < 10_000_000
    assert 1_000 < average("ModelLoadingWaitTime") < 10_000_000
    assert average("OverheadLatency") > 0


def test_prometheus_shows_the_same_counts(live: LiveEndpoint, counted: str) -> None:
    with urlopen(f"{live.url}/_torpor/metrics") as answer:
        lines = [line for line in answer.read().decode().splitlines() if f'="{counted}"' in line]
    shown = {line.partition("{")[0]: float(line.rpartition(" ")[2]) for line in lines if "quantile" not in line}
    assert CALLS in [value for name, value in shown.items() if "invocations" in name and "instance" not in name]
    assert any("model_cache_hit" in name and value == HITS for name, value in shown.items())


def test_a_single_model_endpoint_has_no_cache_metrics(live: LiveEndpoint, counted: str) -> None:
    put(live.folder("counted"), {"single.tar.gz": packed({"model.json": booster()})})
    live.deploy("Uncached", Variant(one("counted/single.tar.gz")))
    live.invoke("Uncached", ROW)
    listed = live.cloudwatch.list_metrics(Dimensions=dimensions("Uncached"))["Metrics"]
    names = {metric["MetricName"] for metric in listed}
    assert "Invocations" in names
    assert not names & {"ModelCacheHit", "LoadedModelCount", "ModelLoadingWaitTime"}
