"""Alarms over time: the watch's paces, changes of state and their actions."""

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.services.helpers.alarms_on_fake_clock import BROKEN, BUSY, NOON_S, TOPIC, AlarmsOnFakeClock
from tests.helpers.waiting import reached
from torpor_endpoint.services.cloudwatch.alarms.records import HISTORY_MAX, Alarm

SECOND, RELIEF = f"{TOPIC}-second", f"{TOPIC}-relief"


@dataclass
class WatchedAlarm:
    """A site and its one boto3 client."""

    site: AlarmsOnFakeClock
    boto: Any

    def put(self, **members: Any) -> None:
        self.boto.put_metric_alarm(**{**BUSY, **members})

    def order(self, count: float = 1.0) -> None:
        self.boto.put_metric_data(Namespace="shop", MetricData=[{"MetricName": "Orders", "Value": count}])

    def set_state(self, state: str) -> None:
        self.boto.set_alarm_state(AlarmName="busy", StateValue=state, StateReason="drill", StateReasonData="{}")

    def pass_s(self, seconds: float) -> None:
        asyncio.run(self.site.after(seconds))

    @property
    def alarm(self) -> Alarm:
        alarm = self.site.alarms.get("busy")
        assert alarm is not None
        return alarm

    @property
    def state(self) -> str:
        return self.alarm.standing.state


@pytest.fixture(scope="module")
def only_desk() -> Iterator[WatchedAlarm]:
    site = AlarmsOnFakeClock()
    yield WatchedAlarm(site, site.client())
    site.database.close()


@pytest.fixture
def desk(only_desk: WatchedAlarm) -> WatchedAlarm:
    only_desk.site.begin_anew()
    return only_desk


def test_an_alarm_begins_without_data_and_then_follows_its_metric(desk: WatchedAlarm) -> None:
    desk.put()
    desk.order(5.0)
    assert desk.state == "INSUFFICIENT_DATA"
    desk.pass_s(60)
    assert desk.state == "ALARM"
    desk.order(1.0)
    desk.pass_s(60)
    assert desk.state == "OK"
    desk.pass_s(240)  # no orders at all any more
    assert desk.state == "INSUFFICIENT_DATA"


def test_the_minute_that_is_not_over_does_not_count(desk: WatchedAlarm) -> None:
    desk.put(ComparisonOperator="LessThanThreshold", Threshold=4.0)
    desk.order(5.0)
    desk.pass_s(60)
    desk.order(1.0)
    desk.pass_s(50)
    assert desk.state == "OK"


def test_each_action_of_the_new_state_is_carried_out_once(desk: WatchedAlarm) -> None:
    desk.put(AlarmActions=[TOPIC, SECOND], OKActions=[RELIEF])
    desk.order(5.0)
    desk.pass_s(110)
    assert desk.site.acted == [
        ("busy", "INSUFFICIENT_DATA", "ALARM", TOPIC),
        ("busy", "INSUFFICIENT_DATA", "ALARM", SECOND),
    ]
    desk.order(0.0)
    desk.pass_s(60)
    assert desk.site.acted[2:] == [("busy", "ALARM", "OK", RELIEF)]


def test_disabled_actions_are_not_carried_out_and_the_state_changes_all_the_same(desk: WatchedAlarm) -> None:
    desk.put(AlarmActions=[TOPIC])
    desk.boto.disable_alarm_actions(AlarmNames=["busy", "unknown"])
    desk.order(5.0)
    desk.pass_s(60)
    assert (desk.state, desk.site.acted) == ("ALARM", [])
    desk.boto.enable_alarm_actions(AlarmNames=["busy"])
    desk.set_state("OK")
    desk.pass_s(10)
    assert [after for _, _, after, _ in desk.site.acted] == ["ALARM"]


def test_an_action_that_fails_is_noted_and_keeps_nobody_back(
    desk: WatchedAlarm, caplog: pytest.LogCaptureFixture
) -> None:
    desk.put(AlarmActions=[BROKEN, TOPIC])
    desk.order(5.0)
    with caplog.at_level(logging.ERROR):
        desk.pass_s(60)
    assert [action for *_, action in desk.site.acted] == [TOPIC]
    items = desk.boto.describe_alarm_history(AlarmName="busy", HistoryItemType="Action")["AlarmHistoryItems"]
    assert {item["HistorySummary"] for item in items} == {
        f"Failed to execute action {BROKEN}",
        f"Successfully executed action {TOPIC}",
    }
    assert "no line" in caplog.text


def test_a_state_that_was_set_acts_at_once_and_the_next_look_overwrites_it(desk: WatchedAlarm) -> None:
    desk.put(AlarmActions=[TOPIC])
    desk.order(0.0)
    desk.pass_s(60)
    desk.set_state("ALARM")
    assert (desk.state, [after for _, _, after, _ in desk.site.acted]) == ("ALARM", ["ALARM"])
    desk.pass_s(10)
    assert desk.state == "OK"


