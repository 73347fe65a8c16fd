"""Components in a plan: the cheapest instances that hold them and meet the goal, beside a search of every way."""

import ast
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import ComponentSetup
from torpor.simulator.components.components_run import one_for_each, run_components
from torpor.simulator.components.deploying_calls import component_name, deploying_calls, endpoint_variant
from torpor.simulator.components.fewest_instances import copies_fit, fewest_instances
from torpor.simulator.planning.cheapest_plan import plan
from torpor.simulator.planning.component_plan import component_ways
from torpor.simulator.planning.plan_space import Goal, PlanSpace
from torpor.simulator.planning.search import Search
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, load
from torpor.workloads import POISSON, zipf
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.resource_records import ScaleIn, ScaleInStrategy

MIB = 2**20
TYPES = ("ml.t2.medium", "ml.m5.large", "ml.m5.xlarge")


def searched(inputs: SimulationInputs, slo_s: float, instances_max: int = 3, **space: object) -> Search:
    allowed = PlanSpace(TYPES, instances_max, idle_s=(), **space)  # type: ignore[arg-type]
    return Search(inputs, Goal(slo_s, 0.95), allowed, PRICES, lambda line: None)


def cheapest_of_all(search: Search) -> float | None:
    """Every type, number of instances, strategy and number of copies, tried one after another."""
    usd = []
    setups = one_for_each(search.inputs)
    for one in search.space.always_on(PRICES):
        for copies, binpack in product(product(range(1, one.instances + 1), repeat=len(setups)), (False, True)):
            wanted = [
                setup.__dict__ | {"copies": count, "binpack": binpack}
                for setup, count in zip(setups, copies, strict=True)
            ]
            try:
                scenario = ComponentScenario(
                    tuple(type(setups[0])(**fields) for fields in wanted), one.instance_type, one.instances, wake_s=0.1
                )
            except BadScenario:
                continue
            if copies_fit(scenario):
                result = run_components(search.inputs, scenario)
                if search.goal.met(result):
                    usd.append(result.usd_per_month() or 0.0)
    return min(usd, default=None)


@pytest.mark.thorough
@settings(max_examples=6, deadline=None)
@given(st.integers(1, 3), st.sampled_from((300, 1200, 3000, 6000)), st.floats(0.02, 0.4), st.integers(0, 99))
def test_a_plan_of_components_is_as_cheap_as_the_best_of_every_way(
    models: int, memory_mib: int, predict_s: float, seed: int
) -> None:
    trace = zipf(models, 1.0, 6.0, 60.0, seed, gaps=POISSON)
    profiles = {name: ModelProfile(name, memory_mib * MIB, MIB, predict_s=predict_s) for name in trace.names}
    search = searched(load(trace, profiles, seed=seed), 2.5 * predict_s)
    best = cheapest_of_all(search)
    ways = list(component_ways(search).values())
    meets = [
        one
        for one in ways
        if one.requests - one.latencies.within(search.goal.slo_s) <= search.goal.late_max(one.requests)
    ]
    assert [one.usd_per_month() for one in meets] == ([] if best is None else [pytest.approx(best)])


SIXTY = load(zipf(60, 1.0, 5.0, 600.0, 1), seed=1)


def test_sixty_models_as_components_stand_among_the_ways_of_a_plan() -> None:
    space = PlanSpace(("ml.m5.large", "ml.m5.xlarge"), 4, idle_s=(60.0,), like=Scenario())
    found = plan(SIXTY, slo_s=1.0, quantile=0.95, space=space, seeds=1)
    (always, asleep) = [name for name, one in found.apart.items() if one.components is not None]
    assert always.startswith("components: 60 on ")
    assert "copies sleep" in asleep
    priced = {one.name: one for one in found.ways}
    assert (priced[always].meets, priced[always].on_aws, priced[asleep].on_aws) == (True, True, False)
    scenario = found.apart[always].components
    assert scenario is not None
    assert copies_fit(scenario)
    fewer = scenario.altered(instances=scenario.instances - 1) if scenario.instances > 1 else None
    assert fewer is None or not copies_fit(fewer) or priced[always].usd is not None
    assert not any("inference component" in note for note in found.left_out)
    strict = plan(SIXTY, slo_s=1.0, quantile=0.95, space=PlanSpace(("ml.m5.xlarge",), aws_strict=True), seeds=1)
    assert all(one.components.on_aws for one in strict.apart.values() if one.components is not None)


def test_where_nothing_has_room_for_all_copies_there_is_no_such_way() -> None:
    space = PlanSpace(("ml.t2.medium",), 1)
    assert component_ways(Search(SIXTY, Goal(1.0), space, PRICES, lambda line: None)) == {}


def test_the_calls_that_deploy_components_are_python_and_name_each_of_them() -> None:
    scenario = ComponentScenario(one_for_each(SIXTY, copies=0), "ml.m5.4xlarge", instances_min=0, instances_max=2)
    text = deploying_calls(scenario)
    ast.parse(text)
    assert text.startswith("# AWS fails requests for a component without copies")
    assert text.count('"MinMemoryRequiredInMb"') == 60
    assert '"MaxInstanceCount": 2' in text
    assert component_name("folder/a model.tar.gz") == "folder-a-model"
    assert component_name("_.tar.gz") == "model"


def test_the_calls_that_deploy_components_give_each_its_own_name_and_keep_the_scale_in_policy() -> None:
    long = "x" * 63
    setups = tuple(ComponentSetup(name, 1024) for name in ("a_b.tar.gz", "a-b.tar.gz", long, f"{long}y"))
    policy = ScaleIn(ScaleInStrategy.CONSOLIDATION, 2, 600.0)
    scenario = ComponentScenario(setups, "ml.m5.4xlarge", instances_min=0, instances_max=2, scale_in=policy)
    text = deploying_calls(scenario)
    named = [line.split('"')[1] for line in text.splitlines() if line.startswith('    ("')]
    assert named == ["a-b", "a-b-2", long, f"{long[:61]}-2"]
    assert endpoint_variant(scenario)["ManagedInstanceScaling"]["ScaleInPolicy"] == {
        "Strategy": "CONSOLIDATION",
        "MaximumStepSize": 2,
        "CooldownInMinutes": 10,
    }


@pytest.mark.thorough
def test_the_fewest_instances_hold_all_copies_and_one_less_does_not() -> None:
    scenario = fewest_instances(ComponentScenario(one_for_each(SIXTY, memory_mib=1500), "ml.m5.large"))
    assert scenario.instances == 15  # four on each
    assert copies_fit(scenario)
    assert not copies_fit(scenario.altered(instances=14))
    asleep = ComponentScenario(one_for_each(SIXTY, memory_mib=1500, copies=0), "ml.m5.large", instances_min=0)
    assert fewest_instances(asleep).instances_max == 15
    with pytest.raises(BadScenario, match=r"100 x ml\.m5\.large do not hold all copies"):
        fewest_instances(ComponentScenario(one_for_each(SIXTY, memory_mib=4000, copies=2), "ml.m5.large"))
