"""Memory shares: a container may take what others do not use, and gets its equal share back when it needs it."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.memory_shares import (
    MIB,
    MOVE_MIN_BYTES,
    ContainerMemory,
    MemoryPlan,
    fair_budgets,
    first_budgets,
    raised_budgets,
    replacement_budget,
    water_fill,
)

MEMORY = 8192 * MIB


def of(budget_mib: int, used_mib: int, lacked_room: bool = False, fixed: bool = False) -> ContainerMemory:
    return ContainerMemory(budget_mib * MIB, used_mib * MIB, lacked_room, fixed)


@st.composite
def instances(draw: st.DrawFn) -> list[ContainerMemory]:
    """The containers of one instance, within its memory; their use may be beyond their budgets."""
    cuts = draw(st.lists(st.integers(0, MEMORY), min_size=1, max_size=6).map(sorted))
    budgets = [high - low for low, high in zip([0, *cuts], cuts, strict=False)]
    return [
        ContainerMemory(budget, draw(st.integers(0, 2 * budget)), draw(st.booleans()), draw(st.booleans()))
        for budget in budgets
    ]


def after(containers: Sequence[ContainerMemory]) -> list[ContainerMemory]:
    """The same containers with their fair budgets, and the same needs."""
    new = fair_budgets(MEMORY, containers)
    return [replace(one, budget_bytes=budget) for one, budget in zip(containers, new, strict=True)]


# -- examples ----------------------------------------------------------------------------------------------------------
def test_a_container_that_lacks_room_takes_what_the_others_do_not_use() -> None:
    assert fair_budgets(1000 * MIB, [of(500, 80), of(500, 300, lacked_room=True)]) == (208 * MIB, 792 * MIB)


def test_a_container_that_needs_its_share_gets_it_back() -> None:
    back = [of(208, 80, lacked_room=True), of(792, 780)]
    assert fair_budgets(1000 * MIB, back) == (500 * MIB, 500 * MIB)


def test_two_that_lack_room_share_what_the_third_leaves() -> None:
    three = [of(300, 68), of(300, 290, lacked_room=True), of(300, 290)]
    assert fair_budgets(900 * MIB, three) == (196 * MIB, 352 * MIB, 352 * MIB)


def test_a_container_with_a_value_of_its_own_keeps_it() -> None:
    assert first_budgets(1000 * MIB, [None, 400 * MIB, None]) == (300 * MIB, 400 * MIB, 300 * MIB)
    three = [of(300, 10), of(400, 400, fixed=True), of(300, 290)]
    assert fair_budgets(1000 * MIB, three) == (138 * MIB, 400 * MIB, 462 * MIB)


@pytest.mark.parametrize("own_mib", [[600, 401], [1000, None], [999.5, None]])
def test_own_values_that_leave_nothing_are_refused(own_mib: list[float | None]) -> None:
    with pytest.raises(ValueError, match="the instance has 1000 MiB for all containers"):
        first_budgets(1000 * MIB, [None if mib is None else int(mib * MIB) for mib in own_mib])


def test_memory_that_is_still_in_use_is_not_given_out() -> None:
    fair = 500 * MIB, 500 * MIB
    assert raised_budgets(1000 * MIB, [of(112, 100), of(500, 800)], fair) == (200 * MIB, 500 * MIB)
    assert raised_budgets(1000 * MIB, [of(112, 100), of(500, 950)], fair) == (112 * MIB, 500 * MIB)


def test_a_container_that_starts_again_gets_its_share_or_what_is_free() -> None:
    assert replacement_budget(1000 * MIB, [of(300, 200)], 500 * MIB) == 500 * MIB
    assert replacement_budget(1000 * MIB, [of(700, 750)], 500 * MIB) == 250 * MIB
    assert replacement_budget(1000 * MIB, [of(700, 1200)], 500 * MIB) == MIB


def test_head_room_is_a_quarter_of_what_is_used_in_whole_bytes_and_at_least_as_much_as_a_large_request_may_need() -> (
    None
):
    assert [one.head_bytes for one in (of(0, 0), of(0, 512), of(0, 800))] == [128 * MIB, 128 * MIB, 200 * MIB]
    assert str(ContainerMemory(0, 800 * MIB + 3).head_bytes) == str(200 * MIB)
    assert (MIB, MOVE_MIN_BYTES) == (2**20, 2**24)


def test_a_container_presses_once_it_has_less_than_a_quarter_of_its_head_room() -> None:
    assert not ContainerMemory(MIB, 0, fixed=True, lacked_room=True).presses
    assert not of(432, 400).presses
    assert ContainerMemory(432 * MIB - 1, 400 * MIB).presses
    odd = 4 * (128 * MIB + 1)
    assert not ContainerMemory(odd + 32 * MIB, odd).presses
    assert of(432, 400, lacked_room=True).presses
    plain = ContainerMemory(432 * MIB, 400 * MIB)
    assert (plain.lacked_room, plain.fixed) == (False, False)


def test_a_plan_says_whose_budgets_are_their_owners() -> None:
    assert MemoryPlan.of(1000 * MIB, [None, 400 * MIB]) == MemoryPlan(1000 * MIB, (600 * MIB, 400 * MIB), (False, True))


def test_first_budgets_are_whole_mebibytes_down_to_one_each() -> None:
    assert first_budgets(10 * MIB, [None] * 3) == (3 * MIB,) * 3
    assert str(first_budgets(10 * MIB + 5, [None] * 3)) == str((3 * MIB,) * 3)
    assert first_budgets(10 * MIB, [7 * MIB, None, None, None]) == (7 * MIB, MIB, MIB, MIB)
    with pytest.raises(ValueError, match=r"are 7.5 MiB together, and .* 10 MiB .* also for those without a value$"):
        first_budgets(10 * MIB, [int(7.5 * MIB), None, None, None])
    with pytest.raises(ValueError, match=r"are 11 MiB together, and .* 10 MiB for all containers$"):
        first_budgets(10 * MIB, [11 * MIB])


def test_budgets_move_for_a_gain_of_16_mib_and_not_for_less() -> None:
    """The other one keeps what it uses and its head room: 228 MiB."""
    for gain, moves in ((16 * MIB, True), (16 * MIB - 1, False)):
        had = 1000 * MIB - 228 * MIB - gain
        two = [ContainerMemory(228 * MIB + gain, 100 * MIB), ContainerMemory(had, had, lacked_room=True)]
        assert (fair_budgets(1000 * MIB, two) == (228 * MIB, had + gain)) is moves
        assert fair_budgets(1000 * MIB, two)[0] == 228 * MIB + (0 if moves else gain)


def test_one_byte_that_is_free_is_given_out() -> None:
    fair = 500 * MIB, 500 * MIB
    free = ContainerMemory(500 * MIB - 1, 0), ContainerMemory(500 * MIB, 0)
    assert raised_budgets(1000 * MIB, free, fair) == fair


def test_where_nothing_is_free_no_budget_is_raised_even_to_what_is_used() -> None:
    assert raised_budgets(1000 * MIB, [of(100, 150), of(850, 0)], (500 * MIB, 500 * MIB)) == (100 * MIB, 850 * MIB)


def test_the_first_ones_get_what_a_division_leaves_over() -> None:
    assert water_fill(10, [inf, inf, inf]) == (4, 3, 3)
    assert water_fill(11, [inf, 1, inf, inf]) == (4, 1, 3, 3)


# -- properties --------------------------------------------------------------------------------------------------------
@given(instances())
def test_budgets_never_exceed_the_memory_and_fixed_ones_do_not_move(containers: list[ContainerMemory]) -> None:
    new = fair_budgets(MEMORY, containers)
    assert sum(new) <= MEMORY
    assert all(one.budget_bytes == budget for one, budget in zip(containers, new, strict=True) if one.fixed)


@given(instances())
def test_each_container_that_presses_has_its_equal_share(containers: list[ContainerMemory]) -> None:
    shared = MEMORY - sum(one.budget_bytes for one in containers if one.fixed)
    sharing = [one for one in containers if not one.fixed]
    for one, budget in zip(containers, fair_budgets(MEMORY, containers), strict=True):
        if one.presses:
            assert budget > shared // len(sharing) - MOVE_MIN_BYTES


@given(instances())
def test_no_container_starves(containers: list[ContainerMemory]) -> None:
    """One that does not press keeps what it uses and room to grow, up to its equal share."""
    shared = MEMORY - sum(one.budget_bytes for one in containers if one.fixed)
    sharing = [one for one in containers if not one.fixed]
    for one, budget in zip(containers, fair_budgets(MEMORY, containers), strict=True):
        if not one.fixed:
            assert budget >= min(one.used_bytes + one.head_bytes, shared // len(sharing), one.budget_bytes)


@given(instances())
def test_nothing_moves_where_no_container_presses(containers: list[ContainerMemory]) -> None:
    quiet = [
        replace(one, used_bytes=min(one.used_bytes, one.budget_bytes // 2), lacked_room=False) for one in containers
    ]
    quiet = [one for one in quiet if not one.presses]
    assert fair_budgets(MEMORY, quiet) == tuple(one.budget_bytes for one in quiet)


@given(instances())
def test_constant_needs_come_to_rest(containers: list[ContainerMemory]) -> None:
    """A container that has got room may press no more, so what the others may take changes once more."""
    for _ in containers:
        containers = after(containers)
    assert after(containers) == containers


@given(instances())
def test_raised_budgets_hold_only_what_is_free(containers: list[ContainerMemory]) -> None:
    fair = fair_budgets(MEMORY, containers)
    lowered = [replace(one, budget_bytes=min(one.budget_bytes, new)) for one, new in zip(containers, fair, strict=True)]
    raised = raised_budgets(MEMORY, lowered, fair)
    assert sum(raised) <= MEMORY
    grew = [(new, one) for new, one in zip(raised, lowered, strict=True) if new > one.held_bytes]
    if grew:
        assert sum(max(new, one.used_bytes) for new, one in zip(raised, lowered, strict=True)) <= MEMORY
    assert all(
        one.budget_bytes <= new <= max(one.budget_bytes, top)
        for one, new, top in zip(lowered, raised, fair, strict=True)
    )


@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**6), min_size=1, max_size=6))
def test_parts_are_max_min_fair(amount: int, demands: list[int]) -> None:
    parts = water_fill(amount, demands)
    assert all(isinstance(part, int) for part in parts)
    assert sum(parts) == min(amount, sum(demands))
    assert all(part <= demand for part, demand in zip(parts, demands, strict=True))
    unmet = [part for part, demand in zip(parts, demands, strict=True) if part < demand]
    assert all(max(parts) <= part + 1 for part in unmet)
