"""A whole endpoint whose clock is moved: everything that falls due on the way happens, in its order and at its time."""

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.endpoint.helpers.constant_models import constant, number_of, sleeper
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put, script

MANAGED = {
    "InstanceType": "ml.m5.large",
    "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2},
}
SPEAKING = "def model_fn(d): print('loaded', flush=True)\ndef predict_fn(data, model): return data"
HOUR_S = 3600.0


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("travel"), "--travelling-clock", frameworks=True) as started:
        models = {"a.tar": constant(1.0), "b.tar": constant(2.0), "sleeper.tar.gz": sleeper()}
        put(started.folder("models"), {**models, "speaking.tar.gz": script(SPEAKING)})
        yield started


def page(live: LiveEndpoint, query: str = "", method: str = "POST") -> Any:
    with urlopen(Request(f"{live.url}/_torpor/clock{query}", method=method), timeout=120) as answer:
        return json.load(answer)


def advance(live: LiveEndpoint, seconds: float) -> Any:
    return page(live, f"?advance_s={seconds}")


def now(live: LiveEndpoint) -> datetime:
    return datetime.fromtimestamp(page(live, method="GET")["now_s"], UTC)


def sleeping(live: LiveEndpoint, name: str, **environment: str) -> str:
    return live.deploy(name, Variant(many("models/", environment), members=MANAGED))


def wanted(live: LiveEndpoint, name: str) -> int:
    [variant] = live.shown(name)
    assert variant["leaving"] == 0
    assert len(variant["instances"]) == variant["wanted"]
    return int(variant["wanted"])


def call(live: LiveEndpoint, name: str, model: str = "a.tar") -> Any:
    return live.invoke(name, b"1", TargetModel=model)


def test_it_sleeps_after_twenty_minutes_and_a_call_wakes_it(live: LiveEndpoint) -> None:
    name = sleeping(live, "night")
    call(live, name)
    began_s = time.monotonic()
    advance(live, 20 * 60 - 5)
    assert wanted(live, name) == 1
    advance(live, 10)
    assert wanted(live, name) == 0
    advance(live, 12 * HOUR_S)
    assert wanted(live, name) == 0
    assert number_of(call(live, name)) == 1.0
    assert time.monotonic() - began_s < 20 * 60  # not even the first twenty minutes were waited for


@pytest.mark.thorough
def test_a_variant_that_knows_its_callers_wakes_before_the_next_call(live: LiveEndpoint) -> None:
    name = sleeping(live, "known", TORPOR_KEEP_ALIVE="histogram")
    for _ in range(11):
        call(live, name)
        advance(live, HOUR_S)
    call(live, name)
    advance(live, 30 * 60)
    assert wanted(live, name) == 0
    advance(live, 28 * 60)
    assert wanted(live, name) == 1


def test_a_model_leaves_after_its_idle_time_and_its_decision_has_that_time(live: LiveEndpoint) -> None:
    name = sleeping(live, "models", TORPOR_MODEL_IDLE_SECONDS="300", TORPOR_IDLE_SECONDS="7200")
    call(live, name)
    called_at = now(live)
    advance(live, 200)
    call(live, name, "b.tar")
    advance(live, 250)
    [variant] = live.shown(name)
    assert [model["name"] for model in variant["instances"][0]["containers"][0]["models"]] == ["b.tar"]
    with urlopen(f"{live.url}/_torpor/decisions?endpoint={name}&model=a.tar") as answer:
        left = [one for one in json.load(answer)["decisions"] if one["action"] == "evict"]
    assert left[0]["at_s"] == pytest.approx(called_at.timestamp() + 300, abs=2.0)
    assert "nobody calls" in left[0]["reason"]


def test_an_alarm_is_judged_for_the_minute_that_is_over(live: LiveEndpoint) -> None:
    name = sleeping(live, "watched")
    call(live, name)
    live.cloudwatch.put_metric_alarm(
        AlarmName="called",
        Namespace="AWS/SageMaker",
        MetricName="Invocations",
        Dimensions=[{"Name": "EndpointName", "Value": name}, {"Name": "VariantName", "Value": "AllTraffic"}],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1.0,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        TreatMissingData="notBreaching",
    )
    advance(live, 600)
    history = live.cloudwatch.describe_alarm_history(AlarmName="called", HistoryItemType="StateUpdate")
    items = sorted((one["Timestamp"], one["HistorySummary"]) for one in history["AlarmHistoryItems"])
    *_, (first, entered), (second, left) = items
    assert entered.endswith("to ALARM")
    assert left == "Alarm updated from ALARM to OK"
    assert timedelta(0) < second - first < timedelta(minutes=6)
    assert second < now(live) - timedelta(minutes=3)


