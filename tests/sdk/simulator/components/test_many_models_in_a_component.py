"""Components of multi-model containers, and adapters, in the simulator: they load and evict as instances do."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torpor import simulate
from torpor.simulator.components.component_files import read_components
from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import AdapterSetup, ComponentSetup, CopyChange
from torpor.simulator.components.components_result import ComponentsResult
from torpor.simulator.components.components_run import simulate_components
from torpor.simulator.costs.ways_to_serve import Way
from torpor.simulator.scenario import BadScenario
from torpor.workloads import Trace, recorded, zipf
from torpor.workloads.profile import ModelProfile

MIB = 2**20
NAMES = tuple(f"m{number}" for number in range(12))
PROFILES = {name: ModelProfile(name, 20 * MIB, 20 * MIB, 0.01, 0.01, 0.1, 0.0, 0.02) for name in NAMES}
MANY = ComponentSetup("many", 1024, models=NAMES, room_mib=100)
BASE = ComponentSetup("base", 1024, idle_s=60.0)
ADAPTED = {
    "base": ModelProfile("base", 50 * MIB, 50 * MIB, predict_s=0.1),
    **{name: ModelProfile(name, 0, 20 * MIB, 0.5, 0.0, 0.3, 0.0, 0.1) for name in ("x", "y", "z")},
}


def played(scenario: ComponentScenario, trace: Trace, profiles: dict[str, ModelProfile]) -> ComponentsResult:
    return simulate_components(trace, profiles, scenario)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 99), st.sampled_from((40, 100, 160)), st.sampled_from(("LRU", "GDSF")), st.integers(1, 2))
def test_alone_on_their_instances_copies_have_the_hits_of_a_multi_model_endpoint(
    seed: int, room_mib: int, policy: str, copies: int
) -> None:
    trace = zipf(12, 0.8, 4.0, 200.0, seed)
    profiles = {name: replace(PROFILES["m0"], name=name) for name in trace.names}
    many = replace(MANY, models=tuple(trace.names), room_mib=room_mib, policy=policy, copies=copies)
    found = played(ComponentScenario((many,), instances=copies), trace, profiles)
    like = simulate(
        trace, profiles, instances=copies, memory_bytes=room_mib * MIB, policy=policy, instance_type="ml.m5.large"
    )
    assert (found.requests, found.warm, found.loads, found.evictions) == (
        like.requests, like.warm, like.loads, like.evictions,
    )  # fmt: skip
    assert found.latencies.mean_s == pytest.approx(like.latencies.mean_s)
    assert found.components[0].requests == like.requests


def test_it_shares_its_instance_with_others_and_is_no_component_of_aws() -> None:
    profiles = {**PROFILES, "alone": ModelProfile("alone", MIB, MIB)}
    calls = [(number * 0.5, (*NAMES, "alone")[number % 13]) for number in range(260)]
    found = played(ComponentScenario((MANY, ComponentSetup("alone", 2048))), recorded(calls), profiles)
    assert [(use.component, use.requests, use.cold > 0) for use in found.components] == [
        ("many", 240, True),
        ("alone", 20, False),
    ]
    assert not found.scenario.on_aws
    assert found.cost().way is Way.COMPONENTS_MULTI_MODEL
    assert found.scenario.name == "components: 2 on 1 x ml.m5.large, 1 multi-model"


def test_models_leave_a_copy_by_their_keep_alive_and_the_copy_by_its_own() -> None:
    resting = replace(MANY, model_idle_s=10.0)
    found = played(ComponentScenario((resting,)), recorded([(0.0, "m1"), (5.0, "m1"), (40.0, "m1")]), PROFILES)
    assert (found.cold, found.loads, found.evictions) == (2, 2, 1)
    asleep = replace(MANY, copies=0, idle_s=30.0)
    found = played(ComponentScenario((asleep,)), recorded([(0.0, "m1"), (1.0, "m2"), (90.0, "m1")]), PROFILES)
    assert (found.wakes, found.cold, len(found.copy_lives)) == (2, 3, 2)


def test_a_model_that_is_larger_than_the_room_fails_alone() -> None:
    profiles = {**PROFILES, "m1": replace(PROFILES["m1"], memory_bytes=200 * MIB)}
    found = played(ComponentScenario((MANY,)), recorded([(0.0, "m0"), (1.0, "m1"), (2.0, "m0")]), profiles)
    assert (found.warm, found.cold, found.failed) == (1, 1, 1)


def test_each_copy_fetches_an_adapter_with_its_first_request_and_keeps_it() -> None:
    adapters = (AdapterSetup("x", "base"), AdapterSetup("why", "base", model="y"))
    scenario = ComponentScenario((BASE,), adapters=adapters)
    calls = [(0.0, "x"), (0.1, "x"), (2.0, "base"), (3.0, "x"), (4.0, "y")]
    found = played(scenario, recorded(calls), ADAPTED)
    assert (found.requests, found.cold, found.warm, found.failed) == (5, 3, 2, 0)
    assert found.components[0].loads == 2
    assert found.components[0].requests == 5
    assert found.latencies.quantile(1.0) == pytest.approx(0.5 + 0.3 + 0.1, rel=0.1)
    assert found.scenario.on_aws


def test_requests_for_an_adapter_wait_at_the_copy_that_has_it_until_a_second_one_does() -> None:
    adapters = (AdapterSetup("x", "base"),)
    calls = [(0.0, "x"), *[(30.0, "x")] * 12, *[(90.0, "x")] * 12]
    slow = {**ADAPTED, "x": replace(ADAPTED["x"], download_s=5.0)}
    found = played(ComponentScenario((replace(BASE, copies=2),), adapters=adapters), recorded(calls), slow)
    assert (found.cold, found.warm, found.components[0].loads) == (1, 24, 2)


@pytest.mark.parametrize(("instance_type", "leave"), [("ml.m5.xlarge", False), ("ml.m5.large", True)])
def test_a_copy_without_cores_of_its_own_answers_on_all_processors_of_its_instance(
    instance_type: str, leave: bool
) -> None:
    profiles = {**PROFILES, "m0": replace(PROFILES["m0"], predict_s=1.0, download_s=3.0)}
    scenario = ComponentScenario((replace(MANY, copies=2),), instances=2, instance_type=instance_type)
    found = played(scenario, recorded([(0.0, "m0"), *[(30.0, "m0")] * 9]), profiles)
    assert found.cold == 1 + leave, "the ninth waits 2 s behind 8 on four processors, and 4 s on two; a load takes 3 s"


def test_an_adapter_stays_at_the_copy_that_has_it_until_a_copy_that_comes_has_it_too() -> None:
    names = [f"x{number}" for number in range(8)]
    adapters = tuple(AdapterSetup(name, "base") for name in names)
    profiles = {**ADAPTED, **{name: replace(ADAPTED["x"], name=name) for name in names}}
    grows = replace(BASE, copies=1, changes=(CopyChange(40.0, 2),))
    calls = [(float(number), name) for number, name in enumerate([*names, *names])]
    later = [(60.0 + number, name) for number, name in enumerate([*names, *names, *names])]
    found = played(ComponentScenario((grows,), adapters=adapters), recorded([*calls, *later]), profiles)
    assert (found.cold, found.warm) == (8, 32)
    assert 8 < found.components[0].loads < 16


def test_adapters_share_the_disk_that_the_model_leaves_and_the_one_used_longest_ago_makes_room() -> None:
    small = replace(BASE, disk_mib=95)  # the model has 50 of them
    adapters = tuple(AdapterSetup(name, "base") for name in ("x", "y", "z"))
    calls = [(number * 5.0, name) for number, name in enumerate("xyxzxyx")]
    found = played(ComponentScenario((small,), adapters=adapters), recorded(calls), ADAPTED)
    assert (found.cold, found.failed, found.components[0].loads) == (4, 0, 4)  # y comes twice
    none = replace(small, disk_mib=65)
    found = played(ComponentScenario((none,), adapters=adapters), recorded(calls), ADAPTED)
    assert (found.failed, found.components[0].loads) == (7, 0)


def test_requests_of_adapters_that_use_the_whole_disk_make_the_next_one_wait() -> None:
    small = replace(BASE, disk_mib=70)  # room for one
    slow = {**ADAPTED, "x": replace(ADAPTED["x"], predict_s=30.0)}
    adapters = (AdapterSetup("x", "base"), AdapterSetup("y", "base"))
    found = played(ComponentScenario((small,), adapters=adapters), recorded([(0.0, "x"), (1.0, "y")]), slow)
    assert found.failed == 0
    assert found.latencies.quantile(0.5) > 29.0


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: replace(MANY, model="m1"), "component many: give model, or models of a multi-model container"),
        (lambda: replace(MANY, models=("a", "a")), "models of component many is a tuple of models, each named once"),
        (lambda: replace(MANY, policy="X"), "policy of component many is one of"),
        (lambda: ComponentScenario((MANY,), strict=True), "component many: a multi-model container is Torpor's own"),
        (lambda: ComponentScenario((MANY, ComponentSetup("m1"))), "components: two have the model m1"),
        (lambda: ComponentScenario((BASE,), adapters=(AdapterSetup("base", "base"),)), "two have the name base"),
        (lambda: ComponentScenario((BASE,), adapters=(AdapterSetup("x", "b"),)), "adapter x: its base b is no compo"),
        (lambda: ComponentScenario((MANY,), adapters=(AdapterSetup("x", "many"),)), "which loads no adapters"),
        (lambda: AdapterSetup("x", ""), "base is a component's name"),
    ],
)
def test_what_no_component_can_be_is_refused_in_one_clear_line(made: object, says: str) -> None:
    with pytest.raises(BadScenario, match=r"^[^\n]*$") as refused:
        made()  # type: ignore[operator]
    assert says in str(refused.value)


def test_a_file_has_patterns_for_many_models_and_rows_for_adapters(tmp_path: Path) -> None:
    file = tmp_path / "parts.csv"
    file.write_text("name,models,base,memory_mib\nmany,m1 m2*,,2048\nbase,,,\nx,,base,\n")
    read = read_components(file, ("m1", "m20", "m21", "n"), copies=2)
    assert read.components == (
        ComponentSetup("many", 2048, models=("m1", "m20", "m21"), copies=2),
        ComponentSetup("base", copies=2),
    )
    assert read.adapters == (AdapterSetup("x", "base"),)
    file.write_text("name,models\nmany,z*\n")
    with pytest.raises(BadScenario, match=r"row 1: models: no model of the trace matches 'z\*'"):
        read_components(file, ("m1",))
    file.write_text("name,base,copies\nx,base,2\n")
    with pytest.raises(BadScenario, match="row 1: an adapter has no copies: it has name, base and model"):
        read_components(file)
