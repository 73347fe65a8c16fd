"""How many instances copies want: no more than they need, no fewer than the minimum, never beyond the maximum."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.core.packing.helpers.packed import SIZE, copies, copy, fleets, instance
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.copy_placement import place_all
from torpor_endpoint.core.packing.instance_demand import InstanceBounds, instance_demand, next_pool
from torpor_endpoint.core.packing.packed_instances import PackedCopy, PackedInstance
from torpor_endpoint.core.resource_records import InstanceTypePool


@settings(max_examples=200)
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
