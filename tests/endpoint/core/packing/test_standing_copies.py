"""Copies that stand: each has one instance with room, keeps its place until it is gone, and an idle one is left."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.core.packing.helpers.packed import SIZE, copies, copy
from tests.helpers.example_counts import tries
from torpor_endpoint.core.packing.compute_amounts import total
from torpor_endpoint.core.packing.packed_instances import PackedCopy
from torpor_endpoint.core.packing.standing_copies import InstancePlace, StandingCopies
from torpor_endpoint.core.resource_records import ScaleIn, ScaleInStrategy

THREE = [InstancePlace(number, SIZE) for number in range(3)]


@settings(max_examples=tries(40))
@given(st.lists(st.tuples(copies(6), st.booleans()), max_size=8))
def test_no_instance_ever_has_more_than_it_can_hold(rounds: list[tuple[list[PackedCopy], bool]]) -> None:
    standing, there = StandingCopies(), dict[str, PackedCopy]()
    for wanted, leaves in rounds:
        for one in wanted:
            if str(one.name) not in there and standing.take(one, THREE) is not None:
                there[str(one.name)] = one
            elif leaves:
                standing.free(one.name)
                there.pop(str(one.name), None)
        packed = standing.instances(THREE)
        assert all(total(held.needs for held in one.copies).fits(SIZE) for one in packed)
        assert sorted(str(held.name) for one in packed for held in one.copies) == sorted(there)
        assert all(standing.on(one.number) == bool(one.copies) for one in packed)


def test_a_copy_keeps_its_place_until_it_is_gone() -> None:
    standing, large, other = StandingCopies(), copy("large", 0, memory=8), copy("other", 0, memory=8)
    assert standing.take(large, THREE[:1]) == standing.place_of(large.name) == 0
    assert (standing.on(0), standing.on(1)) == (True, False)
    standing.leave(large.name)
    assert standing.leaving
    assert standing.take(other, THREE[:1]) is None
    standing.free(large.name)
    assert not standing.leaving
    assert standing.take(other, THREE, only=1) == 1


def test_a_copy_that_comes_back_is_not_leaving() -> None:
    standing, one = StandingCopies(), copy("one", 0)
    standing.take(one, THREE)
    standing.leave(one.name)
    standing.free(one.name)
    assert (standing.place_of(one.name), standing.on(0)) == (None, False)
    standing.take(one, THREE)
    assert not standing.leaving


def test_a_copy_that_came_and_went_between_two_looks_begins_the_ten_minutes_anew() -> None:
    standing, one = StandingCopies(), copy("one", 0)
    standing.note([0], 5.0)
    standing.take(one, THREE[:1])
    standing.free(one.name)
    assert standing.quiet_until_s(THREE[:1], None, 0, 100.0) == 700.0


def test_copies_move_together_a_while_after_the_last_change() -> None:
    standing, policy = StandingCopies(), ScaleIn(ScaleInStrategy.CONSOLIDATION, step_max=1, cooldown_s=300.0)
    for number in range(2):
        standing.take(copy("one", number), THREE[:2])
    assert standing.quiet_until_s(THREE[:2], policy, 1, 50.0) == 350.0
    assert standing.quiet_until_s(THREE[:2], policy, 1, 60.0) == 350.0, "nothing has changed"
    standing.take(copy("one", 2), THREE[:2])
    assert standing.scale_in(THREE[:2], policy, 1, 100.0).moves == ()
    assert standing.scale_in(THREE[:2], policy, 1, 399.0).moves == ()
    assert [move.source for move in standing.scale_in(THREE[:2], policy, 1, 400.0).moves] == [1]
    assert standing.quiet_until_s(THREE, policy, 1, 500.0) == 800.0, "one more instance is a change"


def test_an_instance_leaves_ten_minutes_after_its_last_copy() -> None:
    standing, one = StandingCopies(), copy("one", 0)
    standing.take(one, THREE[:1])
    assert standing.scale_in(THREE[:1], None, 0, 5.0).released == ()
    standing.free(one.name)
    assert standing.quiet_until_s(THREE[:1], None, 0, 20.0) == 20.0 + 600.0
    assert standing.scale_in(THREE[:1], None, 0, 20.0 + 600.0 - 1).released == ()
    assert standing.scale_in(THREE[:1], None, 0, 20.0 + 600.0).released == (0,)
    assert standing.scale_in(THREE[:1], None, 1, 20.0 + 600.0).released == ()  # MinInstanceCount
