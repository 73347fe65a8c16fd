"""How many instances copies want: no more than they need, no fewer than the minimum, never beyond the maximum."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.core.packing.helpers.packed import SIZE, copies, copy, fleets, instance
from tests.helpers.example_counts import tries
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.copy_placement import place_all
from torpor_endpoint.core.packing.instance_demand import InstanceBounds, further_instance, instance_demand, next_pool
from torpor_endpoint.core.packing.packed_instances import PackedCopy, PackedInstance
from torpor_endpoint.core.resource_records import InstanceTypePool


@settings(max_examples=tries(60))
@given(copies(7), fleets(), st.integers(0, 2), st.integers(0, 4))
def test_the_instances_wanted_hold_what_waits_and_stay_within_their_bounds(
    wanted: list[PackedCopy], instances: list[PackedInstance], least: int, more: int
) -> None:
    bounds = InstanceBounds(least, max(least, len(instances) + more))
    demand = instance_demand(wanted, instances, bounds, SIZE)
    assert bounds.least <= demand.instances <= bounds.most
    named = [*demand.places, *(one.name for one in (*demand.waiting, *demand.refused))]
    assert sorted(named) == sorted(one.name for one in wanted)
    coming = demand.instances - len(instances)
    assert coming <= max(len(demand.waiting), least - len(instances))
    further = [instance(100 + number) for number in range(coming)]
    assert place_all(demand.waiting, further) is not None
    if demand.instances < bounds.most:
        assert all(not one.needs.fits(SIZE) for one in demand.refused)


def test_nothing_is_wanted_for_copies_that_fit() -> None:
    demand = instance_demand([copy("c", 0)], [instance(0)], InstanceBounds(0, 4), SIZE)
    assert (demand.instances, dict(demand.places), demand.waiting, demand.refused) == (1, {("c", 0): 0}, (), ())


def test_instances_from_zero_come_by_the_number_that_copies_need() -> None:
    wanted = [copy("c", number, 4) for number in range(5)]
    demand = instance_demand(wanted, [], InstanceBounds(0, 2), SIZE)
    assert (demand.instances, len(demand.waiting), len(demand.refused)) == (2, 4, 1)
    assert instance_demand([], [], InstanceBounds(1, 2), SIZE).instances == 1


def test_a_copy_that_no_instance_could_hold_brings_none() -> None:
    demand = instance_demand([copy("c", 0, 9)], [instance(0)], InstanceBounds(0, 4), SIZE)
    assert (demand.instances, len(demand.refused)) == (1, 1)


def test_the_next_instance_is_of_the_best_pool_that_there_is_and_that_has_room() -> None:
    first, second, third = InstanceTypePool("b", 1), InstanceTypePool("a", 2), InstanceTypePool("c", 3)
    pools = (third, first, second)
    needs, sizes = dict.fromkeys("abc", ComputeAmount(4)), dict.fromkeys("abc", SIZE)
    assert next_pool(pools, (), needs, sizes) == first
    assert next_pool(pools, {"b"}, needs, sizes) == second
    assert next_pool(pools, {"b"}, {**needs, "a": ComputeAmount(9)}, sizes) == third
    assert next_pool(pools, {"b"}, {"c": ComputeAmount(4)}, sizes) == third
    assert next_pool(pools, {"a", "b", "c"}, needs, sizes) is None
    assert next_pool(pools, (), needs, {"c": SIZE}) == third


POOLS = tuple(InstanceTypePool(kind, priority) for priority, kind in enumerate(("small", "large", "huge"), start=1))
SIZES = {"small": ComputeAmount(8, 4, 2), "large": ComputeAmount(16, 4, 2), "huge": ComputeAmount(64, 32, 2)}


@st.composite
def of_pools(draw: st.DrawFn) -> list[PackedInstance]:
    """Instances of several types, some with copies."""
    kinds = draw(st.lists(st.sampled_from(sorted(SIZES)), max_size=4))
    found = []
    for number, kind in enumerate(kinds):
        one = PackedInstance(number, SIZES[kind], instance_type=kind)
        for present in draw(copies(3, prefix=f"present-{number}-")):
            one = one.holding(present) if one.has_room(present) else one
        found.append(one)
    return found


@settings(max_examples=tries(100))
@given(st.integers(1, 70), st.sampled_from((None, *SIZES)), of_pools(), st.integers(0, 5))
def test_a_further_instance_is_of_the_best_pool_that_helps_and_only_an_empty_one_makes_way(
    memory: int, only: str | None, instances: list[PackedInstance], most: int
) -> None:
    wanted = replace(copy("c", 0, memory), instance_type=only)
    found = further_instance(wanted, instances, POOLS, SIZES, most)
    helping = [one.instance_type for one in POOLS if _new(one.instance_type).has_room(wanted)]
    empty = {one.number for one in instances if not one.copies and one.instance_type not in helping[:1]}
    if found is None:
        assert not helping or (len(instances) >= most and not empty)
        return
    assert found.instance_type == helping[0]
    assert (found.instead_of is None) == (len(instances) < most)
    assert found.instead_of is None or found.instead_of in empty


def _new(kind: str) -> PackedInstance:
    return PackedInstance(99, SIZES[kind], instance_type=kind)


def test_of_empty_instances_the_one_of_the_pool_with_the_lowest_priority_makes_way() -> None:
    instances = [
        PackedInstance(number, SIZES[kind], instance_type=kind) for number, kind in enumerate(("large", "small"))
    ]
    found = further_instance(copy("c", 0, 60), instances, POOLS, SIZES, 2)
    assert found is not None
    assert (found.instance_type, found.instead_of) == ("huge", 0)
