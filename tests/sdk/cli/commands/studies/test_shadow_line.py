"""The line of `--shadow`, and what the commands show of it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.helpers.ledger_with_pages import NOON_S, LedgerWithPages, invocation, life
from torpor.cli import app
from torpor.cli.commands.studies.shadow_line import shadow_of
from torpor.errors import TorporError
from torpor.simulator.scenario import BadScenario
from torpor.simulator.simulation_inputs import SimulationInputs, load
from torpor_container.wire import ColdLoad
from torpor_endpoint.core.ledger_records import MemoryReading

TRACE = "zipf:models=10,rate_hz=10,duration_s=60"
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def inputs() -> SimulationInputs:
    return load(TRACE)


def test_a_line_has_weights_and_fields_of_a_scenario(inputs: SimulationInputs) -> None:
    shadow = shadow_of("weight=1, production_weight=4,instances=2,policy=GDSF,idle_s=2.5,model_cache=false", inputs)
    assert (shadow.share, shadow.profiles) == (0.25, None)
    assert shadow.scenario == inputs.scenario.altered(instances=2, policy="GDSF", idle_s=2.5, model_cache=False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("weight", "'weight' is not NAME=VALUE"),
        ("weight=", "'weight=' is not NAME=VALUE"),
        ("weigth=1", "--shadow has no weigth: it has weight, production_weight, profiles, instance_type"),
        ("profiles=/nowhere.csv", "--shadow /nowhere.csv: there is no such file"),
        (",", "--shadow is empty"),
    ],
)
def test_a_line_that_is_not_understood_is_refused(inputs: SimulationInputs, line: str, said: str) -> None:
    with pytest.raises(TorporError, match=said):
        shadow_of(line, inputs)


def test_a_value_that_cannot_be_names_its_field(inputs: SimulationInputs) -> None:
    with pytest.raises(BadScenario, match=r"instances is a whole number, not 1\.5"):
        shadow_of("instances=1.5", inputs)
    with pytest.raises(BadScenario, match="weight is a number, not 'half'"):
        shadow_of("weight=half", inputs)


def test_the_ledger_of_the_shadow_variant_gives_its_times_and_its_memory(
    tmp_path: Path, inputs: SimulationInputs
) -> None:
    written = LedgerWithPages(tmp_path)
    written.ledger.lived(life(NOON_S - 1, size="ml.c5.large"))
    cold = ColdLoad(bytes=MIB, victims=[], reason="", took_s=0.25, efforts={})
    written.ledger.invoked(invocation(NOON_S, {"load": 0.25, "predict": 0.5}, model="m0", cold=cold))
    written.ledger.looked(MemoryReading(NOON_S, "houses", "v", "i-1", 4096 * MIB, 9 * MIB))
    written.flush()
    written.ledger.close()
    file = tmp_path / "ledger.sqlite"
    shadow = shadow_of(f"profiles={file}", inputs)
    assert (shadow.scenario.instance_type, shadow.scenario.own_bytes) == ("ml.c5.large", 9 * MIB)
    assert shadow.profiles == str(file)


def test_simulate_has_a_row_for_the_shadow_variant_and_its_share_of_the_bill(tmp_path: Path) -> None:
    out, decisions = tmp_path / "out.csv", tmp_path / "decisions.csv"
    line = "weight=0.5,instances=2"
    files = ["--out", str(out), "--decisions", str(decisions)]
    done = CliRunner().invoke(app, ["simulate", TRACE, "--shadow", line, "--check", *files], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "  shadow: 2 x ml.m5.large, LRU  $176.37" in done.output
    assert "requests copied; the shadow variant is 66.7% of the bill, and no caller waits for it" in done.output
    assert [row.partition(",LRU")[0].count("shadow of") for row in out.read_text().splitlines()] == [0, 0, 1]
    assert len({row.rpartition("endpoint/variant")[0] for row in decisions.read_text().splitlines()[1:]}) == 2


def test_plan_adds_the_cost_of_the_shadow_variant_and_its_call() -> None:
    choice = ["--instance-type", "ml.m5.large", "--instances-max", "1", "--sleep-after", "never", "--seeds", "1"]
    arguments = ["plan", TRACE, "--slo-ms", "60000", "--shadow", "weight=0.5", *choice]
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "$176.34 a month, of which the shadow variant is 50.0%. No caller waits for it." in done.output
    assert "ShadowProductionVariants=[" in done.output
