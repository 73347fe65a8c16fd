"""CloudWatch through real boto3 clients, in each protocol that one speaks or spoke."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from torpor_account.aws.in_process import client
from torpor_account.cloudwatch.service import OPERATIONS, CloudWatch
from torpor_account.cloudwatch.service import service as cloudwatch_service
from torpor_account.metrics.metrics import INVOCATIONS, LOADED_MODEL_COUNT, MODEL_CACHE_HIT, MODEL_LATENCY
from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.runtime.observing.meter import AlikeRequests, VariantMeter

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_S = NOON.timestamp()
VARIANT = {"EndpointName": "houses", "VariantName": "AllTraffic"}
DIMENSIONS = [{"Name": name, "Value": value} for name, value in VARIANT.items()]
LATENCY = {"Namespace": "AWS/SageMaker", "MetricName": "ModelLatency", "Dimensions": DIMENSIONS}
PROTOCOLS = ["json", "query", "smithy-rpc-v2-cbor"]


@pytest.fixture(scope="module")
def only_registry() -> MetricRegistry:
    return MetricRegistry(lambda: NOON_S + 300)


@pytest.fixture
def registry(only_registry: MetricRegistry) -> MetricRegistry:
    only_registry.forget({})
    return only_registry


@pytest.fixture(scope="module", params=PROTOCOLS)
def boto_client(request: pytest.FixtureRequest, only_registry: MetricRegistry) -> Any:
    return client(cloudwatch_service(CloudWatch(only_registry), account="123456789012"), protocol=request.param)


@pytest.fixture
def boto(boto_client: Any, registry: MetricRegistry) -> Any:
    """One client for each protocol, over a registry that is empty when a test begins."""
    return boto_client


def one_protocol(registry: MetricRegistry) -> Any:
    return client(cloudwatch_service(CloudWatch(registry), account="123456789012"))


def latencies(registry: MetricRegistry) -> None:
    series = registry.series(MODEL_LATENCY, VARIANT)
    for minute in range(4):
        for value in (1000, 2000, 3000):
            series.add(value * (minute + 1), NOON_S + 60 * minute + 7)


def code(caught: pytest.ExceptionInfo[ClientError]) -> str:
    return str(caught.value.response["Error"]["Code"])


def span(minutes: int = 4) -> dict[str, Any]:
    return {"StartTime": NOON, "EndTime": NOON + timedelta(minutes=minutes)}


def test_statistics_of_each_period(boto: Any, registry: MetricRegistry) -> None:
    latencies(registry)
    every = ["SampleCount", "Average", "Sum", "Minimum", "Maximum"]
    answer = boto.get_metric_statistics(**LATENCY, **span(), Period=120, Statistics=every)
    assert answer["Label"] == "ModelLatency"
    first, second = answer["Datapoints"]
    assert first == {
        "Timestamp": NOON,
        "Unit": "Microseconds",
        "SampleCount": 6.0,
        "Average": 3000.0,
        "Sum": 18000.0,
        "Minimum": 1000.0,
        "Maximum": 6000.0,
    }
    assert (second["Timestamp"], second["Sum"]) == (NOON + timedelta(minutes=2), 42000.0)


def test_periods_are_aligned_to_the_start_rounded_down_to_its_minute(boto: Any, registry: MetricRegistry) -> None:
    latencies(registry)
    start = NOON + timedelta(seconds=90)
    answer = boto.get_metric_statistics(
        **LATENCY, StartTime=start, EndTime=NOON + timedelta(hours=1), Period=3600, Statistics=["SampleCount"]
    )
    (point,) = answer["Datapoints"]
    assert (point["Timestamp"], point["SampleCount"]) == (NOON + timedelta(minutes=1), 9)


def test_percentiles(boto: Any, registry: MetricRegistry) -> None:
    series = registry.series(MODEL_LATENCY, VARIANT)
    for value in range(1, 1001):
        series.add(value, NOON_S)
    answer = boto.get_metric_statistics(**LATENCY, **span(), Period=60, ExtendedStatistics=["p50", "p99.9", "tm90"])
    extended = answer["Datapoints"][0]["ExtendedStatistics"]
    assert extended == {
        "p50": pytest.approx(500, rel=0.012),
        "p99.9": pytest.approx(999, rel=0.012),
        "tm90": pytest.approx(450, rel=0.012),
    }


def test_the_extremes_of_flags_are_numbers(boto: Any, registry: MetricRegistry) -> None:
    meter = VariantMeter(registry, *VARIANT.values())
    for status in (200, 500):
        meter.add(AlikeRequests(1, status, hit=status == 200, model_s=[0.1], overhead_s=[0.0], loading_s=[0.0]), NOON_S)
    for metric in ("Invocations", "Invocation5XXErrors", "InvocationModelErrors", "ModelCacheHit"):
        asked = {**LATENCY, "MetricName": metric, "Period": 300, "Statistics": ["Minimum", "Maximum"]}
        (point,) = boto.get_metric_statistics(**asked, **span())["Datapoints"]
        assert (type(point["Minimum"]), type(point["Maximum"])) == (float, float)
        assert (point["Minimum"], point["Maximum"]) == (float(metric == "Invocations"), 1.0)


def test_nothing_there_is_an_empty_list_not_a_missing_key(boto: Any) -> None:
    answer = boto.get_metric_statistics(**LATENCY, **span(), Period=60, Statistics=["Sum"])
    assert answer["Datapoints"] == []
    assert boto.list_metrics()["Metrics"] == []
    stat = {"Metric": LATENCY, "Period": 60, "Stat": "Sum"}
    results = boto.get_metric_data(MetricDataQueries=[{"Id": "a", "MetricStat": stat}], **span())["MetricDataResults"]
    assert (results[0]["Timestamps"], results[0]["Values"], results[0]["StatusCode"]) == ([], [], "Complete")


def test_a_unit_that_is_not_the_metrics_finds_nothing(boto: Any, registry: MetricRegistry) -> None:
    latencies(registry)
    ask = {**LATENCY, **span(), "Period": 60, "Statistics": ["Sum"]}
    assert len(boto.get_metric_statistics(**ask, Unit="Microseconds")["Datapoints"]) == 4
    assert boto.get_metric_statistics(**ask, Unit="Seconds")["Datapoints"] == []


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"Period": 45}, "InvalidParameterValue"),
        ({"EndTime": NOON}, "InvalidParameterCombination"),
        ({"Statistics": ["Median"]}, "InvalidParameterValue"),
        ({"ExtendedStatistics": ["p50"]}, "InvalidParameterCombination"),
        ({"Unit": "Furlongs"}, "InvalidParameterValue"),
        ({"EndTime": NOON + timedelta(days=2)}, "InvalidParameterCombination"),
    ],
)
def test_get_metric_statistics_refuses_bad_members(boto: Any, members: dict[str, Any], expected: str) -> None:
    ask = {**LATENCY, **span(), "Period": 60, "Statistics": ["Sum"], **members}
    with pytest.raises(ClientError) as caught:
        boto.get_metric_statistics(**ask)
    assert code(caught) == expected


def test_a_missing_statistic_and_an_unknown_one_are_different_errors(boto: Any) -> None:
    with pytest.raises(ClientError) as caught:
        boto.get_metric_statistics(**LATENCY, **span(), Period=60)
    assert code(caught) == "MissingParameter"
    with pytest.raises(ClientError, match="p101") as caught:
        boto.get_metric_statistics(**LATENCY, **span(), Period=60, ExtendedStatistics=["p101"])
    assert code(caught) == "InvalidParameterValue"


def test_metric_data_is_newest_first_by_default(boto: Any, registry: MetricRegistry) -> None:
    latencies(registry)
    query = {"Id": "a", "MetricStat": {"Metric": LATENCY, "Period": 60, "Stat": "Minimum"}}
    ask = {"MetricDataQueries": [query], **span()}
    (newest,) = boto.get_metric_data(**ask)["MetricDataResults"]
    (oldest,) = boto.get_metric_data(**ask, ScanBy="TimestampAscending")["MetricDataResults"]
    assert (newest["Label"], newest["Values"]) == ("ModelLatency", [4000, 3000, 2000, 1000])
    assert oldest["Values"] == newest["Values"][::-1]
    assert oldest["Timestamps"] == [NOON + timedelta(minutes=minute) for minute in range(4)]


def test_metric_math(boto: Any, registry: MetricRegistry) -> None:
    hits = registry.series(MODEL_CACHE_HIT, VARIANT)
    for number in range(8):
        hits.add(float(number % 4 > 0), NOON_S)
    metric = {**LATENCY, "MetricName": "ModelCacheHit"}
    queries = [
        {"Id": "hit", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}, "ReturnData": False},
        {"Id": "all", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "SampleCount"}, "ReturnData": False},
        {"Id": "ratio", "Expression": "FILL(100 * hit / all, 0)", "Label": "Hit ratio"},
    ]
    (result,) = boto.get_metric_data(MetricDataQueries=queries, **span(2))["MetricDataResults"]
    assert (result["Id"], result["Label"], result["Values"]) == ("ratio", "Hit ratio", [0, 75])


def test_an_expression_of_several_series_is_several_results(boto: Any, registry: MetricRegistry) -> None:
    latencies(registry)
    queries = [
        {"Id": stat.lower(), "MetricStat": {"Metric": LATENCY, "Period": 240, "Stat": stat}, "ReturnData": False}
        for stat in ("Minimum", "Maximum")
    ]
    both = {"Id": "ms", "Expression": "METRICS() / 1000", "Label": "ms"}
    results = boto.get_metric_data(MetricDataQueries=[*queries, both], **span())["MetricDataResults"]
    assert [(one["Id"], one["Label"], one["Values"]) for one in results] == [("ms", "ms 1", [1]), ("ms", "ms 2", [12])]


def test_samples_of_high_resolution_are_accepted_and_kept_by_the_minute(boto: Any, registry: MetricRegistry) -> None:
    datum = {"MetricName": "Orders", "Value": 1, "StorageResolution": 1}
    times = [NOON + timedelta(seconds=second) for second in (1, 2, 61)]
    boto.put_metric_data(Namespace="shop", MetricData=[{**datum, "Timestamp": moment} for moment in times])
    ask = {"Namespace": "shop", "MetricName": "Orders", **span(), "Statistics": ["Sum"]}
    points = boto.get_metric_statistics(**ask, Period=1)["Datapoints"]
    assert [(point["Timestamp"], point["Sum"]) for point in points] == [(NOON, 2), (NOON + timedelta(minutes=1), 1)]


def test_the_same_calls_have_the_same_answers_in_all_protocols(registry: MetricRegistry) -> None:
    latencies(registry)
    every = ["SampleCount", "Average", "Sum", "Minimum", "Maximum"]
    queries = [
        {"Id": "p", "MetricStat": {"Metric": LATENCY, "Period": 60, "Stat": "p90"}, "Label": "p90"},
        {"Id": "e", "Expression": "FILL(p, 0) / 1000"},
    ]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_metric_statistics", {**LATENCY, **span(), "Period": 60, "Statistics": every}),
        ("get_metric_statistics", {**LATENCY, **span(), "Period": 120, "ExtendedStatistics": ["p50", "PR(:2000)"]}),
        ("get_metric_data", {"MetricDataQueries": queries, **span(), "LabelOptions": {"Timezone": "+0100"}}),
        ("get_metric_data", {"MetricDataQueries": queries, **span(), "ScanBy": "TimestampAscending"}),
        ("list_metrics", {"Namespace": "AWS/SageMaker"}),
    ]
    service = cloudwatch_service(CloudWatch(registry), account="123456789012")
    clients = [client(service, protocol=protocol) for protocol in PROTOCOLS]
    for operation, params in calls:
        json, query, cbor = [getattr(one, operation)(**params) for one in clients]
        for answer in (json, query, cbor):
            del answer["ResponseMetadata"]
        assert json == query == cbor


def test_pages_of_metric_data_hold_every_point_once(registry: MetricRegistry) -> None:
    latencies(registry)
    stats = ["Minimum", "Maximum", "Sum"]
    queries = [{"Id": stat.lower(), "MetricStat": {"Metric": LATENCY, "Period": 60, "Stat": stat}} for stat in stats]
    pages = list(
        one_protocol(registry)
        .get_paginator("get_metric_data")
        .paginate(MetricDataQueries=queries, **span(), PaginationConfig={"PageSize": 5})
    )
    assert len(pages) == 3
    gathered: dict[str, list[float]] = {stat.lower(): [] for stat in stats}
    for page in pages:
        for result in page["MetricDataResults"]:
            gathered[result["Id"]] += result["Values"]
    assert gathered["minimum"] == [4000, 3000, 2000, 1000]
    assert gathered["sum"] == [24000, 18000, 12000, 6000]


@pytest.mark.parametrize(
    "query",
    [
        {"Id": "A"},
        {"Id": "a"},
        {"Id": "a", "Expression": "nothing + 1"},
        {"Id": "a", "Expression": "a + 1"},
        {"Id": "a", "Expression": "1 + 1"},
        {"Id": "a", "Expression": "__import__('os')"},
        {"Id": "a", "Expression": "-" * 2000 + "1"},
        {"Id": "a", "MetricStat": {"Metric": LATENCY, "Period": 60, "Stat": "Median"}},
        {"Id": "a", "MetricStat": {"Metric": LATENCY, "Period": 61, "Stat": "Sum"}},
    ],
)
def test_get_metric_data_refuses_a_bad_query(registry: MetricRegistry, query: dict[str, Any]) -> None:
    with pytest.raises(ClientError) as caught:
        one_protocol(registry).get_metric_data(MetricDataQueries=[query], **span())
    assert code(caught) == "ValidationError"


def test_list_metrics_filters_the_existing_metrics(boto: Any, registry: MetricRegistry) -> None:
    registry.series(INVOCATIONS, VARIANT).add(1, NOON_S)
    registry.series(INVOCATIONS, {**VARIANT, "EndpointName": "other"}).add(1, NOON_S)
    registry.series(MODEL_LATENCY, VARIANT).add(1, NOON_S - 86_400)
    registry.series(MODEL_CACHE_HIT, VARIANT)  # no sample: not listed
    found = boto.list_metrics(Dimensions=[{"Name": "EndpointName", "Value": "houses"}])["Metrics"]
    assert [metric["MetricName"] for metric in found] == ["Invocations", "ModelLatency"]
    assert found[0] == {"Namespace": "AWS/SageMaker", "MetricName": "Invocations", "Dimensions": DIMENSIONS}
    assert len(boto.list_metrics(MetricName="Invocations", Dimensions=[{"Name": "VariantName"}])["Metrics"]) == 2
    assert len(boto.list_metrics(Namespace="AWS/SageMaker", RecentlyActive="PT3H")["Metrics"]) == 2
    assert boto.list_metrics(Namespace="AWS/Other")["Metrics"] == []


def test_list_metrics_has_pages_of_500(registry: MetricRegistry) -> None:
    for number in range(1100):
        registry.series(INVOCATIONS, {**VARIANT, "EndpointName": f"e{number}"}).add(1, NOON_S)
    pages = list(one_protocol(registry).get_paginator("list_metrics").paginate())
    assert [len(page["Metrics"]) for page in pages] == [500, 500, 100]
    with pytest.raises(ClientError, match="NextToken"):
        one_protocol(registry).list_metrics(NextToken="mine")


def test_custom_metrics_are_kept_beside_the_endpoints_own(boto: Any) -> None:
    data = [
        {"MetricName": "Orders", "Value": 3, "Unit": "Count", "Timestamp": NOON},
        {"MetricName": "Orders", "Values": [1, 5], "Counts": [2, 1], "Unit": "Count", "Timestamp": NOON},
        {
            "MetricName": "Batch",
            "StatisticValues": {"SampleCount": 4, "Sum": 10, "Minimum": 1, "Maximum": 4},
            "Timestamp": NOON,
        },
    ]
    boto.put_metric_data(Namespace="shop", MetricData=data)
    ask = {"Namespace": "shop", **span(), "Period": 60}
    statistics = ["SampleCount", "Sum", "Minimum", "Maximum"]
    (orders,) = boto.get_metric_statistics(**ask, MetricName="Orders", Statistics=statistics)["Datapoints"]
    (batch,) = boto.get_metric_statistics(**ask, MetricName="Batch", Statistics=statistics)["Datapoints"]
    assert [orders[name] for name in ("SampleCount", "Sum", "Minimum", "Maximum", "Unit")] == [4, 10, 1, 5, "Count"]
    assert [batch[name] for name in ("SampleCount", "Sum", "Minimum", "Maximum", "Unit")] == [4, 10, 1, 4, "None"]


def test_a_large_put_is_compressed_by_boto3_and_read(boto: Any) -> None:
    data = [{"MetricName": f"m{number}", "Value": number, "Timestamp": NOON} for number in range(400)]
    boto.put_metric_data(Namespace="shop", MetricData=data)
    found = boto.list_metrics(Namespace="shop")["Metrics"]
    assert len(found) == 400
    assert found[0] == {"Namespace": "shop", "MetricName": "m0", "Dimensions": []}


@pytest.mark.parametrize(
    ("namespace", "datum", "expected"),
    [
        ("AWS/SageMaker", {"Value": 1}, "InvalidParameterValue"),
        ("/aws/sagemaker/Endpoints", {"Value": 1}, "InvalidParameterValue"),
        (":odd", {"Value": 1}, "ValidationError"),
        ("shop", {}, "InvalidParameterCombination"),
        ("shop", {"Value": 1, "Values": [1]}, "InvalidParameterCombination"),
        ("shop", {"Values": [1, 2], "Counts": [1]}, "InvalidParameterValue"),
        ("shop", {"Value": float("nan")}, "InvalidParameterValue"),
        ("shop", {"Value": 1e300}, "InvalidParameterValue"),
        ("shop", {"Value": 1, "StorageResolution": 7}, "InvalidParameterValue"),
        ("shop", {"Value": 1, "Timestamp": NOON - timedelta(days=30)}, "InvalidParameterValue"),
        ("shop", {"Value": 1, "Timestamp": NOON + timedelta(days=1)}, "InvalidParameterValue"),
    ],
)
def test_refused_metric_data_leaves_nothing_behind(
    boto: Any, namespace: str, datum: dict[str, Any], expected: str
) -> None:
    data = [{"MetricName": "good", "Value": 1}, {"MetricName": "bad", **datum}]
    with pytest.raises(ClientError) as caught:
        boto.put_metric_data(Namespace=namespace, MetricData=data)
    assert code(caught) == expected
    assert boto.list_metrics()["Metrics"] == []


def test_levels_are_current_when_asked_however_often(registry: MetricRegistry) -> None:
    loaded = registry.series(LOADED_MODEL_COUNT, VARIANT)
    models = {"instance-1": 3.0, "instance-2": 4.0}

    async def refresh() -> None:
        for instance, count in models.items():
            loaded.put(instance, count, NOON_S + 30)

    boto = client(cloudwatch_service(CloudWatch(registry, refresh), account="123456789012"))
    metric = {**LATENCY, "Namespace": "/aws/sagemaker/Endpoints", "MetricName": "LoadedModelCount"}
    ask = {**metric, **span(), "Period": 60, "Statistics": ["SampleCount", "Sum", "Maximum"]}
    boto.get_metric_statistics(**ask)
    models["instance-2"] = 9.0
    (point,) = boto.get_metric_statistics(**ask)["Datapoints"]
    assert (point["SampleCount"], point["Sum"], point["Maximum"]) == (2, 12, 9)


@pytest.mark.parametrize("operation", ["PutDashboard", "DescribeAlarms", "PutMetricAlarm"])
def test_another_operation_is_refused_in_the_callers_protocol(boto: Any, operation: str) -> None:
    members = {
        "PutDashboard": {"DashboardName": "d", "DashboardBody": "{}"},
        "PutMetricAlarm": {"AlarmName": "a", "EvaluationPeriods": 1, "ComparisonOperator": "LessThanThreshold"},
    }
    with pytest.raises(ClientError, match=operation) as caught:
        boto._make_api_call(operation, members.get(operation, {}))
    assert code(caught) in ("InvalidAction", "UnknownOperationException")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_every_operation_claimed_answers_every_protocol(boto: Any, registry: MetricRegistry) -> None:
    latencies(registry)
    calls: dict[str, dict[str, Any]] = {
        "GetMetricData": {
            "MetricDataQueries": [{"Id": "a", "MetricStat": {"Metric": LATENCY, "Period": 60, "Stat": "p99"}}],
            **span(),
        },
        "GetMetricStatistics": {**LATENCY, **span(), "Period": 60, "Statistics": ["Sum"]},
        "ListMetrics": {},
        "PutMetricData": {"Namespace": "shop", "MetricData": [{"MetricName": "m", "Value": 1}]},
    }
    assert calls.keys() == OPERATIONS.keys()
    for operation, params in calls.items():
        answer = boto._make_api_call(operation, params)
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
        assert answer["ResponseMetadata"]["HTTPHeaders"]["x-amzn-requestid"]
