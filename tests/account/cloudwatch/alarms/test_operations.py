"""The operations on alarms through boto3, in each protocol."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.alarms_on_fake_clock import BUSY, NOON_S, TOPIC, AlarmsOnFakeClock
from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.cloudwatch.alarms.alarm_tags import tag_resource

PROTOCOLS = ["json", "query", "smithy-rpc-v2-cbor"]
ARN = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:busy"


@pytest.fixture(scope="module", params=PROTOCOLS)
def protocol_cloudwatch(request: pytest.FixtureRequest) -> Iterator[tuple[AlarmsOnFakeClock, Any]]:
    cloudwatch = AlarmsOnFakeClock()
    yield cloudwatch, cloudwatch.client(request.param)
    cloudwatch.database.close()


@pytest.fixture
def cloudwatch(protocol_cloudwatch: tuple[AlarmsOnFakeClock, Any]) -> AlarmsOnFakeClock:
    protocol_cloudwatch[0].begin_anew()
    return protocol_cloudwatch[0]


@pytest.fixture
def boto(protocol_cloudwatch: tuple[AlarmsOnFakeClock, Any], cloudwatch: AlarmsOnFakeClock) -> Any:
    return protocol_cloudwatch[1]


def refused(boto: Any, operation: str, **members: Any) -> str:
    with pytest.raises(ClientError) as caught:
        getattr(boto, operation)(**members)
    return str(caught.value.response["Error"]["Code"])


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in BUSY.items() if name not in names}


def test_an_alarm_is_described_as_it_was_put(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    dimensions = [{"Name": "Shop", "Value": "north"}]
    boto.put_metric_alarm(**BUSY, Dimensions=dimensions, AlarmActions=[TOPIC], Unit="Count", AlarmDescription="why")
    (alarm,) = boto.describe_alarms()["MetricAlarms"]
    now = datetime.fromtimestamp(NOON_S, UTC)
    assert alarm == {
        **BUSY,
        "AlarmArn": ARN,
        "AlarmDescription": "why",
        "Dimensions": dimensions,
        "Unit": "Count",
        "ActionsEnabled": True,
        "AlarmActions": [TOPIC],
        "OKActions": [],
        "InsufficientDataActions": [],
        "StateValue": "INSUFFICIENT_DATA",
        "StateReason": "Unchecked: Initial alarm creation",
        "StateUpdatedTimestamp": now,
        "StateTransitionedTimestamp": now,
        "AlarmConfigurationUpdatedTimestamp": now,
    }


def test_an_alarm_on_an_expression_shows_its_metrics_and_no_dimensions(
    boto: Any, cloudwatch: AlarmsOnFakeClock
) -> None:
    metric = {"Namespace": "shop", "MetricName": "Orders", "Dimensions": []}
    metrics = [
        {"Id": "a", "MetricStat": {"Metric": metric, "Period": 300, "Stat": "p99"}, "ReturnData": False},
        {"Id": "e", "Expression": "a * 2", "ReturnData": True},
    ]
    single = ("Namespace", "MetricName", "Statistic", "Period")
    boto.put_metric_alarm(**without(*single), Metrics=metrics)
    (alarm,) = boto.describe_alarms()["MetricAlarms"]
    assert alarm["Metrics"] == metrics
    assert not {"Dimensions", "Namespace", "Period"} & alarm.keys()


def test_putting_again_overwrites_all_but_the_state(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    boto.put_metric_alarm(**BUSY, AlarmDescription="first", Tags=[{"Key": "a", "Value": "1"}])
    boto.set_alarm_state(AlarmName="busy", StateValue="ALARM", StateReason="drill")
    boto.put_metric_alarm(**{**BUSY, "Threshold": 7.0}, Tags=[{"Key": "b", "Value": "2"}])
    (alarm,) = boto.describe_alarms()["MetricAlarms"]
    assert (alarm["StateValue"], alarm["Threshold"]) == ("ALARM", 7.0)
    assert "AlarmDescription" not in alarm
    assert boto.list_tags_for_resource(ResourceARN=ARN)["Tags"] == [{"Key": "a", "Value": "1"}]


def test_filters_and_pages(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    for name in ("a1", "a2", "a3", "A1", "b1"):
        boto.put_metric_alarm(
            **{**BUSY, "AlarmName": name}, AlarmActions=[f"arn:aws:sns:us-east-1:123456789012:{name}"]
        )
    boto.set_alarm_state(AlarmName="a2", StateValue="OK", StateReason="drill")

    def names(**filters: Any) -> list[str]:
        pages = boto.get_paginator("describe_alarms").paginate(**filters, PaginationConfig={"PageSize": 2})
        return [alarm["AlarmName"] for page in pages for alarm in page["MetricAlarms"]]

    assert names() == ["A1", "a1", "a2", "a3", "b1"]
    assert names(AlarmNamePrefix="a") == ["a1", "a2", "a3"]
    assert names(AlarmNames=["b1", "gone"]) == ["b1"]
    assert names(StateValue="OK") == ["a2"]
    assert names(ActionPrefix="arn:aws:sns:us-east-1:123456789012:b") == ["b1"]
    assert names(AlarmTypes=["CompositeAlarm"]) == []
    assert refused(boto, "describe_alarms", AlarmNames=["b1"], AlarmNamePrefix="b") == "InvalidParameterCombination"
    assert refused(boto, "describe_alarms", NextToken="mine") in ("InvalidNextToken", "InvalidNextTokenException")


def test_nothing_there_is_an_empty_list(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    assert boto.describe_alarms()["MetricAlarms"] == []
    assert boto.describe_alarms()["CompositeAlarms"] == []
    assert boto.describe_alarm_history()["AlarmHistoryItems"] == []
    assert boto.describe_alarms_for_metric(Namespace="shop", MetricName="Orders")["MetricAlarms"] == []


def test_the_alarms_of_a_metric(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    north = [{"Name": "Shop", "Value": "north"}]
    boto.put_metric_alarm(**BUSY)
    boto.put_metric_alarm(**{**BUSY, "AlarmName": "north", "Period": 300}, Dimensions=north)
    metric = {"Namespace": "shop", "MetricName": "Orders"}

    def names(**filters: Any) -> list[str]:
        return [alarm["AlarmName"] for alarm in boto.describe_alarms_for_metric(**metric, **filters)["MetricAlarms"]]

    assert names() == ["busy"]
    assert names(Dimensions=north) == ["north"]
    assert names(Dimensions=north, Period=60) == []
    assert names(Statistic="Average") == []


def test_history_newest_first_by_kind_and_by_page(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    boto.put_metric_alarm(**BUSY)
    for number, value in enumerate(("OK", "ALARM", "OK"), start=1):
        cloudwatch.now_s = NOON_S + number
        boto.set_alarm_state(AlarmName="busy", StateValue=value, StateReason="drill")
    items = boto.describe_alarm_history(AlarmName="busy")["AlarmHistoryItems"]
    assert [item["HistorySummary"] for item in items] == [
        "Alarm updated from ALARM to OK",
        "Alarm updated from OK to ALARM",
        "Alarm updated from INSUFFICIENT_DATA to OK",
        'Alarm "busy" created',
    ]
    oldest = boto.describe_alarm_history(ScanBy="TimestampAscending", MaxRecords=1)
    assert oldest["AlarmHistoryItems"][0]["HistoryItemType"] == "ConfigurationUpdate"
    assert "NextToken" in oldest
    later = datetime.fromtimestamp(NOON_S, UTC) + timedelta(seconds=2)
    assert len(boto.describe_alarm_history(StartDate=later, HistoryItemType="StateUpdate")["AlarmHistoryItems"]) == 2


def test_deleting_takes_the_tags_along_and_passes_over_unknown_names(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    boto.put_metric_alarm(**BUSY, Tags=[{"Key": "a", "Value": "1"}])
    boto.delete_alarms(AlarmNames=["gone", "busy"])
    assert boto.describe_alarms()["MetricAlarms"] == []
    assert cloudwatch.tags.of(ARN) == {}


def test_tags(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    boto.put_metric_alarm(**BUSY)
    assert boto.list_tags_for_resource(ResourceARN=ARN)["Tags"] == []
    boto.tag_resource(ResourceARN=ARN, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}])
    boto.untag_resource(ResourceARN=ARN, TagKeys=["a"])
    assert boto.list_tags_for_resource(ResourceARN=ARN)["Tags"] == [{"Key": "b", "Value": ""}]
    assert "ResourceNotFound" in refused(boto, "list_tags_for_resource", ResourceARN=f"{ARN}s")
    reserved = [{"Key": "AWS:x", "Value": ""}]
    assert refused(boto, "tag_resource", ResourceARN=ARN, Tags=reserved) == "ValidationError"
    many = [{"Key": str(number), "Value": ""} for number in range(50)]
    assert refused(boto, "tag_resource", ResourceARN=ARN, Tags=many).startswith("InvalidParameterValue")


def test_a_state_can_be_set_for_alarms_that_exist_and_with_data_that_is_json(
    boto: Any, cloudwatch: AlarmsOnFakeClock
) -> None:
    drill = {"AlarmName": "busy", "StateValue": "OK", "StateReason": "drill"}
    assert refused(boto, "set_alarm_state", **drill) == "ResourceNotFound"
    boto.put_metric_alarm(**BUSY)
    assert refused(boto, "set_alarm_state", **drill, StateReasonData="{") == "InvalidFormat"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (without("Threshold"), "ValidationError"),
        (without("ComparisonOperator"), "MissingParameter"),
        (without("EvaluationPeriods"), "MissingParameter"),
        ({**BUSY, "Threshold": float("nan")}, "InvalidParameterValue"),
        (without("Period"), "MissingParameter"),
        (without("MetricName"), "MissingParameter"),
        (without("Statistic"), "InvalidParameterCombination"),
        ({**BUSY, "ExtendedStatistic": "p50"}, "InvalidParameterCombination"),
        ({**without("Statistic"), "ExtendedStatistic": "median"}, "ValidationError"),
        ({**without("Statistic"), "ExtendedStatistic": "Sum"}, "ValidationError"),
        ({**BUSY, "Period": 45}, "ValidationError"),
        ({**BUSY, "Period": 5}, "ValidationError"),
        ({**BUSY, "EvaluationPeriods": 1441}, "ValidationError"),
        ({**BUSY, "DatapointsToAlarm": 2}, "ValidationError"),
        ({**BUSY, "TreatMissingData": "sometimes"}, "ValidationError"),
        ({**BUSY, "EvaluateLowSampleCountPercentile": "ignore"}, "ValidationError"),
        ({**BUSY, "ComparisonOperator": "LessThanLowerThreshold"}, "ValidationError"),
        ({**BUSY, "ThresholdMetricId": "ad1"}, "ValidationError"),
        ({**BUSY, "Metrics": [{"Id": "a", "Expression": "1"}]}, "InvalidParameterCombination"),
        ({**without("Namespace", "MetricName", "Statistic", "Period"), "Metrics": []}, "ValidationError"),
        ({**BUSY, "AlarmActions": ["junk"]}, "ValidationError"),
        ({**BUSY, "OKActions": [TOPIC, "arn:"]}, "ValidationError"),
        ({**BUSY, "Tags": [{"Key": str(number), "Value": ""} for number in range(51)]}, "ValidationError"),
    ],
)
def test_put_metric_alarm_refuses_bad_members(
    boto: Any, cloudwatch: AlarmsOnFakeClock, members: dict[str, Any], expected: str
) -> None:
    assert refused(boto, "put_metric_alarm", **members) == expected
    assert cloudwatch.alarms.all() == ()


def test_a_metric_math_alarm_returns_the_data_of_one_query_and_has_one_period(
    boto: Any, cloudwatch: AlarmsOnFakeClock
) -> None:
    metric = {"Namespace": "shop", "MetricName": "Orders"}
    members = without("Namespace", "MetricName", "Statistic", "Period")
    minute = {"MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}}
    hour = {"MetricStat": {"Metric": metric, "Period": 3600, "Stat": "Sum"}}
    both = [{"Id": "a", **minute}, {"Id": "b", "Expression": "a"}]
    assert refused(boto, "put_metric_alarm", **members, Metrics=both) == "ValidationError"
    mixed = [{"Id": "a", **minute, "ReturnData": False}, {"Id": "b", **hour, "ReturnData": False}]
    mixed.append({"Id": "c", "Expression": "a + b"})
    assert refused(boto, "put_metric_alarm", **members, Metrics=mixed) == "ValidationError"


@pytest.mark.parametrize(
    "expression",
    ["a +", "gone", "True * a", "[a, a]", "FILL([METRICS(), METRICS()], 0)", "[" + ",".join("a" * 501) + "]"],
)
def test_an_expression_that_can_never_be_watched_is_refused_when_it_is_put(
    boto: Any, cloudwatch: AlarmsOnFakeClock, expression: str
) -> None:
    members = without("Namespace", "MetricName", "Statistic", "Period")
    metric = {"Namespace": "shop", "MetricName": "Orders"}
    stat = {"MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}, "ReturnData": False}
    metrics = [{"Id": "a", **stat}, {"Id": "e", "Expression": expression}]
    assert refused(boto, "put_metric_alarm", **members, Metrics=metrics) == "ValidationError"
    assert cloudwatch.alarms.all() == ()


def test_tags_added_at_once_are_counted_one_after_the_other(boto: Any, cloudwatch: AlarmsOnFakeClock) -> None:
    boto.put_metric_alarm(**BUSY)

    def tag(number: int) -> bool:
        tags = [{"Key": f"{number}-{one}", "Value": ""} for one in range(10)]
        try:
            tag_resource(cloudwatch.alarms, Call("TagResource", {"ResourceARN": ARN, "Tags": tags}, "", "", ""))
        except AwsError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(tag, range(8))) == 5
    assert len(cloudwatch.tags.of(ARN)) == 50
