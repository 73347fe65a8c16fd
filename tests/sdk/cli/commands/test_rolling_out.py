"""`torpor rollout`: what its options ask for, what it says as the rollout goes on, and how it ends."""

from typing import Any

import pytest
from typer.testing import CliRunner

from torpor.cli import app
from torpor.cli.commands.rolling_out import failure, followed, planned, serves
from torpor.cli.exit_codes import ExitCode, UsageRefused
from torpor.hosting.guarded_rollout import RolloutView, viewed
from torpor.hosting.rollout_hits import HitRatios, RolloutHits

NO_SIZE: dict[str, str | None] = {"--canary": None, "--linear": None, "--rolling": None}
HALF = {"Type": "CAPACITY_PERCENT", "Value": 50}


def deployment(
    bake: str | None = None, keep_old: str | None = None, timeout: str | None = None, alarms: tuple[str, ...] = (),
    **sizes: str,
) -> dict[str, Any]:  # fmt: skip
    given = {**NO_SIZE, **{f"--{name}": text for name, text in sizes.items()}}
    return planned(given, bake, keep_old, timeout, alarms).deployment_config()


def routing(config: dict[str, Any]) -> Any:
    return config["BlueGreenUpdatePolicy"]["TrafficRoutingConfiguration"]


def test_each_size_is_the_strategy_of_its_name() -> None:
    canary = routing(deployment(canary="50%", bake="90s"))
    assert canary == {"Type": "CANARY", "CanarySize": HALF, "WaitIntervalInSeconds": 90}
    linear = routing(deployment(linear="2"))
    assert linear["LinearStepSize"] == {"Type": "INSTANCE_COUNT", "Value": 2}
    assert (linear["Type"], linear["WaitIntervalInSeconds"]) == ("LINEAR", 300)
    rolling = deployment(rolling="50%", bake="0s", timeout="10m")
    policy = {"MaximumBatchSize": HALF, "WaitIntervalInSeconds": 0, "MaximumExecutionTimeoutInSeconds": 600}
    assert rolling == {"RollingUpdatePolicy": policy}


def test_without_a_size_all_traffic_moves_at_once_and_the_old_fleet_may_stay() -> None:
    config = deployment(keep_old="1h", alarms=("errors", "slow"))
    assert config == {
        "BlueGreenUpdatePolicy": {
            "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0},
            "TerminationWaitInSeconds": 3600,
        },
        "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "errors"}, {"AlarmName": "slow"}]},
    }


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"canary": "10%", "linear": "10%"}, "one of --canary, --linear and --rolling"),
        ({"canary": "ten"}, "--canary takes a size such as 10%"),
        ({"linear": "0%"}, "--linear takes a size"),
        ({"bake": "5m"}, "--bake is for steps"),
        ({"rolling": "1", "keep_old": "5m"}, "leave out --keep-old"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageRefused, match=says):
        deployment(**options)


def test_a_wrong_span_of_time_is_a_usage_error() -> None:
    done = CliRunner().invoke(app, ["rollout", "a", "--to", "b", "--canary", "10%", "--bake", "5"])
    assert (done.exit_code, "--bake" in done.stderr) == (ExitCode.USAGE, True)


def described(status: str, config: str, *stages: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    """`stages` are the variant's name, its status and the message."""
    pending = [
        {"VariantName": name, "VariantStatus": [{"Status": said, "StatusMessage": message}]}
        for name, said, message in stages
    ]
    shown = {"PendingDeploymentSummary": {"ProductionVariants": pending}} if stages else {}
    production = [{"VariantName": name} for name in dict.fromkeys(stage[0] for stage in stages) or ["All"]]
    return {"EndpointStatus": status, "EndpointConfigName": config, "ProductionVariants": production, **shown, **more}


def test_each_stage_is_said_once_when_it_begins() -> None:
    baking = viewed(described("Updating", "old", ("All", "Baking", "Baking for 2 seconds.")))
    seen = [
        viewed(described("Updating", "old", ("All", "Creating", "Launching 1 instance(s)."))),
        baking,
        viewed(described("Updating", "old")),  # between two stages
        baking,
        viewed(described("InService", "new")),
    ]
    said: list[str] = []
    times, live = iter((1.0, 62.0, 63.0, 72.0, 73.0)), list[str]()
    last = followed(seen, lambda: next(times), live.append, said.append)
    assert said == ["0:00:01  Creating: Launching 1 instance(s).", "0:01:02  Baking: Baking for 2 seconds."]
    assert live[-2:] == ["Updating · Baking for 0:00:10 ·", "InService"]
    assert (last.status, last.config, last.under_way) == ("InService", "new", False)


def test_stages_of_several_variants_have_their_names() -> None:
    view = viewed(described("Updating", "old", ("A", "Baking", "One."), ("B", "Creating", "Two.")))
    assert view.stages == ("A: Baking: One.", "B: Creating: Two.")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("InService", "houses was rolled back to old: an alarm"),
        ("UpdateRollbackFailed", "houses is between old and new, for the rollback failed too: an alarm"),
        ("Failed", "houses is Failed: an alarm"),
    ],
)
def test_what_failed_is_told_with_its_reason(status: str, says: str) -> None:
    assert failure("houses", "new", RolloutView(status, "old", (), reason="an alarm")) == says


def test_a_rollback_to_the_configuration_that_was_asked_for_is_a_rollback_all_the_same() -> None:
    assert serves("new", RolloutView("InService", "new", ()))
    assert not serves("new", RolloutView("InService", "new", (), reason="an alarm"))
    assert not serves("new", RolloutView("InService", "old", ()))


class CountedHits:
    """CloudWatch with sums and numbers of samples by the dimensions of a metric."""

    def __init__(self, points: dict[tuple[str, ...], list[tuple[float, float]]]) -> None:
        self.points = points

    def get_metric_statistics(self, **members: Any) -> dict[str, Any]:
        assert (members["Namespace"], members["MetricName"]) == ("AWS/SageMaker", "ModelCacheHit")
        found = self.points.get(tuple(one["Value"] for one in members["Dimensions"]), [])
        return {"Datapoints": [{"Sum": hits, "SampleCount": count} for hits, count in found]}


def test_the_hit_ratio_before_is_told_beside_that_of_the_new_fleet() -> None:
    cloudwatch = CountedHits({("shop", "a"): [(9.0, 10.0), (8.0, 10.0)], ("shop", "a", "new"): [(1.0, 4.0)]})
    hits = RolloutHits(cloudwatch, "shop", ["a", "b"])
    cloudwatch.points["shop", "a"] = [(0.0, 99.0)]  # what comes later belongs to no ratio of before
    assert hits.ratios("new") == {"a": HitRatios(0.85, 0.25)}
    assert hits.ratios("new")["a"].told == "85.0 % before, and 25.0 % in the new fleet"
    assert HitRatios(None, 1.0).told == "no request before, and 100.0 % in the new fleet"
