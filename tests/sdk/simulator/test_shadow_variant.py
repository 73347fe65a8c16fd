"""A shadow variant beside a simulated one: what is copied, what that costs, and that no caller notices."""

from dataclasses import replace

import numpy as np
import pytest

import torpor
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.shadow_variant import Copies, ShadowVariant
from torpor.simulator.simulation_inputs import Spreads, load
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import DecisionDigest, run, run_with_shadow
from torpor.workloads import BadTrace, recorded
from torpor.workloads.profile import ModelProfile

MIB = 1024 * 1024
ONE = Scenario(memory_bytes=100 * MIB, overhead_s=0.25)
PROFILES = {name: ModelProfile(name, MIB, MIB, 0.0, 0.0, 0.5, 0.0, 0.125) for name in "ab"}
CALLS = recorded([(float(second), "ab"[second % 2]) for second in range(200)])


def simulated(shadow: ShadowVariant, seed: int = 0) -> SimulationResult:
    return torpor.simulate(CALLS, PROFILES, ONE, seed=seed, shadow=shadow)


def copied(result: SimulationResult) -> SimulationResult:
    assert result.shadow is not None
    return result.shadow.result


def test_nothing_of_the_other_variant_depends_on_its_shadow() -> None:
    inputs = load("zipf:models=30,rate_hz=20,duration_s=100,gaps=bursty", seed=4, spreads=Spreads(0.3, 0.4, 0.2))
    scenario, slow = (
        Scenario(memory_bytes=150 * MIB, instances_min=0, instances_max=2),
        Scenario(threads=1, own_bytes=0),
    )
    alone, beside = DecisionDigest(), DecisionDigest()
    without = run(inputs, scenario, alone)
    with_shadow = run_with_shadow(inputs, scenario, ShadowVariant(slow, 0.5), beside)
    assert alone.hex == beside.hex
    assert without.summary() == with_shadow.summary()
    assert [one.__dict__ for one in without.models] == [one.__dict__ for one in with_shadow.models]


def test_each_request_is_copied_when_its_caller_has_the_answer() -> None:
    scenario = replace(ONE, overhead_s=0.25, beside_load_s=4.0)
    copies = Copies(ShadowVariant(ONE), scenario, seed=0)
    run(load(recorded([(0.0, "a"), (2.0, "a")]), PROFILES), scenario, listener=copies.add)
    (chunk,) = copies.trace(10.0).chunks()
    assert chunk.times_s.tolist() == [2.0 + 0.125 + 0.25, 0.5 + 0.125 + 0.25 + 4.0]  # the cold one is answered later


def test_the_weights_give_the_share_of_the_requests_and_the_seed_says_which() -> None:
    counts = [copied(simulated(ShadowVariant(ONE, 0.25, 1.0), seed)).requests for seed in range(20)]
    assert 40 < np.mean(counts) < 60
    assert len(set(counts)) > 1
    again = copied(simulated(ShadowVariant(ONE, 0.25), 3)).summary()
    assert again == copied(simulated(ShadowVariant(ONE, 0.25), 3)).summary()
    assert copied(simulated(ShadowVariant(ONE, 4.0))).requests == 200  # a share is 1 at most


def test_a_shadow_variant_without_copies_still_costs_its_instances() -> None:
    result = simulated(ShadowVariant(replace(ONE, instances=2), weight=0.0))
    shadow = copied(result)
    assert (shadow.requests, shadow.hit_ratio, shadow.slo_misses(1.0), shadow.p99_s) == (0, 0.0, 0.0, 0.0)
    assert shadow.usd_per_month() == pytest.approx(2 * (result.usd_per_month() or 0.0))
    assert result.shadow_share() == pytest.approx(2 / 3)


def test_a_shadow_variant_that_sleeps_costs_what_it_is_awake_for() -> None:
    shadow = copied(simulated(ShadowVariant(replace(ONE, instances_min=0, idle_s=10.0), weight=0.02)))
    assert 0 < shadow.instance_s < shadow.duration_s / 2
    assert shadow.wakes > 1


def test_copies_beyond_the_most_in_flight_are_dropped() -> None:
    at_once = recorded([(0.0, "a")] * 300)
    fast = replace(PROFILES["a"], predict_s=0.0, load_s=0.0)
    result = torpor.simulate(at_once, {"a": fast}, ONE, shadow=ShadowVariant(ONE, profiles=PROFILES))
    assert result.shadow is not None
    assert (copied(result).requests, result.shadow.dropped) == (256, 44)


def test_the_models_of_a_shadow_variant_may_take_other_times() -> None:
    slow = {name: replace(one, predict_s=0.5) for name, one in PROFILES.items()}
    assert copied(simulated(ShadowVariant(ONE, profiles=slow))).warm_latencies.mean_s == pytest.approx(0.75, rel=0.01)
    with pytest.raises(BadTrace, match="model 'b' is called, and has no profile"):
        simulated(ShadowVariant(ONE, profiles={"a": slow["a"]}))


@pytest.mark.parametrize(
    ("fields", "said"),
    [({"weight": -1}, "weight is 0 or more, not -1"), ({"profiles": 3}, "profiles is a file's name"),
     ({"scenario": "ml.m5.large"}, "scenario is a torpor.Scenario")],
)  # fmt: skip
def test_a_shadow_variant_that_cannot_be_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(BadScenario, match=said):
        ShadowVariant(**fields)  # type: ignore[arg-type]  # wrong on purpose


def test_its_counters_are_checked_against_its_own_log() -> None:
    logged = DecisionDigest()
    inputs = load("zipf:models=30,rate_hz=20,duration_s=100", seed=4)
    tight = Scenario(memory_bytes=300 * MIB)
    result = run_with_shadow(
        inputs, ONE.altered(memory_bytes=400 * MIB), ShadowVariant(tight), None, logged, checked=True
    )
    assert logged.decisions >= copied(result).loads > 0


def test_a_plan_adds_the_cost_of_its_shadow_variant() -> None:
    space = torpor.PlanSpace(["ml.m5.large"], instances_max=2, idle_s=[], like=ONE)
    beside = ShadowVariant(ONE.altered(instances=2), weight=0.5)
    planned = torpor.plan(CALLS, PROFILES, slo_s=1.0, space=space, shadow=beside)
    without = torpor.plan(CALLS, PROFILES, slo_s=1.0, space=space)
    assert planned.best is not None
    assert without.best is not None
    assert planned.best.scenario == without.best.scenario
    usd = planned.seeds[0].usd_per_month() or 0.0
    assert planned.usd_with_shadow == pytest.approx((3 * usd, 2 * usd))
    assert without.usd_with_shadow is None
    call = planned.call()
    assert '"InitialVariantWeight": 0.5' in call.partition("ShadowProductionVariants=")[2]
    assert '"InitialVariantWeight": 1.0' in call.partition("ShadowProductionVariants=")[0]
    assert "Shadow" not in without.call()
