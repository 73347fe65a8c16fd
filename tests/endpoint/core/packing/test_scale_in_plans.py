"""Which instances are given back, when, and which copies move for it: nothing is lost, and nothing is overfilled."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.core.packing.helpers.packed import copy, fleets, instance
from tests.helpers.example_counts import tries
from torpor_endpoint.core.packing.compute_amounts import total
from torpor_endpoint.core.packing.packed_instances import PackedInstance
from torpor_endpoint.core.packing.scale_in_plans import CopyMove, ScaleInPlan, quiet_until_s, scale_in, shrink
from torpor_endpoint.core.resource_records import ScaleIn, ScaleInStrategy

TEN_MINUTES_S = 600.0
CONSOLIDATION = ScaleIn(ScaleInStrategy.CONSOLIDATION, step_max=2, cooldown_s=300.0)
IDLE_RELEASE = ScaleIn(ScaleInStrategy.IDLE_RELEASE)


def empty(number: int, since_s: float) -> PackedInstance:
    return replace(instance(number), empty_since_s=since_s)


def after(instances: list[PackedInstance], moves: tuple[CopyMove, ...]) -> list[PackedInstance]:
    """The instances once the copies have moved."""
    there = {one.number: list(one.copies) for one in instances}
    for move in moves:
        moved = next(one for one in there[move.source] if one.name == move.copy)
        there[move.source].remove(moved)
        there[move.to].append(moved)
    return [replace(one, copies=tuple(there[one.number])) for one in instances]


@pytest.mark.parametrize("policy", [None, IDLE_RELEASE, CONSOLIDATION])
def test_an_instance_without_copies_leaves_after_ten_minutes_and_not_before(policy: ScaleIn | None) -> None:
    fleet = [instance(0, copy("c", 0)), empty(1, 100.0), empty(2, 100.0)]
    assert scale_in(fleet, policy, 0, 100.0 + TEN_MINUTES_S - 1, 100.0 + TEN_MINUTES_S - 1).released == ()
    assert scale_in(fleet, policy, 0, 100.0 + TEN_MINUTES_S, 100.0 + TEN_MINUTES_S).released == (2, 1)
    assert scale_in(fleet, policy, 2, 100.0 + TEN_MINUTES_S, 100.0 + TEN_MINUTES_S).released == (2,)
    assert scale_in(fleet, policy, 3, 100.0 + TEN_MINUTES_S, 100.0 + TEN_MINUTES_S).released == ()
    assert quiet_until_s(fleet, IDLE_RELEASE, 0, 100.0) == 100.0 + TEN_MINUTES_S
    assert quiet_until_s(fleet, policy, 3, 0.0) == float("inf")


def test_the_instance_with_least_on_it_is_emptied_after_the_cooldown() -> None:
    fleet = [instance(0, copy("a", 0, 5)), instance(1, copy("b", 0, 3)), instance(2, copy("c", 0, 7))]
    assert scale_in(fleet, CONSOLIDATION, 0, 299.0, 0.0).moves == ()
    plan = scale_in(fleet, CONSOLIDATION, 0, 300.0, 0.0)
    assert [(move.copy.component, move.source, move.to) for move in plan.moves] == [("b", 1, 0)]
    assert scale_in(fleet, CONSOLIDATION, 3, 300.0, 0.0).moves == ()
    assert scale_in(fleet, IDLE_RELEASE, 0, 300.0, 0.0).moves == ()
    assert quiet_until_s(fleet, CONSOLIDATION, 0, 50.0) == 350.0
    assert quiet_until_s(fleet, IDLE_RELEASE, 0, 50.0) == float("inf")


@pytest.mark.parametrize(
    ("copies", "source"),
    [
        (((2,), (2,), (2,)), 2),  # of equals the last one
        (((2,), (1, 1), (4,)), 0),  # it has fewer copies
        (((2, 2), (3,), (4,)), 1),  # it is less full
        (((2,), (), (4,)), 0),  # it is empty once they have moved, as the other is now
    ],
)
def test_the_one_that_is_emptied_first_has_least_to_move(copies: tuple[tuple[int, ...], ...], source: int) -> None:
    fleet = [
        instance(at, *(copy(f"c{at}-{number}", 0, memory) for number, memory in enumerate(held)))
        for at, held in enumerate(copies)
    ]
    plan = scale_in(fleet, replace(CONSOLIDATION, step_max=1), 0, 300.0, 0.0)
    assert {move.source for move in plan.moves} == {source}
    assert len(plan.moves) == len(copies[source])


def test_an_instance_whose_copies_have_no_room_elsewhere_holds_up_no_other() -> None:
    bound = replace(copy("a", 0, 1), instance_type="a")
    fleet = [replace(instance(0, bound), instance_type="a"), instance(1, copy("b", 0)), instance(2, copy("c", 0, 3))]
    moves = scale_in(fleet, CONSOLIDATION, 0, 300.0, 0.0).moves
    assert moves == (CopyMove(copy("b", 0).name, 1, 2),)


def test_what_moves_takes_its_room_at_once() -> None:
    fleet = [instance(number, copy(f"c{number}", 0, 4)) for number in range(3)]
    moves = scale_in(fleet, replace(CONSOLIDATION, step_max=9), 0, 300.0, 0.0).moves
    assert moves == (CopyMove(copy("c2", 0).name, 2, 0),)


def test_of_instances_that_are_too_many_the_empty_ones_leave_first_from_the_last_one_on() -> None:
    fleet = [instance(0), instance(1, copy("b", 0, 3)), instance(2, copy("c", 0, 2)), instance(3)]
    assert shrink(fleet, 1) == ScaleInPlan(released=(3,))
    assert shrink(fleet, 3) == ScaleInPlan(released=(3, 0), moves=(CopyMove(copy("c", 0).name, 2, 1),))


def test_an_instance_that_got_copies_keeps_them() -> None:
    fleet = [instance(0, copy("a", 0, 1)), instance(1, copy("b", 0, 2)), instance(2, copy("c", 0, 7))]
    moves = scale_in(fleet, replace(CONSOLIDATION, step_max=9), 0, 300.0, 0.0).moves
    assert [(move.copy.component, move.source, move.to) for move in moves] == [("a", 0, 2)]


def test_an_instance_whose_copies_do_not_all_fit_elsewhere_keeps_them_all() -> None:
    fleet = [instance(0, copy("a", 0, 2), copy("b", 0, 4)), instance(1, copy("c", 0, 5)), instance(2)]
    assert scale_in(fleet, CONSOLIDATION, 0, 300.0, 0.0).moves == ()


@pytest.mark.parametrize(("step", "emptied"), [(1, 1), (2, 2), (9, 3)])
def test_no_more_instances_are_emptied_at_a_time_than_the_policy_says(step: int, emptied: int) -> None:
    fleet = [instance(number, copy(f"c{number}", 0, 2)) for number in range(4)]
    plan = scale_in(fleet, replace(CONSOLIDATION, step_max=step), 0, 300.0, 0.0)
    assert len({move.source for move in plan.moves}) == emptied


def test_what_is_empty_already_counts_as_given_back() -> None:
    fleet = [instance(0, copy("a", 0)), instance(1, copy("b", 0)), empty(2, 299.0)]
    assert scale_in(fleet, CONSOLIDATION, 2, 300.0, 0.0).moves == ()
    assert len(scale_in(fleet, CONSOLIDATION, 1, 300.0, 0.0).moves) == 1


@settings(max_examples=tries(60))
@given(fleets(5), st.integers(1, 4), st.integers(0, 3))
def test_consolidation_loses_no_copy_and_fills_no_instance_too_far(
    fleet: list[PackedInstance], step: int, least: int
) -> None:
    plan = scale_in(fleet, replace(CONSOLIDATION, step_max=step), least, 1000.0, 0.0)
    sources = {move.source for move in plan.moves}
    moved = after(fleet, plan.moves)
    assert sorted(one.name for each in moved for one in each.copies) == sorted(
        one.name for each in fleet for one in each.copies
    )
    assert all(total(one.needs for one in each.copies).fits(each.size) for each in moved)
    assert sources.isdisjoint(move.to for move in plan.moves)
    assert len(sources) <= step
    assert all(not each.copies for each in moved if each.number in sources)
    assert not sources or sum(bool(each.copies) for each in moved) >= least


@given(fleets(5))
def test_what_was_consolidated_is_consolidated_no_further_without_a_change(fleet: list[PackedInstance]) -> None:
    policy = replace(CONSOLIDATION, step_max=100)
    for _ in range(len(fleet) + 1):
        moves = scale_in(fleet, policy, 0, 1000.0, 0.0).moves
        fleet = after(fleet, moves)
    assert scale_in(fleet, policy, 0, 1000.0, 0.0).moves == ()


@given(fleets(5), st.integers(-1, 5))
def test_instances_that_are_too_many_leave_empty_and_no_copy_is_lost(fleet: list[PackedInstance], surplus: int) -> None:
    plan = shrink(fleet, surplus)
    sources = {move.source for move in plan.moves}
    assert all(not one.copies for one in fleet if one.number in plan.released)
    assert len(plan.released) + len(sources) <= max(0, surplus)
    assert len(plan.released) == min(max(0, surplus), sum(not one.copies for one in fleet))
    moved = [one for one in after(fleet, plan.moves) if one.number not in plan.released]
    assert sum(len(one.copies) for one in moved) == sum(len(one.copies) for one in fleet)
    assert all(total(one.needs for one in each.copies).fits(each.size) for each in moved)
    assert {move.to for move in plan.moves}.isdisjoint({*sources, *plan.released})
