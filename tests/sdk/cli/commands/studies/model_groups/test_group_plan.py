"""`torpor plan --group` and `torpor simulate --group`: hardware, who answers, missed needs, dollars."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.json_paths import undocumented
from torpor.cli import app
from torpor.cli.exit_codes import ExitCode

TYPES = ("--instance-type", "ml.m5.large", "--instances-max", "2", "--sleep-after", "never")
HURRIED, EXACT = "digits?latency_ms=150, min_accuracy=0.8", "digits?latency_ms=400, min_accuracy=0.95"
Run = Callable[..., Result]


def model(accuracy: float, took_ms: float, s3_ms: float) -> dict[str, object]:
    loads = {"disk": s3_ms / 2, "s3": s3_ms, "asleep": s3_ms + 100}
    return {"accuracy": accuracy, "latency_ms": {"1": took_ms}, "load_ms": loads, "size_bytes": 50_000_000}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, in a folder with `calls.csv`, of which each eighth call needs the large model, and the group."""
    rows = (f'{number * 0.05},"{EXACT if number % 8 == 0 else HURRIED}"\n' for number in range(800))
    (tmp_path / "calls.csv").write_text("time_s,model\n" + "".join(rows))
    group = {"usd_per_hour": 0.115, "models": {"small": model(0.85, 2, 60), "large": model(0.97, 90, 300)}}
    (tmp_path / "digits.group.json").write_text(json.dumps(group))
    monkeypatch.chdir(tmp_path)
    return lambda command, *arguments: CliRunner().invoke(
        app, [command, "calls.csv", "--group", "digits.group.json", *arguments]
    )


def test_the_plan_says_hardware_models_misses_accuracy_and_dollars(run: Run) -> None:
    done = run("plan", *TYPES)
    assert done.exit_code == 0
    assert done.stdout.startswith("99 % of the calls get what they need · 800 requests for digits\n")
    said = " ".join(done.stdout.split())
    assert "1 x ml.m5.large, LRU: $" in said
    assert "The mean accuracy is 0.865; answered by small 87.5 %, large 12.5 %." in said
    assert '"InstanceType": "ml.m5.large"' in done.stdout
    assert "TORPOR_GROUPS=true" in done.stdout


def test_the_json_of_a_plan_has_documented_keys(run: Run) -> None:
    found = json.loads(run("plan", *TYPES, "--json").stdout)
    assert undocumented("plan --group", found) == set()
    assert found["environment"]["TORPOR_GROUPS"] == "true"
    best = found["options"][0]
    assert (best["meets"], best["scenario"], best["calls"]) == (True, found["plan"], 800)
    assert [one["model"] for one in best["models"]] == ["small", "large"]


def test_a_cheaper_way_that_sleeps_is_found(run: Run) -> None:
    quiet = "".join(f'{number * 600},"{HURRIED}"\n' for number in range(60))
    Path("calls.csv").write_text("time_s,model\n" + quiet)
    allowed = ("--instance-type", "ml.m5.large", "--instances-max", "1", "--sleep-after", "1m", "--quantile", "0.01")
    assert "sleeps after" in json.loads(run("plan", *allowed, "--json").stdout)["plan"]


def test_needs_that_no_model_meets_are_told_before_anything_is_played(run: Run) -> None:
    Path("calls.csv").write_text(f'time_s,model\n0,"{HURRIED}"\n1,"digits?min_accuracy=0.99"\n')
    done = run("plan", *TYPES)
    assert done.exit_code == ExitCode.NO_PLAN
    assert "Nothing meets that: 50.00% of the calls need what no model gives" in done.stdout
    assert "large: its accuracy is 0.97" in done.stdout


def test_requests_that_may_cost_too_much_are_missed_needs(run: Run) -> None:
    Path("calls.csv").write_text('time_s,model\n0,"digits?max_cost=0.0000001, min_accuracy=0.9"\n')
    done = run("plan", *TYPES, "--quantile", "0.5")
    assert done.exit_code == ExitCode.NO_PLAN
    assert "it costs $" in done.stdout


@pytest.mark.parametrize(
    ("command", "arguments", "told"),
    [
        ("plan", ("--slo-ms", "50"), "--slo-ms does not go with --group: each request says its own latency_ms"),
        ("plan", ("--seeds", "2"), "--seeds does not go with --group"),
        ("plan", ("--aws-strict",), "AWS has no groups"),
        ("simulate", ("--async",), "an asynchronous request names a model"),
    ],
)
def test_options_that_mean_nothing_for_a_group_are_refused(
    run: Run, command: str, arguments: tuple[str, ...], told: str
) -> None:
    done = run(command, *arguments)
    assert done.exit_code == ExitCode.USAGE
    assert told in done.stderr


def test_a_trace_that_never_names_the_group_is_refused(run: Run) -> None:
    Path("calls.csv").write_text("time_s,model\n0,small\n")
    done = run("plan", *TYPES)
    assert done.exit_code == ExitCode.FAILED
    assert "no request of the trace names group 'digits'" in done.stderr


def test_a_plan_without_a_group_needs_an_slo() -> None:
    done = CliRunner().invoke(app, ["plan", "zipf:models=2"])
    assert (done.exit_code, "--slo-ms is missing" in done.stderr) == (ExitCode.USAGE, True)


def test_a_simulation_plays_the_rules_beside_each_other(run: Run) -> None:
    arguments = ("--instance-type", "ml.m5.large", "--instances", "1,2")
    done = run("simulate", *arguments)
    assert done.exit_code == 0
    assert "always the fastest" in done.stdout
    found = json.loads(run("simulate", *arguments, "--json").stdout)
    assert undocumented("simulate --group", found) == set()
    assert [one["rule"] for one in found["rows"]][:4] == ["torpor", "infaas", "always the best", "always the fastest"]
    assert len(found["rows"]) == 8
