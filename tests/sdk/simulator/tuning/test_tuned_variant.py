"""`torpor.tune`: beside brute force, the same by seed, nothing that makes no difference, honest where it ends."""

from dataclasses import replace
from functools import cache
from itertools import count, product
from pathlib import Path
from random import Random

import pytest

from torpor.simulator.planning.plan_space import Goal
from torpor.simulator.planning.recorded_plan import RecordedPlan
from torpor.simulator.planning.search import Search
from torpor.simulator.scenario import BadScenario
from torpor.simulator.simulation_inputs import SimulationInputs, load
from torpor.simulator.simulation_run import run
from torpor.simulator.tuning.tune_result import INTERRUPTED, NO_BATCHES, NO_TREES, OUT_OF_TIME, TuneResult
from torpor.simulator.tuning.tune_space import TuneSpace
from torpor.simulator.tuning.tuned_variant import tune
from torpor.workloads import BadTrace, recorded
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.pricing.prices import PRICES

GIB = 1024**3
BURSTS, CALLS, MODELS = 3, 14, 6
SLO_S, QUANTILE = 1.2, 0.6
GRID = TuneSpace(
    ("ml.t2.medium", "ml.m5.large", "ml.c5.xlarge"), instances=(1, 2), policies=("LRU", "GDSF"), idle_s=(60.0, 300.0),
    keep_alives=("fixed",), concurrency=(2, 8), threads=(None, 1), loads_max=(1, 4), serverless_mib=(3072, 6144),
)  # fmt: skip


def bursts() -> SimulationInputs:
    """Calls of six models of 1.1 GiB, in bursts every quarter of an hour: naps pay, and a small memory evicts."""
    dice = Random(3)
    calls = [
        (900.0 * burst + 4 * dice.random(), f"m{dice.randrange(MODELS)}")
        for burst in range(BURSTS)
        for _ in range(CALLS)
    ]
    names = [f"m{number}" for number in range(MODELS)]
    return load(
        recorded(sorted(calls)), {name: ModelProfile(name, int(1.1 * GIB), GIB, 0, 0, 1.0, 0.0, 0.02) for name in names}
    )


@cache
def tuned(seed: int = 0, evaluations: int = 32, space: TuneSpace = GRID, slo_s: float = SLO_S) -> TuneResult:
    return tune(bursts(), slo_s=slo_s, quantile=QUANTILE, space=space, evaluations=evaluations, seeds=1, seed=seed)


@pytest.mark.thorough
def test_a_tenth_of_brute_force_comes_within_3_percent_of_its_price() -> None:
    inputs = bursts()
    knobs = GRID.knobs(PRICES, batches=False)
    names, values = [knob.name for knob in knobs], product(*(knob.values for knob in knobs))
    every_choice = (dict(zip(names, chosen, strict=True)) for chosen in values)
    scenarios = {GRID.scenario(one) for one in every_choice}
    search = Search(inputs, Goal(SLO_S, QUANTILE), GRID.planned(), PRICES, lambda line: None)
    judged = [search.judged(one) for one in scenarios]
    cheapest = min(one.result.usd_per_month() or 0.0 for one in judged if one.meets and one.result is not None)
    allowed = sum(one.simulated for one in judged) // 10
    found = tuned(evaluations=allowed)
    assert found.evaluations <= allowed
    assert found.bill.usd is not None
    assert found.bill.usd <= 1.03 * cheapest


@pytest.mark.thorough
def test_the_same_seed_tries_the_same_choices() -> None:
    first, again, other = tuned(1, 16), tuned.__wrapped__(1, 16), tuned(2, 16)
    assert [one.scenario for one in first.tried] == [one.scenario for one in again.tried]
    assert [one.scenario for one in first.tried] != [one.scenario for one in other.tried]


@pytest.mark.thorough
def test_what_makes_no_difference_keeps_its_usual_value_and_is_told() -> None:
    found = tuned()
    assert found.best is not None
    effects = {one.name: one for one in found.effects}
    assert effects["concurrency"].without_effect
    for effect in effects.values():
        usual = getattr(GRID.like, effect.name, effect.best)
        if usual in effect.without_effect:
            assert effect.name in ("instances", "instance_type"), effect
    told = {value for one in found.effects for value in (*one.without_effect, *one.worse, *one.untried)}
    assert told
    assert NO_BATCHES in found.left_out
    assert any("TORPOR_TREES" in one for one in found.left_out)


def test_an_effect_is_that_of_the_choice_that_is_proposed() -> None:
    found = tuned()
    assert found.best is not None
    made = {one.name: one.best for one in found.effects}
    assert (
        GRID.scenario({**{knob.name: knob.values[0] for knob in GRID.knobs(PRICES, False)}, **made})
        == found.best.scenario
    )


@pytest.mark.thorough
def test_a_goal_that_nothing_meets_has_no_best_and_says_what_came_near() -> None:
    found = tuned(slo_s=0.001)
    assert found.best is None
    assert found.effects == ()
    assert found.bill.lines == ()
    with pytest.raises(LookupError, match="nothing that was tried meets"):
        found.members()