def test_two_out_of_three(desk: WatchedAlarm) -> None:
    desk.put(EvaluationPeriods=3, DatapointsToAlarm=2, TreatMissingData="notBreaching")
    seen = []
    for count in (5.0, 0.0, 5.0, 0.0, 0.0):
        desk.order(count)
        desk.pass_s(60)
        seen.append(desk.state)
    assert seen == ["OK", "OK", "ALARM", "OK", "OK"]


def test_an_alarm_on_an_expression(desk: WatchedAlarm) -> None:
    metric = {"Namespace": "shop", "MetricName": "Orders"}
    stat = {"MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}, "ReturnData": False}
    metrics = [{"Id": "orders", **stat}, {"Id": "double", "Expression": "FILL(orders, 0) * 2"}]
    single = ("Namespace", "MetricName", "Statistic", "Period")
    members = {name: value for name, value in BUSY.items() if name not in single}
    desk.boto.put_metric_alarm(**{**members, "Metrics": metrics})
    desk.pass_s(60)
    assert desk.state == "OK"
    desk.order(0.75)
    desk.pass_s(60)
    assert desk.state == "ALARM"


def test_an_expression_that_turns_out_to_be_none_leaves_the_alarm_without_data(desk: WatchedAlarm) -> None:
    desk.put()
    metrics = [{"Id": "e", "Expression": "gone + 1", "Period": 60}]  # from before such were refused
    request = {name: BUSY[name] for name in ("EvaluationPeriods", "Threshold", "ComparisonOperator")}
    desk.site.alarms.change("busy", lambda alarm: replace(alarm, request={**request, "Metrics": metrics}))
    desk.set_state("OK")
    desk.pass_s(10)
    (alarm,) = desk.boto.describe_alarms()["MetricAlarms"]
    assert (alarm["StateValue"], "gone" in alarm["StateReason"]) == ("INSUFFICIENT_DATA", True)


def test_a_percentile(desk: WatchedAlarm) -> None:
    del (members := dict(BUSY))["Statistic"]
    desk.boto.put_metric_alarm(**{**members, "ExtendedStatistic": "p90", "Threshold": 80.0})
    for value in range(1, 101):
        desk.order(float(value))
    desk.pass_s(60)
    assert desk.state == "ALARM"


def test_a_period_below_a_minute_is_judged_by_the_minutes_of_its_span(desk: WatchedAlarm) -> None:
    desk.put(Period=10, EvaluationPeriods=12, DatapointsToAlarm=12)
    desk.order(5.0)
    desk.pass_s(60)
    assert desk.state == "OK"
    desk.order(5.0)
    desk.pass_s(60)
    assert desk.state == "ALARM"


def test_reasons_are_in_the_words_of_cloudwatch(desk: WatchedAlarm) -> None:
    desk.put()
    desk.order(5.0)
    desk.pass_s(60)
    (alarm,) = desk.boto.describe_alarms()["MetricAlarms"]
    assert alarm["StateReason"] == (
        "Threshold Crossed: 1 out of the last 1 datapoints [5.0 (01/03/26 12:00:00)] was greater than the threshold "
        "(1.0) (minimum 1 datapoint for OK -> ALARM transition)."
    )
    said = json.loads(alarm["StateReasonData"])
    assert (said["recentDatapoints"], said["threshold"], said["statistic"]) == ([5.0], 1.0, "Sum")


def test_a_reason_never_says_of_a_datapoint_what_is_not_so(desk: WatchedAlarm) -> None:
    desk.order(5.0)
    desk.pass_s(60)
    desk.put(EvaluationPeriods=3, TreatMissingData="notBreaching")
    desk.pass_s(10)
    assert desk.alarm.standing.reason == "Threshold Crossed: 2 missing datapoints were treated as [NonBreaching]."
    desk.pass_s(300)
    desk.put(TreatMissingData="breaching")
    desk.pass_s(10)
    assert desk.alarm.standing.reason == (
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


def test_a_history_is_bounded(desk: WatchedAlarm) -> None:
    desk.put()
    for _ in range(HISTORY_MAX // 2 + 1):
        for value in ("ALARM", "OK"):
            desk.set_state(value)
    assert len(desk.alarm.history) == HISTORY_MAX


def test_the_chore_looks_at_every_tenth_second(desk: WatchedAlarm) -> None:
    desk.put()
    desk.order(5.0)
    desk.site.now_s = NOON_S + 7.5

    async def until_alarm() -> float:
        running = asyncio.create_task(desk.site.watch.run())
        await reached(lambda: desk.state == "ALARM")
        running.cancel()
        return desk.site.now_s

    assert asyncio.run(until_alarm()) - NOON_S == pytest.approx(60, abs=10)
