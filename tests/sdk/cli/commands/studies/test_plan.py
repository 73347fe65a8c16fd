"""`torpor plan`: the candidates, the answer and its call, the alternatives; and the reason where no plan serves."""

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.json_paths import undocumented
from torpor.cli import app
from torpor.cli.exit_codes import ExitCode

TRACE = "zipf:models=20,rate_hz=2,duration_s=120"
TYPES = ("--instance-type", "ml.t2.medium,ml.m5.large", "--instances-max", "2")
MODELS = "model,memory_bytes,load_s,predict_s\na,1000000,0.5,0.02\nb,1000000,0.5,0.02\n"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, in a folder with `calls.csv`, a call in ten minutes, and `models.csv`."""
    (tmp_path / "calls.csv").write_text("time_s,model\n" + "".join(f"{600 * n},{'ab'[n % 2]}\n" for n in range(20)))
    (tmp_path / "models.csv").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["plan", *arguments])


def code(shown: str) -> str:
    """The call of the plan, as it can be copied. One of a serverless endpoint may stand before it."""
    found: list[str] = re.findall(r"^boto3.*?^\)$", shown, re.MULTILINE | re.DOTALL)
    return found[-1]


def test_the_answer_has_its_cost_and_the_call_that_deploys_it(run: Run) -> None:
    done = run(TRACE, *TYPES, "--slo-ms", "3000", "--quantile", "0.9")
    assert done.exit_code == 0
    assert done.stdout.startswith("90 % of the requests within 3,000 ms · 219 requests\n")
    assert re.search(r"^1 x ml\.t2\.medium, LRU .*\$38\.\d\d .* the plan *$", done.stdout, re.MULTILINE)
    assert re.search(
        r"^1 x ml\.t2\.medium, LRU: \$38\.\d\d a month\. \d of 3 seeds meet the SLO, p99 ", done.stdout, re.MULTILINE
    )
    assert ast.parse(code(done.stdout))
    assert '"InstanceType": "ml.t2.medium"' in done.stdout
    assert re.search(r"^an endpoint per model, each 1 x ml\.t2\.medium +\$761\.\d\d +0\.00%", done.stdout, re.MULTILINE)
    assert re.search(r"^serverless, an endpoint per model +\$", done.stdout, re.MULTILINE)
    assert "\nseed 0 to 2 · US dollars at the prices of 2026-" in done.stdout
    assert "\nassumed: the sizes and times of all models: drawn" in done.stdout


def test_the_plan_of_a_fixed_trace_says_what_a_single_run_can_show(run: Run) -> None:
    shown = run("calls.csv", *TYPES, "--profiles", "models.csv", "--slo-ms", "1000", "--sleep-after", "never,1m").stdout
    assert re.search(
        r"^0-1 x ml\.t2\.medium, LRU, sleeps after 1 min: .* Nothing is drawn, so one run", shown, re.MULTILINE
    )
    said = " ".join(shown.split())
    assert "one run is enough for this trace. Of more such traffic 0 to 16 % are late, which may be too many." in said
    assert (
        "too few to know whether 99 % are in time: 20 requests, of which 0 may be late. Give at least 1,000 requests."
        in said
    )
    assert (
        "\n# AWS rejects MinInstanceCount 0 for a multi-model endpoint: this is for a Torpor endpoint\nboto3" in shown
    )
    assert "assumed: a variant that sleeps is Torpor's, and wakes in 0.1 s; AWS's instances take 180 to 600 s" in shown
    assert "\nseed 0 · " in shown
    assert 'Environment={"TORPOR_IDLE_SECONDS": "60"}' in shown
    assert "assumed: AWS's serverless inference wakes in 2.2 s; 1 to 5 s are observed" in shown
    assert "drawn from the distributions" not in shown


def test_keep_alives_that_learn_are_tried_unless_others_are_named(run: Run) -> None:
    arguments = ("--profiles", "models.csv", "--slo-ms", "1000", "--sleep-after", "1m")
    learned = re.compile(r"sleeps after 1 min \(histogram\)")
    assert learned.search(run("calls.csv", *TYPES, *arguments).stdout)
    assert not learned.search(run("calls.csv", *TYPES, *arguments, "--keep-alive", "fixed").stdout)


def test_how_long_a_wake_takes_can_be_said(run: Run) -> None:
    arguments = ("--profiles", "models.csv", "--slo-ms", "1000", "--sleep-after", "1m", "--wake", "5m")
    shown = run("calls.csv", *TYPES, *arguments).stdout
    assert re.search(r"^1 x ml\.t2\.medium, LRU .* the plan *$", shown, re.MULTILINE)
    assert "a variant that sleeps is Torpor's, and wakes in 300 s" in shown


def test_a_variant_that_may_not_sleep_stays_awake(run: Run) -> None:
    shown = run("calls.csv", *TYPES, "--profiles", "models.csv", "--slo-ms", "1000", "--sleep-after", "never").stdout
    assert "sleeps" not in shown
    assert "ManagedInstanceScaling" not in shown


def test_the_eviction_policies_are_compared_where_memory_is_tight(run: Run) -> None:
    Path("models.csv").write_text(MODELS.replace("1000000", "3000000000"))
    arguments = ("--slo-ms", "3000", "--quantile", "0.5", "--instance-type", "ml.t2.medium", "--instances-max", "1")
    shown = run("calls.csv", "--profiles", "models.csv", *arguments).stdout
    assert "\neviction policies · 1 x ml.t2.medium\n" in shown
    assert re.search(r"^BELADY .*offline reference: it knows the trace", shown, re.MULTILINE)


def test_the_reference_policy_heeds_sizes_where_they_differ(run: Run) -> None:
    arguments = ("--slo-ms", "9000", "--quantile", "0.1", "--instance-type", "ml.t2.medium", "--instances-max", "1")
    Path("models.csv").write_text("model,memory_bytes,load_s\na,3000000000,0.5\nb,2900000000,0.5\n")
    shown = run("calls.csv", "--profiles", "models.csv", *arguments).stdout
    assert re.search(r"^BELADY-SIZE .*offline reference: it knows the trace", shown, re.MULTILINE)
    assert not re.search(r"^BELADY ", shown, re.MULTILINE)


def test_too_few_requests_are_counted_once_with_several_seeds(run: Run) -> None:
    said = " ".join(run("calls.csv", *TYPES, "--slo-ms", "9000", "--quantile", "0.9").stdout.split())
    assert "are in time: 20 requests, simulated with 3 seeds, of which 6 may be late" in said


def test_times_that_are_assumed_are_not_blamed_on_the_models(run: Run) -> None:
    said = " ".join(run("calls.csv", *TYPES, "--slo-ms", "0.5").stdout.split())
    assert "These times are assumed: give your models' own with --profiles FILE, or an endpoint's ledger.sqlite" in said


def test_the_plan_of_a_longer_trace_says_which_part_was_simulated(run: Run) -> None:
    arguments = (TRACE, *TYPES, "--slo-ms", "9000", "--quantile", "0.5", "--requests", "50", "--seeds", "1")
    shown = run(*arguments).stdout
    assert shown.startswith("50 % of the requests within 9,000 ms · 219 requests, the busiest 50 first\n")
    seen = r"Of 219 simulated requests \d\.\d\d% are late, in the busiest 50 \(.* s, .* s after the first\) \d"
    assert re.search(seen, " ".join(shown.split()))
    part = run(*arguments, "--played-max", "100").stdout
    assert part.startswith(
        "50 % of the requests within 9,000 ms · 219 requests, the busiest 50 first, and then the first 100: the others"
    )
    assert "Of 100 simulated requests" in part
    assert "The price assumes that the other requests are alike." in " ".join(part.split())


@pytest.mark.parametrize(
    ("models", "slo_ms", "said"),
    [
        (MODELS, "5", "with every model in memory and no queue, 100.00% of the requests still take longer"),
        (MODELS.replace("1000000", "999999999999"), "900", "a needs 999,999,999,999 bytes of memory, and an instance"),
        (MODELS, "100", "the first request for a model waits for its load, which makes 2 of 20 requests late"),
    ],
)
def test_a_plan_without_an_answer_prints_the_reason(run: Run, models: str, slo_ms: str, said: str) -> None:
    Path("models.csv").write_text(models)
    done = run("calls.csv", *TYPES, "--profiles", "models.csv", "--slo-ms", slo_ms)
    assert done.exit_code == ExitCode.NO_PLAN
    assert said in done.stdout.replace("\n", " ")
    assert "scenarios tried, and none came near." in done.stdout
    deployed = "create_inference_component" in done.stdout  # they have their models from the start
    assert ("create_endpoint_config" in done.stdout, deployed) == (slo_ms == "100", slo_ms == "100")
    assert "serverless, an endpoint per model" in done.stdout


def test_json_has_the_plan_and_what_deploys_it(run: Run) -> None:
    done = run("calls.csv", *TYPES, "--slo-ms", "5000", "--quantile", "0.5", "--policy", "LRU", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    output = json.loads(done.stdout)
    assert undocumented("plan", output) == set()
    assert output["plan"] in [one["name"] for one in output["options"]]
    [variant] = output["create_endpoint_config"]["ProductionVariants"]
    assert variant["InstanceType"].startswith("ml.")


def test_torpors_own_serverless_endpoint_is_offered_with_its_call_and_marked(run: Run) -> None:
    asked = ("calls.csv", *TYPES, "--profiles", "models.csv", "--slo-ms", "2000", "--sleep-after", "5m")
    done = run(*asked)
    assert done.exit_code == 0
    assert "serverless, one multi-model endpoint of 1,024 MB: " in done.stdout
    assert "AWS rejects ServerlessConfig for a multi-model endpoint" in done.stdout
    assert '"MemorySizeInMB": 1024' in done.stdout
    assert re.search(r"sleeps after 5 min .* (the plan|meets it), not on AWS *$", done.stdout, re.M)
    assert re.search(r"^serverless, one multi-model endpoint of 1,024 MB .* meets it, not on AWS *$", done.stdout, re.M)


def test_aws_strict_leaves_out_what_aws_does_not_have(run: Run) -> None:
    asked = ("calls.csv", *TYPES, "--profiles", "models.csv", "--slo-ms", "2000", "--sleep-after", "5m")
    output = json.loads(run(*asked, "--aws-strict", "--json").stdout)
    assert all(option["on_aws"] for option in output["options"])
    assert not any("sleeps" in option["name"] or "one multi-model" in option["name"] for option in output["options"])
    assert "multi-model endpoints that sleep, are serverless or asynchronous: AWS has none" in output["left_out"][-1]
    assert "aws_strict: AWS has no asynchronous" in run(*asked, "--aws-strict", "--async").stderr


def test_json_without_a_plan_has_the_reason_and_the_same_code(run: Run) -> None:
    done = run("calls.csv", *TYPES, "--slo-ms", "0.001", "--policy", "LRU", "--json")
    output = json.loads(done.stdout)
    assert (done.exit_code, output["plan"], output["create_endpoint_config"]) == (ExitCode.NO_PLAN, None, None)
    assert "Nothing meets that" in output["answer"]


def test_a_space_too_small_for_the_goal_exits_with_advice(run: Run) -> None:
    done = run(
        TRACE.replace("rate_hz=2", "rate_hz=20"),
        "--instance-type",
        "ml.t2.medium",
        "--instances-max",
        "1",
        "--slo-ms",
        "200",
    )
    assert done.exit_code == ExitCode.NO_PLAN
    assert "Nothing in this space meets that." in done.stdout
    assert "--instances-max" in done.stdout


def test_azures_trace_is_planned_for_too(run: Run) -> None:
    Path("2021.txt").write_text("app,func,end_timestamp,duration\nA,f,10,1\nA,f,12,1\n")
    done = run("2021.txt", *TYPES, "--slo-ms", "60000", "--seeds", "1")
    assert (done.exit_code, "2 requests" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (ExitCode.FAILED, ("nowhere.csv", "--slo-ms", "100"), "nowhere.csv: [Errno 2] No such file"),
        (ExitCode.USAGE, ("calls.csv", "--slo-ms", "0"), "--slo-ms is a number of milliseconds, more than 0, not 0"),
        (
            ExitCode.USAGE,
            ("calls.csv", "--slo-ms", "9", "--quantile", "2"),
            "--quantile is above 0 and below 1, as 0.99, not 2",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--slo-ms", "9", "--policy", "LRU,MRU"),
            "--policy is one of LRU, SIEVE, LFUDA, GDSF, LANDLORD, LFU, LRU-2, S3-FIFO, TINYLFU, FIFO, not",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--slo-ms", "9", "--policy", "BELADY"),
            "--policy BELADY knows the trace in advance, and cannot be deployed",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--slo-ms", "9", "--instance-type", "ml.m5.large,ml.nope"),
            "instance_type is one of the",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--slo-ms", "9", "--instance-type", "ml.m6g.large"),
            "no price is known for ml.m6g.large",
        ),
        (ExitCode.USAGE, ("calls.csv", "--slo-ms", "9", "--instance-type", ""), "--instance-type is empty"),
        (
            ExitCode.USAGE,
            ("calls.csv", "--slo-ms", "9", "--sleep-after", "5x"),
            "--sleep-after: '5x' is not a span of time",
        ),
        (
            ExitCode.USAGE,
            ("calls.csv", "--slo-ms", "9", "--keep-alive", "weekly"),
            "--keep-alive is one of fixed, histogram, not",
        ),
        (ExitCode.USAGE, ("calls.csv", "--slo-ms", "9", "--seed", "-1"), "seed is 0 or more, not -1"),
        (
            ExitCode.FAILED,
            ("calls.csv", "--slo-ms", "9", "--profiles", "nowhere.csv"),
            "--profiles nowhere.csv: there is no such file",
        ),
    ],
)
def test_an_expected_error_is_one_line(run: Run, code: int, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.strip("\n").count("\n") == 0
