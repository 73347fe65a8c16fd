"""Alarms over time: the watch's paces, changes of state and their actions."""

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.account.helpers.alarms_on_fake_clock import BROKEN, BUSY, NOON_S, TOPIC, AlarmsOnFakeClock
from tests.helpers.waiting import reached
from torpor_account.cloudwatch.alarms.alarm_record import HISTORY_MAX, Alarm
from torpor_account.metrics.metrics import NO_CAPACITY_INVOCATION_FAILURES, OF_COMPONENT

SECOND, RELIEF = f"{TOPIC}-second", f"{TOPIC}-relief"


@dataclass
class WatchedAlarm:
    """CloudWatch with an alarm, and its one boto3 client."""

    cloudwatch: AlarmsOnFakeClock
    boto: Any

    def put(self, **members: Any) -> None:
        self.boto.put_metric_alarm(**{**BUSY, **members})

    def order(self, count: float = 1.0) -> None:
        self.boto.put_metric_data(Namespace="shop", MetricData=[{"MetricName": "Orders", "Value": count}])

    def set_state(self, state: str) -> None:
        self.boto.set_alarm_state(AlarmName="busy", StateValue=state, StateReason="drill", StateReasonData="{}")

    def pass_s(self, seconds: float) -> None:
        asyncio.run(self.cloudwatch.after(seconds))

    @property
    def alarm(self) -> Alarm:
        alarm = self.cloudwatch.alarms.get("busy")
        assert alarm is not None
        return alarm

    @property
    def state(self) -> str:
        return self.alarm.standing.state


@pytest.fixture(scope="module")
def only_watched() -> Iterator[WatchedAlarm]:
    cloudwatch = AlarmsOnFakeClock()
    yield WatchedAlarm(cloudwatch, cloudwatch.client())
    cloudwatch.database.close()


@pytest.fixture
def watched(only_watched: WatchedAlarm) -> WatchedAlarm:
    only_watched.cloudwatch.begin_anew()
    return only_watched


def test_an_alarm_begins_without_data_and_then_follows_its_metric(watched: WatchedAlarm) -> None:
    watched.put()
    watched.order(5.0)
    assert watched.state == "INSUFFICIENT_DATA"
    watched.pass_s(60)
    assert watched.state == "ALARM"
    watched.order(1.0)
    watched.pass_s(60)
    assert watched.state == "OK"
    watched.pass_s(240)  # no orders at all any more
    assert watched.state == "INSUFFICIENT_DATA"


def test_the_minute_that_is_not_over_does_not_count(watched: WatchedAlarm) -> None:
    watched.put(ComparisonOperator="LessThanThreshold", Threshold=4.0)
    watched.order(5.0)
    watched.pass_s(60)
    watched.order(1.0)
    watched.pass_s(50)
    assert watched.state == "OK"


def test_each_action_of_the_new_state_is_carried_out_once(watched: WatchedAlarm) -> None:
    watched.put(AlarmActions=[TOPIC, SECOND], OKActions=[RELIEF])
    watched.order(5.0)
    watched.pass_s(110)
    assert watched.cloudwatch.acted == [
        ("busy", "INSUFFICIENT_DATA", "ALARM", TOPIC),
        ("busy", "INSUFFICIENT_DATA", "ALARM", SECOND),
    ]
    watched.order(0.0)
    watched.pass_s(60)
    assert watched.cloudwatch.acted[2:] == [("busy", "ALARM", "OK", RELIEF)]


def test_disabled_actions_are_not_carried_out_and_the_state_changes_all_the_same(watched: WatchedAlarm) -> None:
    watched.put(AlarmActions=[TOPIC])
    watched.boto.disable_alarm_actions(AlarmNames=["busy", "unknown"])
    watched.order(5.0)
    watched.pass_s(60)
    assert (watched.state, watched.cloudwatch.acted) == ("ALARM", [])
    watched.boto.enable_alarm_actions(AlarmNames=["busy"])
    watched.set_state("OK")
    watched.pass_s(10)
    assert [after for _, _, after, _ in watched.cloudwatch.acted] == ["ALARM"]