@pytest.mark.thorough
def test_a_scheduled_action_runs_at_its_time(live: LiveEndpoint) -> None:
    name = sleeping(live, "scheduled")
    call(live, name)
    advance(live, 30 * 60)
    assert wanted(live, name) == 0
    scaling = live.client("application-autoscaling")
    target = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"endpoint/{name}/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }
    scaling.register_scalable_target(**target, MinCapacity=0, MaxCapacity=2)
    due = (now(live) + timedelta(hours=9)).replace(microsecond=0)
    scaling.put_scheduled_action(
        **target,
        ScheduledActionName="before-nine",
        Schedule=f"at({due:%Y-%m-%dT%H:%M:%S})",
        ScalableTargetAction={"MinCapacity": 1},
    )
    advance(live, 9 * HOUR_S - 60)
    assert wanted(live, name) == 0
    advance(live, 120)
    assert wanted(live, name) == 1
    [changed, *_] = scaling.describe_scaling_activities(ServiceNamespace="sagemaker")["ScalingActivities"]
    assert changed["StatusCode"] == "Successful"
    assert abs(changed["StartTime"] - due) < timedelta(seconds=15)
    scaling.deregister_scalable_target(**target)


def test_log_lines_and_ledger_rows_have_the_clocks_time(live: LiveEndpoint) -> None:
    name = sleeping(live, "logging", TORPOR_IDLE_SECONDS="60")
    before = now(live)
    call(live, name, "speaking.tar.gz")
    advance(live, 2 * HOUR_S)
    later = now(live)
    call(live, name, "speaking.tar.gz")
    events = live.client("logs").filter_log_events(logGroupName=f"/aws/sagemaker/Endpoints/{name}")["events"]
    times = [one["timestamp"] / 1000 for one in events if "loaded" in one["message"]]
    assert times == [
        pytest.approx(before.timestamp(), abs=HOUR_S),
        pytest.approx(later.timestamp(), abs=HOUR_S),
    ]
    with urlopen(f"{live.url}/_torpor/cold-starts?endpoint={name}") as answer:
        rows = [one["at_s"] for one in json.load(answer)["cold_starts"]]
    assert rows == [pytest.approx(before.timestamp(), abs=HOUR_S), pytest.approx(later.timestamp(), abs=10.0)]


def test_a_metric_has_a_sample_in_each_minute(live: LiveEndpoint) -> None:
    name = sleeping(live, "metered", TORPOR_IDLE_SECONDS="7200")
    call(live, name)
    start = now(live).replace(second=0, microsecond=0) + timedelta(minutes=1)
    advance(live, 12 * 60)
    points = live.cloudwatch.get_metric_statistics(
        Namespace="/aws/sagemaker/Endpoints",
        MetricName="LoadedModelCount",
        Dimensions=[{"Name": "EndpointName", "Value": name}, {"Name": "VariantName", "Value": "AllTraffic"}],
        StartTime=start,
        EndTime=start + timedelta(minutes=10),
        Period=60,
        Statistics=["Maximum"],
    )["Datapoints"]
    assert [one["Maximum"] for one in points] == [1.0] * 10


@pytest.mark.thorough
def test_a_request_in_flight_goes_on_in_real_time(live: LiveEndpoint) -> None:
    name = sleeping(live, "flight")
    call(live, name)
    call(live, name, "b.tar")
    answers: list[Any] = []
    caller = threading.Thread(
        target=lambda: answers.append(live.invoke(name, b"1.5", TargetModel="sleeper.tar.gz")), daemon=True
    )
    caller.start()
    time.sleep(0.5)
    assert page(live, f"?advance_s={HOUR_S}")["stops"] < 100
    caller.join(60.0)
    [answer] = answers
    timing = answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
    steps = {step.split(";")[0].strip(): float(step.split("=")[1]) for step in timing.split(",")}
    assert sum(steps.values()) < 20_000


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "say how far, or to what time"),
        ("?advance_s=1&to_s=2", "say how far, or to what time"),
        ("?advance_s=soon", "advance_s='soon' is no number of seconds"),
        ("?advance_s=-5", "it only goes forward"),
        ("?to_s=1000", "it only goes forward"),
        ("?advance_s=inf", "further than a year"),
        ("?advance_s=nan", "further than a year"),
        ("?days=1", "no parameter 'days'"),
    ],
)
def test_a_move_that_is_not_understood_is_refused(live: LiveEndpoint, query: str, said: str) -> None:
    with pytest.raises(HTTPError) as error:
        page(live, query)
    assert error.value.code == 400
    assert said in error.value.read().decode()


def test_the_index_lists_the_page_only_with_the_option(live: LiveEndpoint) -> None:
    with urlopen(f"{live.url}/_torpor/") as answer:
        assert "POST: move the clock forward" in answer.read().decode()


def test_an_endpoint_without_the_option_refuses(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path) as plain:
        for method in ("GET", "POST"):
            with pytest.raises(HTTPError) as error:
                page(plain, "?advance_s=60" if method == "POST" else "", method)
            assert error.value.code == 404
            assert "start it with --travelling-clock" in error.value.read().decode()
        with urlopen(f"{plain.url}/_torpor/") as answer:
            assert "clock" not in answer.read().decode()
