"""`torpor confirm`: a plan with a nap, live on an endpoint of its own; and its refusals, before anything is started."""

import io
import json
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.json_paths import undocumented
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.cli import app
from torpor.cli.commands.studies.confirm import CODES
from torpor.cli.exit_codes import ExitCode
from torpor.confirming.core.forecast_beside_fact import LiveVerdict

NAPS, BURST = 3, 6
PIPELINE = {"containers": [{"name": "a", "models": True}, {"name": "b"}]}
PASSES_ON = b"def model_fn(folder):\n    return 1\n\ndef predict_fn(rows, model):\n    return rows\n"
MODELS = "model,memory_bytes,load_s,predict_s\n" + "".join(f"{city},2000000,0.02,0.001\n" for city in CITIES)


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan: bursts of calls of all models, and ten minutes of sleep between them."""
    made = tmp_path_factory.mktemp("confirm")
    calls = [(600 * nap + 0.1 * turn, CITIES[turn]) for nap in range(NAPS) for turn in range(BURST)]
    (made / "calls.csv").write_text("time_s,model\n" + "".join(f"{at_s},{city}\n" for at_s, city in calls))
    (made / "models.csv").write_text(MODELS)
    (made / "row.csv").write_text(",".join(map(str, ROWS[0])))
    goal = ("--slo-ms", 30_000, "--quantile", 0.5, "--sleep-after", "2m", "--keep-alive", "fixed")
    size = ("--instance-type", "ml.m5.large", "--instances-max", 1, "--policy", "LRU")
    done = command(
        "plan", made / "calls.csv", "--profiles", made / "models.csv", *goal, *size, "--out", made / "plan.json"
    )
    assert done.exit_code == 0
    plan = json.loads((made / "plan.json").read_text())
    asleep = {"instances_min": 0, "instances_max": 1, "idle_s": 120.0}  # whatever is the cheapest
    (made / "plan.json").write_text(json.dumps(plan | {"scenario": asleep}))
    return made


def test_a_plan_is_confirmed_on_an_endpoint_of_its_own(folder: Path, models: Path) -> None:
    done = command("confirm", folder / "plan.json", "--models", models, "--body", folder / "row.csv", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    output = json.loads(done.stdout)
    assert undocumented("confirm", output) == set()
    assert (output["verdict"], output["live_meets"], output["forecast_meets"]) == ("the same", True, True)
    assert (output["requests"], output["of"]) == (NAPS * BURST, NAPS * BURST)
    assert output["quiet_s"] > 2 * 590
    live = {one["figure"]: one["live"] for one in output["figures"]}
    forecast = {one["figure"]: one["forecast"] for one in output["figures"]}
    assert live["wakes"] == forecast["wakes"] == NAPS
    assert live["loads"] == forecast["loads"] == NAPS * BURST
    assert live["most instances"] == 1
    assert live["failed"] == 0
    assert live["usd"] == pytest.approx(forecast["usd"], rel=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["asynchronous", "pipeline"])
def test_a_queue_and_a_pipeline_are_confirmed_too(kind: str, folder: Path, tmp_path: Path, models: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    plan["source"] |= {name: str(folder / plan["source"][name]) for name in ("trace", "profiles")}
    more: tuple[object, ...] = ()
    if kind == "asynchronous":
        plan["scenario"] |= {"asynchronous": True}
    else:
        containers = [{"name": "pass", "predict_s": 0.001, "memory_bytes": 20_000_000}, {"name": "b", "models": True}]
        plan["scenario"] = {"containers": containers}
        more = ("--container", f"pass={packed_script(tmp_path / 'pass.tar.gz')}")
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    given = ("--models", models, "--body", folder / "row.csv", *more, "--json")
    output = json.loads(command("confirm", tmp_path / "plan.json", *given).stdout)
    figures = {one["figure"]: (one["forecast"], one["live"]) for one in output["figures"]}
    woken = NAPS if kind == "asynchronous" else 0
    assert figures["wakes"] == (woken, woken)
    assert figures["loads"] == 2 * ((NAPS if woken else 1) * BURST,)
    assert figures["failed"] == (0, 0)
    assert output["counts_agree"] is True


def packed_script(path: Path) -> Path:
    """An artifact whose script passes rows on."""
    with tarfile.open(path, "w:gz") as tar:
        entry = tarfile.TarInfo("code/inference.py")
        entry.size = len(PASSES_ON)
        tar.addfile(entry, io.BytesIO(PASSES_ON))
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say which models: --models DIR for an endpoint of its own, or --endpoint NAME"),
        (("--models", ".", "--endpoint", "a"), "say which models: --models DIR"),
        (("--models", "."), "say what to send: --body FILE"),
        (("--models", ".", "--speed", "0"), "--speed is more than 0"),
        (("--models", ".", "--body", "row.csv", "--container", "b"), "--container is NAME=FILE, not 'b'"),
        (("--models", ".", "--within", "soon", "--body", "row.csv"), "--within: "),
    ],
)
def test_a_wrong_command_starts_nothing(
    arguments: tuple[str, ...], said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = command("confirm", "plan.json", *arguments)
    assert done.exit_code == ExitCode.USAGE
    assert said in done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scenario": None}, "plan.json: there is no plan to confirm: nothing in its space met the goal"),
        ({"slo_s": "soon"}, "plan.json is no plan"),
        ({"source": {"trace": "gone.csv"}}, "gone.csv"),
        ({"scenario": PIPELINE}, "the plan is a pipeline: name the artifact of its container b"),
    ],
)
def test_a_plan_that_cannot_be_confirmed_is_refused(
    change: dict[str, object], said: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(json.loads((folder / "plan.json").read_text()) | change))
    done = command("confirm", tmp_path / "plan.json", "--models", tmp_path, "--body", folder / "row.csv")
    assert done.exit_code == ExitCode.FAILED
    assert said in done.stderr


def test_each_verdict_has_an_exit_code() -> None:
    assert CODES.keys() == {one.value for one in LiveVerdict}
