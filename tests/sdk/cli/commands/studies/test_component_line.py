"""`--components`: a line beside the other ways, a file with rows, a ledger of components, and errors in one line."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.sdk.helpers.json_paths import undocumented
from tests.sdk.helpers.live_components import copies_of, lived_components
from tests.sdk.helpers.written_ledger import WrittenLedger
from tests.sdk.simulator.components.test_component_ledger import MANAGED, NAMES, PROFILES, bursts
from torpor.cli import app
from torpor.cli.exit_codes import ExitCode

TRACE = "zipf:models=6,rate_hz=2,duration_s=120"
ROWS = "name,model,memory_mib,copies,cores,binpack\na,model-0.tar.gz,1024,2,0.5,true\nb,model-1.tar.gz,,1,,\n"
TWO = "zipf:models=2,rate_hz=2,duration_s=120"
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["simulate", *arguments])


def set_back(path: Path) -> None:
    """Move a ledger of the tests' noon, which is to come, into the past: only minutes that are over are read."""
    by_s = 2 * 365 * 86_400
    columns = {
        "cold_starts": ("at_s",),
        "minutes": ("minute_s",),
        "spans": ("minute_s", "first_s", "last_s"),
        "memory": ("minute_s",),
        "lives": ("started_s", "ready_s", "stopped_s"),
        "served": ("since_s", "until_s"),
    }
    with closing(sqlite3.connect(path)) as ledger, ledger:
        for table, names in columns.items():
            ledger.execute(f"UPDATE {table} SET {', '.join(f'{name} = {name} - {by_s}' for name in names)}")


def test_components_stand_beside_the_other_ways_on_as_many_instances_as_hold_them(run: Run) -> None:
    done = run(TRACE, "--components", "memory_mib=3000,copies=1")
    assert done.exit_code == 0, done.stderr
    assert "1 x ml.m5.large, LRU" in done.stdout
    assert "components: 6 on 3 x ml.m5.large" in done.stdout  # two on each
    assert "(unreserved)" in done.stdout
    told = json.loads(run(TRACE, "--components", "memory_mib=3000", "--json").stdout)
    assert [one["scenario"] for one in told["scenarios"]] == [
        "1 x ml.m5.large, LRU",
        "components: 6 on 3 x ml.m5.large",
    ]
    assert [one["on_aws"] for one in told["scenarios"]] == [True, True]
    assert undocumented("simulate", told) == set()
    assert [len(one["components"]) for one in told["scenarios"]] == [0, 6]
    asleep = run(TRACE, "--components", "copies=0,idle_s=30,instances_min=0,scale_in=consolidation,cooldown_s=300")
    assert "requests wait for a copy, which is Torpor's: on AWS they fail" in " ".join(asleep.stdout.split())
    assert "not on AWS" in asleep.stdout


def test_what_aws_does_not_have_is_refused_where_that_is_asked_for(run: Run) -> None:
    held = run(TRACE, "--components", "copies=0", "--aws-strict", "--instances", "1")
    assert held.exit_code == ExitCode.USAGE
    assert "on AWS no request waits for a copy" in " ".join(held.stderr.split())
    strict = run(TRACE, "--components", "copies=0,target=2,strict=true", "--aws-strict", "--instances", "1")
    assert strict.exit_code == 0, strict.stderr
    assert "requests failed without a copy, as on AWS (strict)" in " ".join(strict.stdout.split())