def test_a_failed_action_is_recorded_and_does_not_stop_the_others(
    watched: WatchedAlarm, caplog: pytest.LogCaptureFixture
) -> None:
    watched.put(AlarmActions=[BROKEN, TOPIC])
    watched.order(5.0)
    with caplog.at_level(logging.ERROR):
        watched.pass_s(60)
    assert [action for *_, action in watched.cloudwatch.acted] == [TOPIC]
    items = watched.boto.describe_alarm_history(AlarmName="busy", HistoryItemType="Action")["AlarmHistoryItems"]
    assert {item["HistorySummary"] for item in items} == {
        f"Failed to execute action {BROKEN}",
        f"Successfully executed action {TOPIC}",
    }
    assert "no line" in caplog.text


def test_a_state_that_was_set_acts_at_once_and_the_next_look_overwrites_it(watched: WatchedAlarm) -> None:
    watched.put(AlarmActions=[TOPIC])
    watched.order(0.0)
    watched.pass_s(60)
    watched.set_state("ALARM")
    assert (watched.state, [after for _, _, after, _ in watched.cloudwatch.acted]) == ("ALARM", ["ALARM"])
    watched.pass_s(10)
    assert watched.state == "OK"


def test_two_out_of_three(watched: WatchedAlarm) -> None:
    watched.put(EvaluationPeriods=3, DatapointsToAlarm=2, TreatMissingData="notBreaching")
    seen = []
    for count in (5.0, 0.0, 5.0, 0.0, 0.0):
        watched.order(count)
        watched.pass_s(60)
        seen.append(watched.state)
    assert seen == ["OK", "OK", "ALARM", "OK", "OK"]