def test_the_time_and_an_interrupt_end_a_search_with_the_best_so_far() -> None:
    seconds = count()
    late = tune(bursts(), slo_s=SLO_S, quantile=QUANTILE, space=GRID, within_s=90.0, clock=lambda: 10.0 * next(seconds))
    assert late.ended == OUT_OF_TIME

    simulated = count()

    def says(what: str) -> None:
        if next(simulated) == 12:
            raise KeyboardInterrupt

    stopped = tune(bursts(), slo_s=SLO_S, quantile=QUANTILE, space=GRID, says=says)
    assert stopped.ended == INTERRUPTED
    assert stopped.best is not None


def test_the_configuration_deploys_the_best_and_the_plan_is_read_again() -> None:
    found = tuned()
    assert found.best is not None
    written = found.configuration()
    [variant] = written.create_endpoint_config["ProductionVariants"]
    assert variant == found.best.scenario.variant()
    assert written.environment == found.best.scenario.environment()
    assert "create_endpoint_config(" in found.call()
    assert RecordedPlan.of(found).played == BURSTS * CALLS


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"threads": ()}, "threads: there is none to try"),
        ({"threads": (0,)}, "threads is 1 or more, not 0"),
        ({"ways": ("asleep",)}, "ways is one of always on, scaled, sleeps, serverless"),
        ({"serverless_mib": (1000,)}, "serverless inference has 1024, 2048"),
        ({"idle_s": ()}, "idle_s: there is none to try; leave 'sleeps' out of ways"),
        ({"policies": ("BELADY",)}, "policies: BELADY knows the trace in advance"),
    ],
)
def test_values_that_cannot_be_deployed_are_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(BadScenario, match=said):
        TuneSpace(**fields)  # type: ignore[arg-type]  # wrong on purpose


def quick(name: str) -> ModelProfile:
    """As flat trees have it: a fifth of the memory, and a load and a prediction in a tenth of the time."""
    return ModelProfile(name, int(0.2 * GIB), GIB, 0, 0, 0.1, 0.0, 0.002)


def test_trees_are_tuned_by_the_profiles_that_were_measured_with_each_value(tmp_path: Path) -> None:
    flat = {name: quick(name) for name in bursts().trace.names}
    space = replace(GRID, ways=("always on",), instance_types=("ml.t2.medium",), instances=(1,), threads=(None,))
    alone = tune(bursts(), slo_s=0.5, quantile=0.8, space=space, evaluations=12, seeds=1)
    assert alone.best is None
    assert NO_TREES in alone.left_out
    found = tune(bursts(), slo_s=0.5, quantile=0.8, space=space, evaluations=12, seeds=1, trees={"flat": flat})
    assert found.best is not None
    assert found.best.scenario.trees == "flat"
    assert found.configuration().environment["TORPOR_TREES"] == "flat"
    assert NO_TREES not in found.left_out
    assert run(found.inputs, found.best.scenario).p99_s == run(load(bursts().trace, flat), found.best.scenario).p99_s


def test_the_plan_of_tuned_trees_names_the_profiles_that_it_rests_on(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(2)]
    calls, usual, flat = (tmp_path / name for name in ("calls.csv", "usual.csv", "flat.csv"))
    calls.write_text("time_s,model\n" + "".join(f"{30 * n},{names[n % 2]}\n" for n in range(20)))
    usual.write_text("model,memory_bytes,load_s,predict_s\n" + "".join(f"{one},1000000,3,2\n" for one in names))
    flat.write_text("model,memory_bytes,load_s,predict_s\n" + "".join(f"{one},1000000,0.1,0.01\n" for one in names))
    space = replace(GRID, ways=("always on",), instance_types=("ml.t2.medium",), instances=(1,), threads=(None,))
    found = tune(calls, usual, slo_s=0.5, space=space, evaluations=8, trees={"flat": flat}, quantile=0.8)
    recorded_plan = RecordedPlan.of(found)
    assert recorded_plan.source.profiles == f"{flat}"
    assert recorded_plan.inputs(tmp_path).profile("m0").predict_s == 0.01


@pytest.mark.parametrize(
    ("trees", "told"),
    [
        ({"round": {}}, "TORPOR_TREES is one of auto, library, flat, not 'round'"),
        ({"auto": {}}, "the profiles of 'auto' are those of the trace"),
    ],
)
def test_trees_that_cannot_be_tuned_are_refused(trees: dict[str, dict[str, ModelProfile]], told: str) -> None:
    with pytest.raises(BadScenario, match=told):
        tune(bursts(), slo_s=1, trees=trees)
    with pytest.raises(BadTrace, match="has no profile"):
        tune(bursts(), slo_s=1, trees={"flat": {"m0": quick("m0")}})
    with pytest.raises(BadScenario, match="are drawn: give profiles that were measured"):
        tune("zipf:models=2,rate_hz=1,duration_s=5", slo_s=1, trees={"flat": {"m0": quick("m0")}})
