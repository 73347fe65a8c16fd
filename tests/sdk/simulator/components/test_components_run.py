"""Components in the simulator: copies answer, sleep, scale and are refused as the endpoint's are."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import ComponentSetup, CopyScaling
from torpor.simulator.components.components_result import ComponentsResult
from torpor.simulator.components.components_run import one_for_each, simulate_components
from torpor.simulator.costs.ways_to_serve import Way
from torpor.simulator.scenario import BadScenario
from torpor.simulator.simulation_inputs import load
from torpor.workloads import POISSON, BadTrace, recorded, zipf
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.packing.scale_in_plans import IDLE_S
from torpor_endpoint.core.pricing.component_shares import UNRESERVED
from torpor_endpoint.core.pricing.quotes import S3_STORED
from torpor_endpoint.core.resource_records import InstanceTypePool, ScaleIn, ScaleInStrategy

MIB = 2**20
A = ComponentSetup("a", 1024, idle_s=60.0)
ASLEEP = replace(A, copies=0)
MANAGED = ComponentScenario((ASLEEP,), instances=1, instances_min=0, instances_max=2)


def profiles(*names: str, predict_s: float = 0.1) -> dict[str, ModelProfile]:
    return {name: ModelProfile(name, 100 * MIB, MIB, 0.0, 0.0, 1.0, 0.0, predict_s) for name in names}


def every(gap_s: float, until_s: float, name: str = "a") -> list[tuple[float, str]]:
    return [(number * gap_s, name) for number in range(int(until_s / gap_s))]


def played(scenario: ComponentScenario, calls: list[tuple[float, str]], **changes: float) -> ComponentsResult:
    return simulate_components(recorded(calls), profiles(*scenario.serves(), **changes), scenario)


def test_an_always_on_copy_answers_warm_and_costs_its_instance() -> None:
    result = played(ComponentScenario((A,)), every(1.0, 3600.0))
    assert (result.requests, result.warm, result.loads, result.failed) == (3600, 3600, 0, 0)
    assert result.latencies.mean_s == pytest.approx(0.1, rel=0.05)
    assert result.instance_s_by_type == {"ml.m5.large": pytest.approx(result.duration_s)}
    assert result.cost().way is Way.COMPONENTS
    assert result.scenario.on_aws


def test_without_copies_a_request_waits_for_one_which_leaves_and_then_its_instance() -> None:
    calls = [(0.0, "a"), (5.0, "a"), (3000.0, "a")]
    result = played(MANAGED, calls)
    assert (result.wakes, result.cold, result.failed, result.loads) == (2, 2, 0, 2)
    copies = [(life.started_s, life.stopped_s) for life in result.copy_lives]
    assert [began_s for began_s, _ in copies] == [0.0, 3000.0]
    assert copies[0][1] == pytest.approx(5.1 + 60.0, abs=1.5)
    first, second = result.lives
    assert first.stopped_s == pytest.approx(5.1 + 60.0 + IDLE_S, abs=3.0)  # ten minutes after the copy
    assert second.started_s == 3000.0
    assert result.cost().way is Way.COMPONENTS_HELD
    assert not result.scenario.on_aws


def test_requests_that_find_no_room_for_a_copy_have_woken_none() -> None:
    full = ComponentScenario((ComponentSetup("a", 5000), ComponentSetup("b", 5000, copies=0)))
    result = played(full, [(0.0, "a"), (1.0, "b"), (2.0, "b")])
    assert (result.failed, result.wakes, result.components[1].unplaced) == (2, 0, 2)


def test_pools_of_which_no_instance_can_be_had_are_refused() -> None:
    with pytest.raises(BadScenario, match="lacking: it has the types of all pools"):
        ComponentScenario((A,), pools=(InstanceTypePool("ml.m5.large", 1),), lacking=("ml.m5.large",))


def test_strict_components_fail_their_requests_until_a_policy_has_brought_a_copy() -> None:
    scaling = CopyScaling(target=5.0, copies_min=0, copies_max=2)
    scenario = replace(MANAGED, components=(replace(ASLEEP, scaling=scaling),), strict=True)
    result = played(scenario, every(1.0, 300.0))
    assert result.refused == result.failed > 0
    (copy,) = result.copy_lives
    assert 0.0 < copy.started_s <= 30.0
    assert copy.stopped_s is not None
    assert copy.stopped_s > 900.0  # a quarter of an hour of low data points
    assert result.wakes == 0
    assert result.scenario.on_aws


def test_copies_follow_the_requests_in_flight_and_have_instances_of_their_own() -> None:
    scaling = CopyScaling(target=1.0, copies_min=1, copies_max=4)
    wide = ComponentSetup("a", 3000, cores=1.0, scaling=scaling)
    scenario = ComponentScenario((wide,), "ml.m5.large", instances_min=1, instances_max=4)
    result = played(scenario, every(0.25, 1800.0), predict_s=0.7)  # 2.8 requests in flight
    assert len(result.copy_lives) >= 3
    assert result.instances_most == 2  # two copies on each
    assert result.components[0].unplaced == 0


def test_with_pools_instances_are_of_the_first_type_that_there_is() -> None:
    pools = (
        InstanceTypePool("ml.m5.large", 2),
        InstanceTypePool("ml.c5.large", 1),
        InstanceTypePool("ml.m5.xlarge", 3),
    )
    scenario = replace(MANAGED, pools=pools)
    assert list(played(scenario, [(0.0, "a")]).instance_s_by_type) == ["ml.c5.large"]
    assert list(played(replace(scenario, lacking=("ml.c5.large",)), [(0.0, "a")]).instance_s_by_type) == ["ml.m5.large"]
    large = replace(scenario, components=(replace(ASLEEP, memory_mib=9000),))
    found = played(large, [(0.0, "a")])  # it fits on the last type alone; what it begins with is of the first
    assert (list(found.instance_s_by_type), found.failed) == (["ml.c5.large", "ml.m5.xlarge"], 0)


def test_copies_move_to_fewer_instances_and_their_requests_are_answered() -> None:
    policy = ScaleIn(ScaleInStrategy.CONSOLIDATION, 1, 300.0)
    low = CopyScaling(target=1.0, copies_min=0, copies_max=2)
    setups = (
        replace(A, memory_mib=3600),
        replace(A, name="b", memory_mib=3600, copies=2, scaling=replace(low, copies_min=1)),
    )
    scenario = ComponentScenario(setups, instances=2, instances_min=0, instances_max=2, scale_in=policy)
    result = played(scenario, every(10.0, 7200.0))
    assert (result.failed, result.requests, result.moves) == (0, 720, 1)
    assert result.lives[1].stopped_s is not None
    assert result.lives[1].stopped_s < 3600.0


def test_the_parts_of_the_bill_add_up_to_it() -> None:
    setups = (A, replace(A, name="b", memory_mib=2048))
    result = played(ComponentScenario(setups, instances=2), every(1.0, 600.0))
    shares = {one.component: one for one in result.shares()}
    assert sum(one.share for one in shares.values()) == pytest.approx(1.0)
    stored = result.cost().bill.usd_of(S3_STORED)
    assert stored > 0
    assert sum(one.usd or 0.0 for one in shares.values()) == pytest.approx((result.cost().usd or 0.0) - stored)
    assert shares["b"].share == pytest.approx(2 * shares["a"].share)
    assert UNRESERVED in shares


def test_a_part_of_a_core_is_as_slow_and_processors_without_one_are_shared() -> None:
    alone = played(ComponentScenario((replace(A, cores=0.5),)), every(10.0, 100.0))
    assert alone.latencies.mean_s == pytest.approx(0.2, rel=0.05)
    both = ComponentScenario((A, replace(A, name="b")), "ml.m5.large")
    calls = sorted(one for name in ("a", "b") for one in 2 * every(10.0, 100.0, name))
    assert played(both, calls).latencies.mean_s == pytest.approx(0.2, rel=0.05)  # four requests, two processors


@settings(max_examples=tries(10), deadline=None)
@given(st.integers(1, 12), st.integers(0, 2), st.booleans(), st.integers(1, 3), st.integers(0, 99))
def test_every_request_ends_once(models: int, copies: int, strict: bool, most: int, seed: int) -> None:
    trace = zipf(models, 1.0, 5.0, 120.0, seed, gaps=POISSON)
    inputs = load(trace, seed=seed)
    scaling = CopyScaling(1.0, copies_max=3) if strict else None
    setups = one_for_each(inputs, copies=copies, scaling=scaling, idle_s=5.0)
    scenario = ComponentScenario(setups, "ml.m5.4xlarge", instances_min=0, instances_max=most, strict=strict)
    result = simulate_components(trace, inputs.profiles, scenario)
    assert result.requests == sum(map(len, trace.chunks()))
    assert result.warm + result.cold + result.failed == result.requests
    assert all(life.stopped_s is not None and life.stopped_s >= life.started_s for life in result.copy_lives)


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        (
            lambda: ComponentScenario((replace(A, memory_mib=9000),)),
            "component a: a copy of 9,000 MiB fits on no instance",
        ),
        (lambda: ComponentScenario((replace(A, accelerators=1.0),)), "1 accelerators fits on no instance"),
        (lambda: ComponentScenario((ASLEEP,), strict=True), "component a: copies is 0, and strict"),
        (lambda: ComponentScenario((A,), "ml.m9.huge"), "instance_type is one of the catalogue's types"),
        (lambda: ComponentScenario((A,), pools=(InstanceTypePool("p5", 1),)), "pools is one of the catalogue's types"),
        (lambda: ComponentScenario(()), "components is a tuple of ComponentSetup"),
        (lambda: ComponentScenario((A, A)), "components: two have the name a"),
        (lambda: ComponentScenario((A, replace(A, name="b", model="a"))), "components: two have the model a"),
        (lambda: ComponentScenario((A,), instances_max=2), "instances_max goes with instances_min"),
        (lambda: ComponentScenario((A,), instances_min=3, instances_max=2), "instances_max is at least instances_min"),
        (lambda: replace(A, copies=-1), "copies of component a is 0 or more, not -1"),
        (lambda: replace(A, memory_mib=64), "memory_mib of component a is 128 or more, not 64"),
        (lambda: replace(A, cores=0.1), "cores of component a is 0, or 0.25 or more, not 0.1"),
        (lambda: replace(A, memory_max_mib=512), "component a: memory_max_mib is at least memory_mib"),
        (lambda: CopyScaling(0.0), "target is more than 0"),
        (lambda: CopyScaling(1.0, copies_min=5), "copies_max is at least copies_min"),
        (lambda: ComponentScenario((A,)).altered(instance="x"), "instance is no field of a ComponentScenario"),
    ],
)
def test_what_cannot_be_deployed_is_refused_in_one_clear_line(scenario: Callable[[], object], says: str) -> None:
    with pytest.raises(BadScenario, match=r"^[^\n]*$") as refused:
        scenario()
    assert says in str(refused.value)


def test_copies_that_find_no_room_together_and_models_without_room_are_refused() -> None:
    many = ComponentScenario(tuple(replace(A, name=name, memory_mib=3000) for name in "abc"))
    with pytest.raises(BadScenario, match="component c: 1 of its 1 copies fit on no instance"):
        played(many, [(0.0, "a"), (1.0, "b"), (2.0, "c")])
    small = ComponentScenario((replace(A, memory_mib=128),), own_bytes=30 * MIB)
    with pytest.raises(BadScenario, match="component a: its model takes 130 MiB with its process, and a copy may take"):
        played(small, [(0.0, "a")])
    with pytest.raises(BadScenario, match="model 'b' is called, and no component serves it: the components serve a"):
        simulate_components(recorded([(0.0, "b")]), profiles("a", "b"), ComponentScenario((A,)))
    with pytest.raises(BadTrace, match="model 'a' is called, and has no profile"):
        simulate_components(recorded([(0.0, "b")]), profiles("b"), ComponentScenario((A,)))
