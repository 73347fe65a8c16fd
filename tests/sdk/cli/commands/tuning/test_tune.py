"""`torpor tune`: its answer as JSON and as tables, the files that it writes, and what it refuses before it searches."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.json_paths import undocumented
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.cli import app
from torpor.cli.exit_codes import ExitCode
from torpor.simulator.planning.recorded_plan import confirmable

TRACE = "zipf:models=6,rate_hz=2,duration_s=20"
SMALL = (
    "--choose", "instance-type=ml.t2.medium,ml.m5.large", "--choose", "instances=1,2", "--choose", "policy=lru",
    "--choose", "way=always on,scaled", "--choose", "threads=none,1", "--choose", "loads-max=4",
    "--choose", "concurrency=2,8",
)  # fmt: skip


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["tune", *map(str, arguments)])


def test_the_answer_is_json_and_its_files_deploy_and_confirm_it(tmp_path: Path) -> None:
    files = ("--write", tmp_path / "config.json", "--out", tmp_path / "tuned.json")
    done = command(TRACE, "--slo-ms", 2000, "--quantile", 0.8, *SMALL, *files, "--json")
    assert done.exit_code == 0, done.stderr
    output = json.loads(done.stdout)
    assert undocumented("tune", output) == set()
    assert output == json.loads((tmp_path / "tuned.json").read_text())
    written = json.loads((tmp_path / "config.json").read_text())
    assert written == {"create_endpoint_config": output["create_endpoint_config"], "environment": output["environment"]}
    assert written["create_endpoint_config"]["ProductionVariants"][0]["InstanceType"] == "ml.t2.medium"
    assert confirmable(tmp_path / "tuned.json").scenario.name == output["best"]
    assert {one["name"] for one in output["settings"]} >= {"threads", "concurrency", "instances"}


def test_the_tables_tell_the_settings_and_the_doubts() -> None:
    done = command(TRACE, "--slo-ms", 2000, "--quantile", 0.8, *SMALL)
    assert done.exit_code == 0
    for told in (
        "the best",
        "each setting, changed alone",
        "create_endpoint_config(",
        "doubt: no live run",
        "left out: TORPOR_TREES",
    ):
        assert told in done.stdout


@pytest.mark.thorough
def test_the_best_is_confirmed_live_and_then_proposed(tmp_path: Path, models: Path) -> None:
    calls = [(0.2 * turn, CITIES[turn % len(CITIES)]) for turn in range(40)]
    (tmp_path / "calls.csv").write_text("time_s,model\n" + "".join(f"{at_s},{city}\n" for at_s, city in calls))
    profiles = "".join(f"{city},2000000,0.02,0.001\n" for city in CITIES)
    (tmp_path / "models.csv").write_text(f"model,memory_bytes,load_s,predict_s\n{profiles}")
    (tmp_path / "row.csv").write_text(",".join(map(str, ROWS[0])))
    live = ("--confirm", 2, "--models", models, "--body", tmp_path / "row.csv", "--write", tmp_path / "config.json")
    goal = ("--slo-ms", 30_000, "--quantile", 0.5, "--evaluations", 8)
    done = command(tmp_path / "calls.csv", "--profiles", tmp_path / "models.csv", *goal, *SMALL, *live, "--json")
    assert done.exit_code == 0, done.stderr
    output = json.loads(done.stdout)
    assert undocumented("tune", output) == set()
    [confirmed] = output["confirmed"]
    assert (confirmed["live_meets"], confirmed["plan"]) == (True, output["best"])
    assert not [one for one in output["doubts"] if "no live run" in one]
    assert (tmp_path / "config.json").exists()


def test_nothing_that_meets_the_slo_ends_with_its_code(tmp_path: Path) -> None:
    done = command(TRACE, "--slo-ms", 0.001, *SMALL, "--write", tmp_path / "config.json")
    assert done.exit_code == ExitCode.NO_PLAN
    assert "Nothing that was tried meets 99 % of the requests within 0.001 ms" in done.stdout
    assert not (tmp_path / "config.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--choose", "speed=1"), "--choose is NAME=VALUES, as threads=none,1,2, with a name of way, instance-type"),
        (("--choose", "threads"), "--choose is NAME=VALUES"),
        (
            ("--choose", "threads=0"),
            "--choose threads takes numbers of 1 or more, and 'none' to leave it empty; not '0'",
        ),
        (("--choose", "loads-max=none"), "--choose loads-max takes numbers of 1 or more; not 'none'"),
        (("--choose", "policy=BELADY"), "--choose policy BELADY knows the trace in advance"),
        (("--choose", "way=asleep"), "--choose way is one of always on, scaled, sleeps, serverless"),
        (("--choose", "sleep-after=soon"), "--choose sleep-after: "),
        (("--confirm", "1"), "--confirm starts an endpoint: say of which artifacts with --models DIR"),
        (("--confirm", "1", "--models", "."), "--confirm sends requests: say what with --body FILE"),
        (("--models", "."), "--models, --body and --bodies are for live runs: say how many with --confirm 1"),
        (("--quantile", "1"), "--quantile is above 0 and below 1"),
        (("--live-within", "soon"), "--live-within: "),
    ],
)
def test_a_wrong_command_simulates_nothing(arguments: tuple[str, ...], said: str) -> None:
    done = command(TRACE, "--slo-ms", 100, *arguments)
    assert done.exit_code == ExitCode.USAGE
    assert said in done.stderr