def test_an_alarm_on_an_expression(watched: WatchedAlarm) -> None:
    metric = {"Namespace": "shop", "MetricName": "Orders"}
    stat = {"MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}, "ReturnData": False}
    metrics = [{"Id": "orders", **stat}, {"Id": "double", "Expression": "FILL(orders, 0) * 2"}]
    single = ("Namespace", "MetricName", "Statistic", "Period")
    members = {name: value for name, value in BUSY.items() if name not in single}
    watched.boto.put_metric_alarm(**{**members, "Metrics": metrics})
    watched.pass_s(60)
    assert watched.state == "OK"
    watched.order(0.75)
    watched.pass_s(60)
    assert watched.state == "ALARM"


def test_a_stored_expression_that_is_malformed_leaves_the_alarm_without_data(watched: WatchedAlarm) -> None:
    watched.put()
    metrics = [{"Id": "e", "Expression": "gone + 1", "Period": 60}]  # from before such were refused
    request = {name: BUSY[name] for name in ("EvaluationPeriods", "Threshold", "ComparisonOperator")}
    watched.cloudwatch.alarms.change("busy", lambda alarm: replace(alarm, request={**request, "Metrics": metrics}))
    watched.set_state("OK")
    watched.pass_s(10)
    (alarm,) = watched.boto.describe_alarms()["MetricAlarms"]
    assert (alarm["StateValue"], "gone" in alarm["StateReason"]) == ("INSUFFICIENT_DATA", True)


def test_a_percentile(watched: WatchedAlarm) -> None:
    del (members := dict(BUSY))["Statistic"]
    watched.boto.put_metric_alarm(**{**members, "ExtendedStatistic": "p90", "Threshold": 80.0})
    for value in range(1, 101):
        watched.order(float(value))
    watched.pass_s(60)
    assert watched.state == "ALARM"


def test_a_period_below_a_minute_is_judged_by_the_minutes_of_its_span(watched: WatchedAlarm) -> None:
    watched.put(Period=10, EvaluationPeriods=12, DatapointsToAlarm=12)
    watched.order(5.0)
    watched.pass_s(60)
    assert watched.state == "OK"
    watched.order(5.0)
    watched.pass_s(60)
    assert watched.state == "ALARM"


def test_a_metric_of_high_resolution_is_judged_every_ten_seconds(watched: WatchedAlarm) -> None:
    fine = {
        **BUSY,
        "TreatMissingData": "notBreaching",
        "Namespace": "AWS/SageMaker",
        "MetricName": "NoCapacityInvocationFailures",
    }
    fine = {**fine, "Dimensions": [{"Name": "InferenceComponentName", "Value": "one"}]}
    watched.boto.put_metric_alarm(**{**fine, "Period": 10, "EvaluationPeriods": 3, "DatapointsToAlarm": 2})
    cloudwatch, dimensions = watched.cloudwatch, {"InferenceComponentName": "one"}
    series = cloudwatch.registry.series(OF_COMPONENT[NO_CAPACITY_INVOCATION_FAILURES], dimensions)
    seen = []
    for count in (0, 5, 0, 5, 0, 0, 0):
        series.add(float(count), cloudwatch.now_s + 1.0)
        watched.pass_s(10)
        seen.append(watched.state)
    assert seen == ["OK", "OK", "OK", "ALARM", "OK", "OK", "OK"]


def test_reasons_are_in_the_words_of_cloudwatch(watched: WatchedAlarm) -> None:
    watched.put()
    watched.order(5.0)
    watched.pass_s(60)
    (alarm,) = watched.boto.describe_alarms()["MetricAlarms"]
    assert alarm["StateReason"] == (
        "Threshold Crossed: 1 out of the last 1 datapoints [5.0 (01/03/26 12:00:00)] was greater than the threshold "
        "(1.0) (minimum 1 datapoint for OK -> ALARM transition)."
    )
    said = json.loads(alarm["StateReasonData"])
    assert (said["recentDatapoints"], said["threshold"], said["statistic"]) == ([5.0], 1.0, "Sum")


def test_a_reason_never_says_of_a_datapoint_what_is_not_so(watched: WatchedAlarm) -> None:
    watched.order(5.0)
    watched.pass_s(60)
    watched.put(EvaluationPeriods=3, TreatMissingData="notBreaching")
    watched.pass_s(10)
    assert watched.alarm.standing.reason == "Threshold Crossed: 2 missing datapoints were treated as [NonBreaching]."
    watched.pass_s(300)
    watched.put(TreatMissingData="breaching")
    watched.pass_s(10)
    assert watched.alarm.standing.reason == (
        "Threshold Crossed: no datapoints were received for 1 period and "
        "1 missing datapoint was treated as [Breaching]."
    )


def test_an_alarm_survives_a_restart_with_its_state_and_history(tmp_path: Path) -> None:
    before = AlarmsOnFakeClock(tmp_path / "torpor.sqlite")
    boto = before.client()
    boto.put_metric_alarm(**BUSY)
    boto.put_metric_data(Namespace="shop", MetricData=[{"MetricName": "Orders", "Value": 5.0}])
    asyncio.run(before.after(60))
    was = before.alarms.all()
    before.database.close()
    again = AlarmsOnFakeClock(tmp_path / "torpor.sqlite")
    assert again.alarms.all() == was
    assert (was[0].standing.state, len(was[0].history)) == ("ALARM", 2)
    again.database.close()


def test_a_history_is_bounded(watched: WatchedAlarm) -> None:
    watched.put()
    for _ in range(HISTORY_MAX // 2 + 1):
        for value in ("ALARM", "OK"):
            watched.set_state(value)
    assert len(watched.alarm.history) == HISTORY_MAX


def test_the_chore_looks_at_every_tenth_second(watched: WatchedAlarm) -> None:
    watched.put()
    watched.order(5.0)
    watched.cloudwatch.now_s = NOON_S + 7.5

    async def until_alarm() -> float:
        running = asyncio.create_task(watched.cloudwatch.watch.run())
        await reached(lambda: watched.state == "ALARM")
        running.cancel()
        return watched.cloudwatch.now_s

    assert asyncio.run(until_alarm()) - NOON_S == pytest.approx(60, abs=10)
