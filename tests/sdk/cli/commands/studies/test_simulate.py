"""`torpor simulate`: a line for each way, the assumptions below it, files of the results, and one line for an error."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.json_paths import undocumented
from torpor.cli import app
from torpor.cli.commands.studies.result_files import LOGGED
from torpor.cli.commands.studies.simulate import span
from torpor.cli.console import fitted
from torpor.cli.exit_codes import ExitCode

TRACE = "zipf:models=20,rate_hz=2,duration_s=120"
CALLS = "time_s,model\n0,a\n1,b\n2.5,a\n"
MODELS = "model,memory_bytes,load_s,predict_s\na,1000000,0.5,0.02\nb,1000000,0.5,0.02\n"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, in a folder with `calls.csv` and `models.csv`."""
    (tmp_path / "calls.csv").write_text(CALLS)
    (tmp_path / "models.csv").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["simulate", *arguments])


def rows(shown: str) -> dict[str, list[str]]:
    """The first table's cells by scenario."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in shown.partition("\n\n")[0].splitlines()]
    return {cells[0]: cells[1:] for cells in lines if len(cells) > 2}


def test_the_simulation_of_a_small_trace_shows_its_figures(run: Run) -> None:
    done = run("calls.csv", "--profiles", "models.csv", "--slo-ms", "100")
    assert done.exit_code == 0
    assert done.stdout.startswith("calls.csv · 3 requests in 2.52 s\n")
    assert rows(done.stdout) == {
        "scenario": ["a month", "hits", "p50", "p99", "> 100 ms", "cold", "loads"],
        "1 x ml.m5.large, LRU": ["$88.15", "33.33%", "523 ms", "524 ms", "66.67%", "2", "2"],
    }
    assert "seed 0 · US dollars at the prices of 2026-" in done.stdout
    assert "assumed" not in done.stdout


def test_every_way_that_is_asked_for_has_its_line(run: Run) -> None:
    done = run(TRACE, "--instance-type", "ml.m5.large,ml.r5.large", "--instances", "1,2", "--sleep-after", "never,5m")
    found = rows(done.stdout)
    assert list(found) == [
        "scenario",
        "1 x ml.m5.large, LRU",
        "0-1 x ml.m5.large, LRU, sleeps after 5 min",
        "2 x ml.m5.large, LRU",
        "0-2 x ml.m5.large, LRU, sleeps after 5 min",
        "1 x ml.r5.large, LRU",
        "0-1 x ml.r5.large, LRU, sleeps after 5 min",
        "2 x ml.r5.large, LRU",
        "0-2 x ml.r5.large, LRU, sleeps after 5 min",
    ]
    assert found["2 x ml.r5.large, LRU"][0] == "$228.90"
    assert "AWS has no multi-model endpoint that scales to zero" in done.stdout
    assert "and wakes in 0.1 s (--wake)" in " ".join(done.stdout.split())


def test_how_long_a_wake_takes_can_be_said(run: Run) -> None:
    arguments = ("calls.csv", "--profiles", "models.csv", "--sleep-after", "1h")
    quick, slow = (run(*arguments, *more).stdout for more in ((), ("--wake", "5m")))
    p99 = [rows(shown)["0-1 x ml.m5.large, LRU, sleeps after 1 h"][3] for shown in (quick, slow)]
    assert p99 == ["624 ms", "300,524 ms"]
    assert "and wakes in 300 s (--wake)" in " ".join(slow.split())
    assert "--wake: '5x' is not a span of time" in run(*arguments, "--wake", "5x").stderr


def test_a_terminal_shows_the_running_simulation(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text(CALLS)
    arguments = ["simulate", str(tmp_path / "calls.csv"), "--instances", "1,2"]
    done = CliRunner().invoke(app, arguments, env={"FORCE_COLOR": "1", "TTY_INTERACTIVE": "1"})
    assert "simulating 2 of 2: 2 x ml.m5.large, LRU" in done.stderr
    assert "playing" not in done.stdout


def test_the_output_names_what_was_drawn_and_a_seed_repeats_it(run: Run) -> None:
    shown = [run(TRACE, "--seed", seed).stdout for seed in ("5", "5", "6")]
    assert "assumed: the sizes and times of all models: drawn from the distributions of" in shown[0]
    assert "\nseed 5 · " in shown[0]
    assert shown[0] == shown[1] != shown[2]


def test_the_output_counts_failures_of_a_model_that_is_too_large(run: Run) -> None:
    Path("models.csv").write_text("model,memory_bytes\na,1000\nb,999999999999\n")
    done = run("calls.csv", "--profiles", "models.csv")
    assert dict(zip(*rows(done.stdout).values(), strict=True))["failed"] == "1"
    assert "failed: up to 1 request, for a model that is larger than an instance's memory or disk" in done.stdout
    Path("models.csv").write_text("model,memory_bytes\na,999999999999\nb,999999999999\n")
    assert dict(zip(*rows(run("calls.csv", "--profiles", "models.csv").stdout).values(), strict=True))["p99"] == "-"


def test_a_type_without_a_price_is_unknown_and_not_free(run: Run) -> None:
    found = rows(run("calls.csv", "--instance-type", "ml.m6g.large,ml.m5.large").stdout)
    assert [cells[0] for cells in found.values()] == ["a month", "unknown", "$88.15"]


# -- files -------------------------------------------------------------------------------------------------------------
def test_the_table_is_kept_with_all_columns(run: Run) -> None:
    run(TRACE, "--policy", "LRU,GDSF", "--memory-mib", "300", "--out", "table.csv")
    with open("table.csv", newline="") as file:
        kept = list(csv.DictReader(file))
    assert [one["scenario"] for one in kept] == ["1 x ml.m5.large, LRU", "1 x ml.m5.large, GDSF"]
    assert {"hit_ratio", "p99_s", "evictions", "instance_hours", "usd", "usd_per_month", "seed"} <= set(kept[0])
    assert int(kept[0]["evictions"]) > 0
    assert float(kept[0]["usd_per_month"]) == pytest.approx(88.19, abs=0.005)


def test_every_decision_is_kept_with_its_scenario(run: Run) -> None:
    run("calls.csv", "--profiles", "models.csv", "--policy", "LRU,FIFO", "--decisions", "log.csv")
    with open("log.csv", newline="") as file:
        kept = list(csv.DictReader(file))
    assert tuple(kept[0]) == LOGGED
    assert {one["scenario"] for one in kept} == {"1 x ml.m5.large, LRU", "1 x ml.m5.large, FIFO"}
    loaded = [one for one in kept if one["action"] == "loaded" and one["scenario"].endswith("LRU")]
    assert [(one["model"], one["size_bytes"], one["took_s"]) for one in loaded] == [
        ("a", "1000000", "0.5"),
        ("b", "1000000", "0.5"),
    ]


def test_a_picture_is_drawn(run: Run) -> None:
    done = run(TRACE, "--sleep-after", "never,1m", "--slo-ms", "200", "--plot", "picture.png")
    assert done.exit_code == 0
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_no_picture_is_drawn_where_nothing_was_answered(run: Run) -> None:
    Path("models.csv").write_text("model,memory_bytes\na,999999999999\nb,999999999999\n")
    done = run("calls.csv", "--profiles", "models.csv", "--plot", "picture.png")
    assert (done.exit_code, Path("picture.png").exists()) == (1, False)
    assert "--plot: no scenario with a price answered a request, so there is no p99 to plot" in done.stderr


def test_the_output_of_a_check_names_the_counters_that_agree(run: Run) -> None:
    plain, checked = (run(TRACE, "--sleep-after", "5s", *more).stdout for more in ((), ("--check",)))
    assert checked == f"{plain}checked: bytes, pins, loads and instances agree with the log of decisions and requests\n"


def test_json_has_the_figures_of_each_scenario_and_nothing_else(run: Run) -> None:
    done = run("calls.csv", "--policy", "LRU,LFU", "--slo-ms", "100", "--shadow", "weight=1", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    output = json.loads(done.stdout)
    assert undocumented("simulate", output) == set()
    assert [one["requests"] for one in output["scenarios"]] == [3, 3]
    assert output["scenarios"][0]["shadow"]["requests"] == 3
    assert output["scenarios"][0]["late"] is not None
    assert any("instance takes" in note for note in output["notes"])


# -- serverless, and what AWS does not have ----------------------------------------------------------------------------
SLEEPY = ("calls.csv", "--profiles", "models.csv", "--instances", "1", "--sleep-after", "never,5m")


def test_serverless_multi_model_endpoints_are_priced_by_the_call_and_marked(run: Run) -> None:
    asked = ("--serverless", "1024,2048", "--max-concurrency", "5")
    done = run(*SLEEPY, *asked, "--lasts", "1h", "--json")
    found = json.loads(done.stdout)["scenarios"]
    assert [(one["scenario"], one["on_aws"]) for one in found] == [
        ("1 x ml.m5.large, LRU", True),
        ("0-1 x ml.m5.large, LRU, sleeps after 5 min", False),
        *((f"serverless {mib} MB, at most 5 at once, LRU, sleeps after 5 min", False) for mib in ("1,024", "2,048")),
    ]
    one_gb, two_gb = (one["usd"] for one in found[2:])  # with the artifacts in S3, which cost the same
    assert two_gb - one_gb == pytest.approx(3 * 0.02 * 0.00002)
    shown = run(*SLEEPY, *asked).stdout
    assert shown.count("not on AWS") == 3
    assert "AWS has no serverless multi-model endpoint: this is Torpor's" in shown


def test_requests_beyond_the_max_concurrency_are_counted(run: Run) -> None:
    done = run(
        "calls.csv", "--profiles", "models.csv", "--serverless", "1024", "--max-concurrency", "1", "--wake", "9s"
    )
    assert "throttled: up to 2 requests, beyond the MaxConcurrency" in done.stdout
    assert "larger than" not in done.stdout


def test_what_aws_does_not_have_is_left_out_by_aws_strict(run: Run) -> None:
    found = json.loads(run(*SLEEPY, "--serverless", "1024", "--aws-strict", "--json").stdout)["scenarios"]
    assert [one["scenario"] for one in found] == ["1 x ml.m5.large, LRU"]


# -- errors ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (ExitCode.FAILED, ("nowhere.csv",), "nowhere.csv: [Errno 2] No such file"),
        (ExitCode.FAILED, ("calls.json",), "calls.json: a trace is a file that ends in .csv"),
        (ExitCode.FAILED, ("calls.csv", "--profiles", "nowhere.csv"), "--profiles nowhere.csv: there is no such file"),
        (ExitCode.USAGE, ("calls.csv", "--policy", "MRU"), "--policy is one of LRU, "),
        (ExitCode.FAILED, ("foo:models=5",), "a synthetic trace is one of zipf, calibrated, as zipf:models=500"),
        (ExitCode.USAGE, ("calls.csv", "--policy", ","), "--policy is empty"),
        (ExitCode.USAGE, ("calls.csv", "--instance-type", "ml.nope"), "instance_type is one of the catalogue's types"),
        (
            ExitCode.USAGE,
            ("calls.csv", "--instances", "0"),
            "--instances takes numbers of 1 or more, as 1,2,4, not '0'",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--instances", "²"),
            "--instances takes numbers of 1 or more, as 1,2,4, not '²'",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--sleep-after", "5x"),
            "--sleep-after: '5x' is not a span of time, such as 90s",
        ),
        (ExitCode.USAGE, ("calls.csv", "--sleep-after", "0s"), "--sleep-after: a span of time is more than 0, not 0s"),
        (ExitCode.USAGE, ("calls.csv", "--slo-ms", "-4"), "--slo-ms is a number of milliseconds, more than 0, not -4"),
        (ExitCode.USAGE, ("calls.csv", "--seed", "-1"), "seed is 0 or more, not -1"),
        (
            ExitCode.USAGE,
            ("calls.csv", "--plot", "picture.foo"),
            "--plot picture.foo: the name of a plot ends in .png, .svg, .pdf",
        ),
        (ExitCode.USAGE, ("calls.csv", "--plot", "no/where.png"), "--plot no/where.png: there is no folder no"),
        (ExitCode.USAGE, ("calls.csv", "--out", "no/where.csv"), "--out no/where.csv: there is no folder no"),
        (
            ExitCode.USAGE,
            ("calls.csv", "--decisions", "no/where.csv"),
            "--decisions no/where.csv: there is no folder no",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--plot", "picture.png", "--instance-type", "ml.m6g.large"),
            "--plot: no price is known for",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--plot", "picture.png", "--policy", "belady"),
            "add a --policy that does not know the trace",
        ),
        (ExitCode.FAILED, ("calls.csv", "--prices", "nowhere.json"), "--prices nowhere.json: there is no such file"),
        (ExitCode.USAGE, ("calls.csv", "--out", "."), "--out .: that is a folder, name a file in it"),
        (
            ExitCode.FAILED,
            ("calls.csv", "--lasts", "2s"),
            "calls.csv has a request 2.5 s after its first one, but lasts_s is 2 s: give",
        ),
        (ExitCode.USAGE, ("calls.csv", "--lasts", "0s"), "--lasts: a span of time is more than 0, not 0s"),
        (ExitCode.FAILED, ("calls.csv", "--region", "mars-1"), "no price of mars-1 is known, only of us-east-1"),
        (ExitCode.FAILED, ("zipf:modles=3",), "'modles' is not a parameter"),
        (ExitCode.USAGE, ("calls.csv", "--serverless", "1000"), "--serverless is one of 1024, 2048, 3072, "),
        (ExitCode.USAGE, ("calls.csv", "--max-concurrency", "5"), "--provisioned-concurrency go with --serverless"),
        (
            ExitCode.USAGE,
            ("calls.csv", "--serverless", "1024", "--max-concurrency", "5", "--provisioned-concurrency", "6"),
            "--provisioned-concurrency is at most --max-concurrency",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--serverless", "1024", "--sleep-after", "never"),
            "--sleep-after never: a serverless variant sleeps",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--serverless", "1024", "--aws-strict"),
            "--aws-strict leaves out serverless 1,024 MB, at most 200 at once, LRU, sleeps after 20 min: AWS has no",
        ),
    ],
)
def test_an_expected_error_is_one_line(run: Run, code: int, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert done.stderr.startswith("torpor: ")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("time_s,model\n0,a\n5,b\n2,a\n", "calls.csv: row 3: time 2.0 is earlier than the row before it"),
        ("time_s,model,bytes\n0,a,5\n1,b,-3\n", "calls.csv: row 2: a size of -3 bytes is negative"),
        ("time_s,model,colour\n0,a,red\n", "calls.csv: column 'colour' is unknown"),
        ("", "calls.csv is empty"),
        ("time_s;model\n0;a\n", "calls.csv: its columns are separated by semicolons: separate them by commas"),
        ("time_s,model\n0,house,2.tar.gz\n", "calls.csv: row 1 has 3 columns, and the header 2: quote a name that has"),
        ("timestamp,model\n1700000000000,a\n", "calls.csv: row 1: time 1700000000000 in column 'timestamp' cannot be"),
        (
            "time_s,model\n0,c\n",
            "'c' is called, and has no profile: add a row with its model and memory_bytes to models.csv",
        ),
    ],
)
def test_a_bad_trace_is_one_line(run: Run, lines: str, said: str) -> None:
    Path("calls.csv").write_text(lines)
    done = run("calls.csv", "--profiles", "models.csv")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert said in done.stderr


# -- what else is read -------------------------------------------------------------------------------------------------
def test_azures_trace_is_known_by_its_header(run: Run) -> None:
    Path("2021.txt").write_text("app,func,end_timestamp,duration\nA,f,10,1\nA,g,12,8\n")
    assert "2021.txt · 2 requests in " in run("2021.txt").stdout


# -- the look ----------------------------------------------------------------------------------------------------------
def test_a_narrow_terminal_has_fewer_columns_and_no_wrapped_numbers() -> None:
    lines = [{"name": "x" * 20, "a": "1" * 10, "b": "2" * 10, "c": "3" * 10}]
    assert [len(fitted(lines, ("b", "a"), width).columns) for width in (57, 56, 45, 44, 32, 5)] == [4, 3, 3, 2, 2, 2]
    assert [str(column.header) for column in fitted(lines, ("b", "a"), 50).columns] == ["name", "a", "c"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "0 s"), (2.5, "2.5 s"), (119.0, "119 s"), (300.0, "5 min"), (9000.0, "2.5 h"), (30 * 86_400.0, "30 days")],
)
def test_a_span_is_printed_in_a_fitting_unit(seconds: float, said: str) -> None:
    assert span(seconds) == said


PIPELINE = "container,memory_bytes,predict_s,models\nclean,1e8,0.1,\nhouses,,,true\n"


def test_a_pipeline_shows_each_of_its_containers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pipeline.csv").write_text(PIPELINE)
    files = ("--profiles", "models.csv", "--containers", "pipeline.csv")
    done = run("calls.csv", *files, "--shadow", "containers=none", "--check")
    assert done.exit_code == 0, done.output
    lines = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()]
    assert ["1 x ml.m5.large, LRU, 2 containers", "clean", "95.4 MiB", "100 ms", "100 ms", "100 ms"] in lines
    assert [cells[1] for cells in lines if len(cells) == 6 and "containers" in cells[0]][:2] == ["clean", "houses"]
    assert "and 95.3674 MiB for its other containers" in " ".join(done.stdout.split())
    assert any(cells[0] == "shadow: 1 x ml.m5.large, LRU" for cells in lines)


def test_a_file_of_containers_that_is_not_there_is_named(run: Run) -> None:
    done = run("calls.csv", "--containers", "nowhere.csv")
    assert done.exit_code == 1
    assert "--containers nowhere.csv: there is no such file" in str(done.exception) + done.output
