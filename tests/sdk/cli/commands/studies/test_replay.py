"""`torpor replay`: against a live endpoint, and its errors for missing inputs."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import torpor
from tests.sdk.helpers.json_paths import undocumented
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.cli import app
from torpor.cli.commands.studies.replay import advice, doing, lateness
from torpor.cli.exit_codes import ExitCode
from torpor.replay.paced_sending import ReplayPace, ReplayTally
from torpor.replay.replay_result import Replayed

ROW = ",".join(map(str, ROWS[0]))
Run = Callable[..., Result]


@pytest.fixture
def run(endpoint: torpor.Local, tmp_path: Path) -> Run:
    """The command for a small trace, pointed at the live endpoint."""
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,model\n" + "".join(f"{10 + turn},{CITIES[turn % 2]}\n" for turn in range(4)))
    (tmp_path / "row.csv").write_text(ROW)
    environment = {"AWS_ENDPOINT_URL": endpoint.url}
    return lambda *arguments: CliRunner().invoke(app, ["replay", str(trace), *map(str, arguments)], env=environment)


def test_a_replay_of_a_file_shows_its_outcome(run: Run, tmp_path: Path) -> None:
    done = run("--body", tmp_path / "row.csv", "--speed", 30, "--limit", 3, "--out", tmp_path / "replayed.csv")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "shared · 3 requests in 0." in done.stdout
    assert " 100.0% " in next(line for line in done.stdout.splitlines() if line.startswith("200 "))
    assert "0 failed · " in done.stdout
    with (tmp_path / "replayed.csv").open() as file:
        assert [row["model"] for row in csv.DictReader(file)] == [CITIES[0], CITIES[1], CITIES[0]]


def test_each_model_can_have_a_body_of_its_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bodies").mkdir()
    (tmp_path / "bodies" / "city0.csv").write_text(ROW)
    (tmp_path / "bodies" / f"{CITIES[1]}.csv").write_text("no,numbers,at,all")
    done = run("--bodies", tmp_path / "bodies", "--speed", 100)
    rows = {line.split("  ")[0]: line.split() for line in done.stdout.splitlines()}
    assert (rows["200"][1], rows["424 ModelError"][2]) == ("2", "2")
    assert "2 failed · " in done.stdout


def test_json_has_the_outcomes_and_nothing_else(run: Run, tmp_path: Path) -> None:
    (tmp_path / "row.csv").write_text(ROW)
    done = run("--body", tmp_path / "row.csv", "--speed", "100", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    output = json.loads(done.stdout)
    assert undocumented("replay", output) == set()
    assert sum(one["requests"] for one in output["outcomes"]) == output["requests"] > 0


def test_a_replay_names_the_missing_bodies(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bodies").mkdir()
    (tmp_path / "bodies" / "city1.json").write_text("[]")
    done = run("--bodies", tmp_path / "bodies")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"torpor: {tmp_path / 'bodies'} has no city0.csv (")


def test_azures_trace_is_replayed_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("app,func,end_timestamp,duration\nA,f,10,1\n")
    (tmp_path / "bodies").mkdir()
    assert "has no A/f.csv (" in run("--bodies", tmp_path / "bodies").stderr


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (ExitCode.USAGE, (), "say what to send: --body FILE for all models, or --bodies DIR"),
        (
            ExitCode.USAGE,
            ("--body", "{}/row.csv", "--bodies", "{}"),
            "say what to send: --body FILE for all models, or --bodies DIR",
        ),
        (ExitCode.FAILED, ("--bodies", "{}/row.csv"), "row.csv is not a folder"),
        (ExitCode.FAILED, ("--body", "{}/nowhere.csv"), "--body {}/nowhere.csv: there is no such file"),
        (ExitCode.FAILED, ("--body", "{}/nowhere"), "--body {}/nowhere: there is no such file"),
        (ExitCode.USAGE, ("--body", "{}/row"), "row: give its type with --content-type"),
        (ExitCode.USAGE, ("--body", "{}/row.csv", "--out", "{}/nowhere/out.csv"), "there is no folder"),
        (ExitCode.USAGE, ("--body", "{}/row.csv", "--speed", "0"), "--speed is more than 0, not 0"),
        (ExitCode.FAILED, ("--body", "{}/row.csv", "other"), "there is no endpoint 'other', only "),
        (ExitCode.UNREACHABLE, ("--body", "{}/row.csv", "--url", "http://127.0.0.1:9"), "start one with `torpor up`"),
    ],
)
def test_a_missing_input_is_reported_before_any_request_is_sent(
    run: Run, tmp_path: Path, code: int, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "row").write_text(ROW)
    done = run(*(argument.format(tmp_path) for argument in arguments))
    assert (done.exit_code, done.stdout) == (code, "")
    assert said.format(tmp_path) in done.stderr


def test_a_replay_in_which_all_requests_fail_shows_why_and_exits_with_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("no,numbers,at,all")
    done = run("--body", tmp_path / "bad.csv", "--speed", 100)
    assert done.exit_code == 1
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("first 424 ModelError: ")]
    assert "no" in told.partition(": ")[2]
    assert "4 failed · " in done.stdout


def test_the_progress_counts_requests_in_flight_cold_and_failed() -> None:
    told = doing(ReplayTally(elapsed_s=2.0, sent=2003, done=2000, cold=4, failed=1))
    assert told == "1,000/s · 3 in flight · 4 cold · 1 failed"


@pytest.mark.parametrize(("in_flight_max", "do"), [(1, "raise --in-flight or"), (2, "from an idle machine")])
def test_a_pace_that_was_not_kept_comes_with_advice(in_flight_max: int, do: str) -> None:
    """The second request was due at once, and was sent when the first one was answered."""
    late = Replayed(
        names=("a",),
        outcome_names=("200",),
        began_at_s=0.0,
        interrupted=False,
        unanswered=0,
        planned_s=np.zeros(2),
        sent_s=np.array([0.0, 2.0]),
        done_s=np.array([2.0, 3.0]),
        models=np.zeros(2, np.int32),
        outcomes=np.zeros(2, np.int16),
        statuses=np.full(2, 200, np.int16),
        hits=np.ones(2, np.int8),
        steps_s=np.zeros((2, 8), np.float32),
    )
    assert lateness(late) == (
        "0 failed · 0.0% cold · at most 1 in flight · sent late by 1,000 ms at p50, 1,980 ms at p99"
    )
    assert do in advice(late, ReplayPace(in_flight_max=in_flight_max))
