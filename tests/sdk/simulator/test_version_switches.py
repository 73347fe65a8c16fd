"""A ledger of versions that took over from others, played again: loads and hits are those of the endpoint."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.ledger_with_pages import FIRST_USE, NOON_S, LedgerWithPages, invocation
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.simulated_instance import SimulatedInstance
from torpor.simulator.engine.simulated_variant import Simulation
from torpor.simulator.simulation_inputs import load
from torpor.simulator.simulation_run import run, simulate
from torpor.workloads import LedgerFile
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.versions.version_steps import StepKind, VersionStep

MIB = 2**20
OLD, NEW = "rose/1/m.tar", "rose/2/m.tar"
SWITCHED_S = 10.0


def profiles(load_s: float = 0.2) -> dict[str, ModelProfile]:
    return {name: ModelProfile(name, 100 * MIB, 1000, 0.0, 0.0, load_s, 0.002) for name in (OLD, NEW)}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """One call a second: of a version for ten seconds, then of the one that was loaded beside it. The old one is
    deleted five seconds later."""
    kept = LedgerWithPages(tmp_path)
    for second in range(20):
        cold = {"load": 0.2, "predict": 0.002} if second == 0 else None
        model = OLD if second < SWITCHED_S else NEW
        told = FIRST_USE if second == 0 else None
        kept.ledger.invoked(invocation(NOON_S + second, cold, model=model, cold=told))
    kept.now_s = NOON_S + SWITCHED_S - 0.3
    kept.ledger.stepped(VersionStep("houses", "v", StepKind.BESIDE, NEW, OLD, ago_s=0.2))
    kept.now_s = NOON_S + SWITCHED_S + 5
    kept.ledger.stepped(VersionStep("houses", "v", StepKind.GONE, OLD))
    kept.flush()
    kept.ledger.close()
    return kept.folder / "ledger.sqlite"


def test_a_version_that_was_loaded_beside_another_is_no_cold_start(ledger: Path) -> None:
    result = simulate(LedgerFile(ledger), profiles())
    assert (result.requests, result.warm, result.loads) == (20, 19, 2)


def test_without_its_steps_the_ledger_of_an_earlier_version_has_a_cold_start_at_each_switch(ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as earlier:
        earlier.execute("DROP TABLE version_steps")
    result = simulate(LedgerFile(ledger), profiles())
    assert (result.requests, result.warm, result.loads) == (20, 18, 2)


def test_the_old_version_answers_until_the_new_one_is_in_memory(ledger: Path) -> None:
    result = simulate(LedgerFile(ledger), profiles(load_s=3.5))
    calls = {use.model: use.requests for use in result.models}
    assert calls == {OLD: 13, NEW: 7}  # the ledger's calls at 10, 11 and 12 s come before the load has ended
    assert result.loads == 2


@pytest.mark.parametrize("instances", [1, 3])
def test_a_withdrawn_version_leaves_the_memory_of_every_instance(ledger: Path, instances: int) -> None:
    held = dict[str, int]()

    def ended(simulation: Simulation) -> None:
        for instance in simulation.handovers.ready:
            for name, _ in instance.memory:
                held[name] = held.get(name, 0) + 1

    inputs = load(LedgerFile(ledger), profiles())
    run(inputs, inputs.scenario.altered(instances=instances), over=ended)
    assert held == {NEW: 1}  # as many copies as the old one had


def test_where_the_old_version_is_in_no_memory_nothing_is_loaded_beside_it(ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as changed, changed:
        changed.execute("UPDATE version_steps SET at_s = ? WHERE kind = 'beside'", (NOON_S,))
    result = simulate(LedgerFile(ledger), profiles())  # the step comes before the first call is loaded
    assert (result.warm, result.loads) == (18, 2)


def test_a_choice_of_models_is_asked_for_each_request_of_a_ledger_with_steps_too(ledger: Path) -> None:
    asked = list[str]()

    def chosen(name: str, now_s: float, ready: Placement[SimulatedInstance]) -> SimulatedCall:
        asked.append(name)
        return SimulatedCall(OLD, now_s)

    inputs = load(LedgerFile(ledger), profiles())
    result = run(inputs, inputs.scenario, choose=chosen)
    assert asked == [OLD] * 10 + [NEW] * 10
    assert {use.model: use.requests for use in result.models} == {OLD: 20}
