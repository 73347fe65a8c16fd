"""Rollouts of a whole endpoint whose clock is moved: half an hour of steps, an alarm of real metrics, the command."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from tests.endpoint.account.helpers.operation_walk import Walk
from tests.endpoint.account.helpers.strictness import complaints
from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.waiting import soon
from torpor.cli import app

ONE = {"InstanceType": "ml.m5.large"}
STEP_S = 180


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("rollouts"), "--travelling-clock") as started:
        for prefix, answer in (("old", 1.0), ("new", 2.0)):
            put(started.folder(prefix), {"a.tar": constant(answer)})
        yield started


def advance(live: LiveEndpoint, seconds: float) -> None:
    with urlopen(Request(f"{live.url}/_torpor/clock?advance_s={seconds}", method="POST"), timeout=120) as answer:
        json.load(answer)


def deployed(live: LiveEndpoint, name: str) -> str:
    """An endpoint over the old models, and a configuration `NAME-new` over the new ones."""
    live.deploy(name, Variant(many("old/"), members=ONE))
    live.sagemaker.create_model(ModelName=f"{name}-new", PrimaryContainer=many("new/"))
    production = Variant(many("new/"), members=ONE).production(f"{name}-new")
    live.sagemaker.create_endpoint_config(EndpointConfigName=f"{name}-new", ProductionVariants=[production])
    return name


def roll_out(live: LiveEndpoint, name: str, kind: str, *alarms: str, **size: Any) -> None:
    routing = {"Type": kind, "WaitIntervalInSeconds": STEP_S, **size}
    deployment: dict[str, Any] = {
        "BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing, "TerminationWaitInSeconds": STEP_S}
    }
    if alarms:
        deployment["AutoRollbackConfiguration"] = {"Alarms": [{"AlarmName": alarm} for alarm in alarms]}
    live.sagemaker.update_endpoint(EndpointName=name, EndpointConfigName=f"{name}-new", DeploymentConfig=deployment)


def percent(value: int) -> dict[str, Any]:
    return {"Type": "CAPACITY_PERCENT", "Value": value}


def stage(live: LiveEndpoint, name: str) -> str:
    """What the new fleet does."""
    described = live.sagemaker.describe_endpoint(EndpointName=name)
    (pending,) = described.get("PendingDeploymentSummary", {}).get("ProductionVariants", [{}])
    return " ".join(one["StatusMessage"] for one in pending.get("VariantStatus", []))


def baking(live: LiveEndpoint, name: str) -> bool:
    return soon(lambda: stage(live, name).startswith("Baking"))


def answers(live: LiveEndpoint, name: str, calls: int) -> Counter[float]:
    return Counter(number_of(live.invoke(name, b"1", TargetModel="a.tar")) for _ in range(calls))


@pytest.mark.thorough
def test_a_linear_rollout_of_half_an_hour_gives_the_new_fleet_a_tenth_more_with_each_step(live: LiveEndpoint) -> None:
    name = deployed(live, "linear")
    roll_out(live, name, "LINEAR", LinearStepSize=percent(10))
    assert baking(live, name)
    walk = Walk("sagemaker", live.client, str)
    described = walk.call("DescribeEndpoint", {"EndpointName": name})
    assert complaints(walk.answers["DescribeEndpoint"]) == []
    (new,) = described["PendingDeploymentSummary"]["ProductionVariants"]
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("Updating", name)
    assert (new["CurrentInstanceCount"], new["DesiredInstanceCount"]) == (1, 1)
    assert new["VariantStatus"][0]["Status"] == "Baking"
    advance(live, 4 * STEP_S)  # the fifth step of ten bakes
    assert 5 <= answers(live, name, 40)[2.0] <= 35  # one run in ten million falls outside
    advance(live, 5 * STEP_S)
    assert answers(live, name, 20) == {2.0: 20}
    assert "TerminationWaitInSeconds) with traffic enabled on full capacity" in stage(live, name)
    advance(live, STEP_S + 1)
    settled = live.settled(name)
    assert (settled["EndpointStatus"], settled["EndpointConfigName"]) == ("InService", f"{name}-new")
    assert "PendingDeploymentSummary" not in settled
    assert settled["LastDeploymentConfig"]["BlueGreenUpdatePolicy"]["TerminationWaitInSeconds"] == STEP_S


def alarm(live: LiveEndpoint, name: str) -> str:
    """An alarm of the errors of the new fleet alone."""
    dimensions = {"EndpointName": name, "VariantName": "AllTraffic", "EndpointConfigName": f"{name}-new"}
    live.cloudwatch.put_metric_alarm(
        AlarmName=f"{name}-errors",
        Namespace="AWS/SageMaker",
        MetricName="Invocation4XXErrors",
        Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=0,
        ComparisonOperator="GreaterThanThreshold",
        TreatMissingData="notBreaching",
    )
    return f"{name}-errors"


def test_an_alarm_of_the_new_fleet_takes_all_traffic_back(live: LiveEndpoint) -> None:
    name = deployed(live, "guarded")
    roll_out(live, name, "CANARY", alarm(live, name), CanarySize=percent(50))
    assert baking(live, name)
    for _ in range(40):
        with pytest.raises(ClientError, match="not a number"):  # of either fleet: the alarm sees the new one's
            live.invoke(name, b"x", TargetModel="a.tar")
    advance(live, 130)  # the minute is over, and its alarm is judged
    settled = live.settled(name)
    assert (settled["EndpointStatus"], settled["EndpointConfigName"]) == ("InService", name)
    assert f"{name}-errors" in settled["FailureReason"]
    assert answers(live, name, 20) == {1.0: 20}


def test_the_command_says_each_stage_and_how_it_ended(live: LiveEndpoint) -> None:
    name = deployed(live, "told")
    asked = ["rollout", name, "--to", f"{name}-new", "--canary", "10%", "--url", live.url]
    live.cloudwatch.put_metric_alarm(
        AlarmName="on", Namespace="Mine", MetricName="any", Statistic="Sum", Period=60, EvaluationPeriods=1,
        Threshold=0, ComparisonOperator="GreaterThanThreshold", TreatMissingData="ignore",
    )  # fmt: skip
    live.cloudwatch.set_alarm_state(AlarmName="on", StateValue="ALARM", StateReason="a test")
    back = CliRunner().invoke(app, [*asked, "--bake", "1h", "--alarm", "on"])
    assert (back.exit_code, back.stderr.count("\n")) == (1, 1)
    assert back.stderr.startswith(f"torpor: {name} was rolled back to {name}: ")
    done = CliRunner().invoke(app, [*asked, "--bake", "1s"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "Baking for 1 seconds (WaitIntervalInSeconds) with traffic enabled on canary capacity" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"{name} serves {name}-new after 0:00:")