def test_a_file_has_a_row_for_each_component(run: Run) -> None:
    Path("parts.csv").write_text(ROWS)
    done = run(TWO, "--components", "file=parts.csv,memory_mib=512", "--out", "out.csv")
    assert done.exit_code == 0, done.stderr
    assert "components: 2 with 3 copies on 1 x ml.m5.large" in done.stdout
    assert "components: 2 with 3 copies on 1 x ml.m5.large" in Path("out.csv").read_text()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("copies", "--components: 'copies' is not NAME=VALUE"),
        ("size=3", "--components has no size: it has file, models, instance_type"),
        ("instance_type=ml.m9.huge", "instance_type is one of the catalogue's types, as ml.m5.large, not 'ml.m9.huge'"),
        ("memory_mib=900000", "a copy of 900,000 MiB fits on no instance: copies may have 7,372.8 MiB, 2 cores of"),
        ("copies=0,strict=true", "copies is 0, and strict: without a copy every request fails"),
        ("copies=many", "copies is a number, not 'many'"),
        ("instances=x", "--components: instances is a number, not 'x'"),
        ("strict=perhaps", "binpack is true or false, not 'perhaps'"),
        ("copies_max=2", "copies_max goes with target"),
        ("scale_in=now", "--components: scale_in is idle_release or consolidation, not 'now'"),
        ("cooldown_s=3", "--components: cooldown_s goes with scale_in=consolidation"),
        ("file=none.csv", "none.csv"),
        ("copies=2,instances=1,memory_mib=4000", "copies fit on no instance beside the other components"),
    ],
)
def test_a_line_that_cannot_be_deployed_is_one_clear_line_of_error(run: Run, line: str, says: str) -> None:
    done = run(TRACE, "--components", line)
    assert done.exit_code in (ExitCode.USAGE, ExitCode.FAILED)
    assert says in " ".join(done.stderr.split())
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_models_that_match_are_in_one_component_which_is_none_of_aws(run: Run) -> None:
    told = json.loads(run(TRACE, "--components", "models=*,memory_mib=2048,copies=2", "--json").stdout)
    _, found = told["scenarios"]
    assert found["scenario"] == "components: 1 with 2 copies on 1 x ml.m5.large, 1 multi-model"
    (one,) = found["components"]
    assert one["loads"] == found["loads"] > 0
    assert not found["on_aws"]
    assert any("AWS has no component with a multi-model container" in line for line in told["notes"])
    strict = run(TRACE, "--components", "models=*,memory_mib=2048", "--aws-strict", "--instances", "1")
    assert (strict.exit_code, "--aws-strict leaves models= out" in strict.stderr) == (2, True)


def test_the_ledger_of_an_endpoint_of_components_is_played_again(run: Run, tmp_path: Path) -> None:
    ledger = WrittenLedger(tmp_path)
    calls = list(bursts(3))
    copies = [copies_of(name, 0, 2048) for name in NAMES]
    lived = lived_components(MANAGED, copies, PROFILES, calls, ledger, tmp_path)
    ledger.written.flush()
    ledger.written.ledger.close()
    set_back(tmp_path / "ledger.sqlite")
    done = run("ledger.sqlite", "--json")
    assert done.exit_code == 0, done.stderr
    (told,) = json.loads(done.stdout)["scenarios"]
    assert (told["requests"], told["loads"]) == (len(calls), lived.launches)
    assert told["scenario"] == "components: 3 with 0 copies on 0-2 x ml.m5.large, idle_release, copies sleep"
    changed = run("ledger.sqlite", "--components", "copies=1,instances=1", "--slo-ms", "100")
    assert "components: 3 on 0-2 x ml.m5.large, idle_release" in changed.stdout
    refused = run("ledger.sqlite#endpoint", "--policy", "GDSF")
    assert refused.exit_code == ExitCode.USAGE
    assert "is an endpoint of inference components: --policy does not change it" in refused.stderr
    asked = (
        "plan",
        "ledger.sqlite",
        "--slo-ms",
        "900",
        "--quantile",
        "0.8",
        "--instance-type",
        "ml.m5.large",
        "--json",
    )
    planned = CliRunner().invoke(app, asked)
    assert planned.exit_code == 0, planned.stderr
    options = {one["name"] for one in json.loads(planned.stdout)["options"]}
    assert {"1 x ml.m5.large, LRU", "components: 3 on 1 x ml.m5.large"} <= options
    alone = run("ledger.sqlite#endpoint/component.a", "--instances", "1")
    assert alone.exit_code == 0, alone.stderr
