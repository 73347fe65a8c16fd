"""Scripts take turns in the simulator as they do live, and a ledger says which models are scripts."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.thorough_values import thorough
from tests.sdk.helpers.live_on_virtual_time import Lived, lived
from tests.sdk.helpers.written_ledger import WrittenLedger
from tests.sdk.simulator.test_fidelity import NAMES, SimulationInputs, machine, profiles, the_same, ticks, traffic
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.engine.variant.variant_plan import Machine, VariantPlan
from torpor.simulator.simulation_inputs import load
from torpor.simulator.simulation_run import run, simulate
from torpor.workloads import LedgerFile, TraceRequest, recorded
from torpor.workloads.profile import ModelProfile

MIB = 2**20
CALLS, CALL_S, LOAD_S = 72, 0.125, 0.25
THREADS = {"ml.m5.large": 2, "ml.c5.xlarge": 4}


# -- the same turns ----------------------------------------------------------------------------------------------------
def with_scripts(seed: int) -> dict[str, ModelProfile]:
    """Of five models, one is native, one computes, one waits, one does both with two workers, and one takes seconds."""
    rng = random.Random(seed)
    kinds = [(0, 0.0, 1.0), (1, 0.0, 1.0), (1, 1.0, 0.0), (2, 0.5, 0.5), (1, 10.0, 30.0)]

    def changed(number: int, profile: ModelProfile) -> ModelProfile:
        workers, delay, work = kinds[number % len(kinds)]
        if not workers:
            return profile
        delay_s, work_s = (ticks(part * rng.uniform(0.02, 0.08)) if part else 0.0 for part in (delay, work))
        return replace(profile, workers=workers, predict_s=work_s, predict_delay_s=delay_s)

    return {name: changed(number, profile) for number, (name, profile) in enumerate(profiles(seed).items())}


@pytest.mark.parametrize(("seed", "threads", "rate_hz"), [(32, 2, 15.0), *thorough((31, 1, 4.0), (33, 3, 30.0))])
def test_scripts_and_other_models_take_turns_alike(seed: int, threads: int, rate_hz: float) -> None:
    taken = with_scripts(seed)
    disk_bytes = sum(profile.disk_bytes for profile in taken.values())  # a script's folder stays while it is loaded
    plan = VariantPlan(machine(taken, share=2, threads=threads, disk_bytes=disk_bytes))
    story = the_same(SimulationInputs(seed, plan, taken, traffic(seed, 400, rate_hz)))
    waited = [one.done_s - one.arrived_s for one in story.answers if one.model == NAMES[0]]
    assert max(waited) > 1.0  # of a native model, behind scripts that take seconds


# -- batches -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("size", "delay_s"), [*thorough((4, 0.0)), (8, 0.03)])
def test_requests_share_predictions_alike(size: int, delay_s: float) -> None:
    """Every other model has requests that may share one."""
    taken = {
        name: replace(one, predict_s=ticks(0.2), further_s=ticks(0.01) if number % 2 else None)
        for number, (name, one) in enumerate(profiles(41).items())
    }
    plan = VariantPlan(machine(taken, share=2, batch_size=size, batch_delay_s=ticks(delay_s) if delay_s else 0.0))
    story = the_same(SimulationInputs(41, plan, taken, traffic(41, 500, rate_hz=30.0)))
    alone = replace(plan, machine=replace(plan.machine, batch_size=1))
    slower = SimulationInputs(41, alone, taken, traffic(41, 500, rate_hz=30.0)).simulated()
    assert max(one.done_s for one in story.answers) < max(one.done_s for one in slower.answers) / 1.2


def test_a_scenario_has_batches_by_the_settings_and_says_where_they_save_nothing() -> None:
    at_once = recorded(TraceRequest(1.0, "m") for _ in range(40))
    model = ModelProfile("m", MIB, MIB, 0.0, 0.0, 0.0, 0.0, 0.1, further_s=0.01)
    batches: dict[str, Any] = {"batch_size": 8, "batch_delay_s": 0.005, "threads": 1}
    alone = simulate(at_once, {"m": model}, threads=1)
    together = simulate(at_once, {"m": model}, **batches)
    unknown = simulate(at_once, {"m": replace(model, further_s=None)}, **batches)
    assert (alone.latencies.most_s, together.latencies.most_s) == pytest.approx((4.0, 0.1 + 4 * 0.17 + 0.16), rel=0.02)
    assert unknown.latencies.most_s == alone.latencies.most_s
    assert (together.assumed, len(unknown.assumed)) == ((), 1)
    assert "TORPOR_BATCH_SIZE=8 saves nothing" in unknown.assumed[0]
    given = together.scenario.environment()
    assert (given["TORPOR_BATCH_SIZE"], given["TORPOR_BATCH_DELAY_MS"]) == ("8", "5")


# -- from its own ledger -----------------------------------------------------------------------------------------------
def scripts(count: int, *, waits: bool, workers: int = 1) -> dict[str, ModelProfile]:
    work_s, delay_s = (0.0, CALL_S) if waits else (CALL_S, 0.0)
    return {
        f"s{number}": ModelProfile(
            f"s{number}",
            10 * MIB,
            MIB,
            0.0,
            0.0,
            0.0,
            0.0,
            work_s,
            load_delay_s=LOAD_S,
            predict_delay_s=delay_s,
            workers=workers,
        )
        for number in range(count)
    }


def happened(folder: Path, models: Mapping[str, ModelProfile], threads: int) -> tuple[Path, Lived]:
    """All calls at once, live on virtual time; and the ledger of it."""
    names = list(models)
    trace = recorded(TraceRequest(1.0, names[number % len(names)]) for number in range(CALLS))
    ledger = WrittenLedger(folder)
    plan = VariantPlan(Machine(1000 * MIB, 1000 * MIB, threads=threads, loads_max=8))
    told = lived(plan, models, trace, lambda *decided: None, ledger)
    ledger.written.ledger.close()
    return ledger.path, told


def ends_s(ledger: Path, instance_type: str) -> list[float]:
    """When the simulation answers each request, by the ledger alone."""
    inputs, calls = load(LedgerFile(ledger)), list[SimulatedCall]()
    run(inputs, inputs.scenario.altered(instance_type=instance_type, loads_max=8), listener=calls.extend)
    return [call.done_s - call.arrived_s for call in calls]


@pytest.mark.parametrize("instance_type", THREADS)
@pytest.mark.parametrize(
    ("count", "waits", "rounds"),
    [
        (1, False, {"ml.m5.large": CALLS, "ml.c5.xlarge": CALLS}),
        (1, True, {"ml.m5.large": CALLS, "ml.c5.xlarge": CALLS}),
        (6, False, {"ml.m5.large": CALLS // 2, "ml.c5.xlarge": CALLS // 4}),
        (6, True, {"ml.m5.large": 14, "ml.c5.xlarge": 13}),  # the first calls, of which nothing is known, take turns
    ],
)
def test_a_ledger_of_scripts_is_played_again_in_the_time_that_it_took_live(
    tmp_path: Path, instance_type: str, count: int, waits: bool, rounds: dict[str, int]
) -> None:
    models = scripts(count, waits=waits)
    ledger, told = happened(tmp_path, models, THREADS[instance_type])
    live_s = [one.done_s - one.arrived_s for one in told.answers]
    simulated_s = ends_s(ledger, instance_type)
    assert max(live_s) == pytest.approx(LOAD_S + rounds[instance_type] * CALL_S, rel=0.01)
    assert max(simulated_s) == pytest.approx(max(live_s), rel=0.01)
    assert sum(simulated_s) == pytest.approx(sum(live_s), rel=0.02)


def test_a_ledger_says_how_many_workers_a_script_had(tmp_path: Path) -> None:
    models = scripts(2, waits=True, workers=3) | {"n": ModelProfile("n", 10 * MIB, MIB)}
    ledger, _ = happened(tmp_path, models, threads=2)
    inputs = load(LedgerFile(ledger))
    assert {name: one.workers for name, one in inputs.profiles.items()} == {"s0": 3, "s1": 3, "n": 0}
    assert not [note for note in inputs.assumed if "answers the requests" in note]
