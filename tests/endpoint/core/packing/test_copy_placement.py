"""Where copies go: no instance has more than it can hold, and what fits is placed, beside a search of every way."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.core.packing.helpers.packed import (
    BINPACK,
    SIZE,
    SPREAD,
    copies,
    copy,
    feasible,
    fit,
    fleets,
    instance,
    strategies,
)
from tests.helpers.example_counts import tries
from torpor_endpoint.core.components.component_records import PlacementStrategy
from torpor_endpoint.core.packing.compute_amounts import (
    MEMORY_SHARE,
    STRICT_MEMORY_SHARE,
    ComputeAmount,
    schedulable,
    total,
)
from torpor_endpoint.core.packing.copy_placement import place, place_all, place_most
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy, PackedInstance


@settings(max_examples=tries(60))
@given(copies(), fleets())
def test_all_are_placed_exactly_where_a_search_of_every_way_finds_one(
    wanted: list[PackedCopy], instances: list[PackedInstance]
) -> None:
    places = place_all(wanted, instances)
    assert (places is not None) == feasible(wanted, instances)
    if places is not None:
        index = {one.number: position for position, one in enumerate(instances)}
        assert places.keys() == {one.name for one in wanted}
        assert fit(wanted, instances, [index[places[one.name]] for one in wanted])


@settings(max_examples=tries(60))
@given(st.integers(0, 6), st.integers(1, 9), st.integers(0, 8), strategies, fleets())
def test_copies_of_one_component_are_placed_one_at_a_time_as_long_as_one_fits(
    count: int, memory: int, quarters: int, strategy: PlacementStrategy, instances: list[PackedInstance]
) -> None:
    needs = ComputeAmount(memory, quarters / 4)
    wanted = [PackedCopy(CopyId("c", number), needs, strategy) for number in range(count)]
    places, left = place_most(wanted, instances)
    room = sum(_times(one, needs) for one in instances)
    assert len(places) == min(count, room)
    assert [one.name for one in left] == [one.name for one in wanted[len(places) :]]


def _times(one: PackedInstance, needs: ComputeAmount) -> int:
    """How many such copies the instance has room for."""
    times, held = 0, one
    while needs.fits(held.room):
        held, times = held.holding(PackedCopy(CopyId("x", times), needs)), times + 1
    return times


@given(copies(), fleets())
def test_what_is_placed_fits_and_what_is_left_fits_nowhere(
    wanted: list[PackedCopy], instances: list[PackedInstance]
) -> None:
    places, left = place_most(wanted, instances)
    after = {one.number: one for one in instances}
    for one in wanted:
        if one.name in places:
            after[places[one.name]] = after[places[one.name]].holding(one)
    assert all(total(held.needs for held in one.copies).fits(one.size) for one in after.values())
    assert not any(one.has_room(lone) for one in after.values() for lone in left)


def test_spread_takes_the_instance_with_fewest_copies_of_the_component_and_then_with_fewest() -> None:
    other = copy("other", 0, 1)
    instances = [instance(0, copy("c", 0)), instance(1, other, replace(other, name=CopyId("o", 1))), instance(2, other)]
    assert place(copy("c", 1), instances) == 2
    places, _ = place_most([copy("c", number, 1) for number in range(1, 4)], instances)
    assert list(places.values()) == [2, 1, 0]


def test_binpack_takes_the_fullest_that_has_room() -> None:
    packed = replace(copy("c", 9), strategy=BINPACK)
    instances = [instance(0), instance(1, copy("a", 0, 5)), instance(2, copy("b", 0, 7))]
    assert place(packed, instances) == 1
    assert place(replace(packed, strategy=SPREAD), instances) == 0


def test_copies_that_are_to_stand_tight_go_to_the_fullest_with_as_few_of_their_component() -> None:
    instances = [instance(0, copy("a", 0, 1)), instance(1, copy("b", 0, 2), copy("b", 1, 2))]
    one = copy("c", 0)
    assert (place(one, instances), place(one, instances, tight=True)) == (0, 1)
    assert place_most([one], instances)[0] == place_all([one], instances) == {one.name: 0}
    assert place_most([one], instances, tight=True)[0] == place_all([one], instances, tight=True) == {one.name: 1}
    assert place(copy("b", 2), instances, tight=True) == 0


def test_the_largest_of_several_copies_is_placed_first_and_of_equals_the_first_by_name() -> None:
    small, large, other = copy("a", 0, 1), copy("b", 0, 5), copy("c", 0, 5)
    three = [instance(number) for number in range(3)]
    assert place_all([small, other, large], three) == {large.name: 0, other.name: 1, small.name: 2}


@pytest.mark.parametrize("needs", [{"memory": 9}, {"cores": 4.25}, {"accelerators": 3}])
def test_a_copy_that_needs_more_of_anything_than_there_is_fits_nowhere(needs: dict[str, float]) -> None:
    assert place(copy("c", 0, **needs), [instance(0), instance(1)]) is None
    assert place_all([copy("c", 0, **needs)], [instance(0), instance(1)]) is None


def test_a_copy_may_fill_an_instance_and_fractions_of_cores_add_up() -> None:
    assert place(PackedCopy(CopyId("c", 0), SIZE), [instance(0)]) == 0
    thirds = [copy("c", number, 1, cores=4 / 3) for number in range(3)]
    assert place_all(thirds, [instance(0)]) is not None


def test_a_greedy_order_that_fails_is_mended_by_the_search() -> None:
    wanted = [copy("a", 0, 5), copy("b", 0, 4), copy("c", 0, 4), copy("d", 0, 3)]
    spread = [instance(0), instance(1)]
    assert place_most(wanted, spread)[1] == []
    tight = [copy(name, 0, memory) for name, memory in (("a", 4), ("b", 3), ("c", 3), ("d", 2), ("e", 2), ("f", 2))]
    assert place_most(tight, spread)[1] != []
    places = place_all(tight, [*spread, instance(2, copy("full", 0, 8))])
    assert places is not None
    assert [sum(one.needs.memory_mib for one in tight if places[one.name] == number) for number in (0, 1)] == [8, 8]


@settings(max_examples=tries(40))
@given(copies(), fleets(), st.data())
def test_a_copy_for_one_type_of_instance_is_on_no_other(
    wanted: list[PackedCopy], instances: list[PackedInstance], data: st.DataObject
) -> None:
    kinds = st.sampled_from(("a", "b"))
    instances = [replace(one, instance_type=data.draw(kinds)) for one in instances]
    wanted = [replace(one, instance_type=data.draw(st.one_of(st.none(), kinds))) for one in wanted]
    places = place_all(wanted, instances)
    for alike in ("a", "b"):
        bound = [one for one in wanted if one.instance_type == alike]
        if not feasible(bound, [one for one in instances if one.instance_type == alike]):
            assert places is None
    types = {one.number: one.instance_type for one in instances}
    assert all(one.instance_type in (None, types[places[one.name]]) for one in wanted if places is not None)


def test_a_search_tries_one_of_many_instances_that_are_alike() -> None:
    """The first copy must leave those with accelerators to the others, which one by one takes 9! ways to find out."""
    wanted = [copy("a", 0, 7), *(copy(f"b{number}", 0, 7, accelerators=1) for number in range(9))]
    alike = [instance(number) for number in range(9)]
    places = place_all(wanted, [*alike, instance(9, size=ComputeAmount(8, 4, 0))])
    assert places is not None
    assert places[wanted[0].name] == 9


def test_a_search_that_finds_no_way_soon_gives_up() -> None:
    """Each of the instances has room for one of the copies, and no two are alike: there are 12! ways to try."""
    many = [copy(f"c{number}", 0, 5) for number in range(13)]
    assert place_all(many, [instance(number, copy("p", number, number / 8)) for number in range(12)]) is None


def test_the_pool_for_copies_is_smaller_than_the_machine() -> None:
    assert 0.5 < MEMORY_SHARE < 1
    assert schedulable(16384, 4, 1) == ComputeAmount(16384 * MEMORY_SHARE, 4, 1)
    observed = schedulable(16384, 4, 1, strict=True)
    assert ComputeAmount(1024, 1, 1).fits(observed)
    assert not ComputeAmount(4096, 1, 1).fits(observed)
    assert observed.memory_mib == 16384 * STRICT_MEMORY_SHARE


@pytest.mark.parametrize(
    ("part", "share"), [(ComputeAmount(4, 1), 0.5), (ComputeAmount(1, 3), 0.75), (ComputeAmount(0, 0, 2), 1.0)]
)
def test_the_share_of_an_instance_is_that_of_what_is_taken_most(part: ComputeAmount, share: float) -> None:
    assert part.share_of(SIZE) == share
    assert ComputeAmount() == ComputeAmount(0, 0, 0)
    assert ComputeAmount(0, 0, 1).share_of(ComputeAmount(8, 4, 0)) == 1.0
    assert ComputeAmount(0, 0, 0).share_of(ComputeAmount(8, 4, 0)) == 0.0
