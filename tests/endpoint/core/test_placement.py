"""Placement: a model stays with its owner, a busy model gets a second, and a slot's end moves only its own models."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from gc import collect
from math import ceil, sqrt
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from tests.helpers.thorough_values import thorough
from torpor_endpoint.core.placement import BUSY_MIN, SHARE, Placement
from torpor_endpoint.core.routing.ready_slots import (
    LEVELS,
    WALK_MAX,
    WALKS_MAX,
    FleetLoad,
    PlacedInstance,
    ReadySlots,
    SlotOrder,
)

SLOTS = (0, 1, 2, 3)
models = st.text(min_size=1, max_size=30) | st.binary(min_size=1, max_size=30).map(
    lambda name: name.decode(errors="surrogateescape")
)
"""Also those that are no text: they come as they were sent."""
some_slots = st.sets(st.integers(0, 40), min_size=1, max_size=8)


@dataclass(eq=False)
class One(PlacedInstance):
    slot: int
    in_flight: int = 0
    fleet: FleetLoad = field(default_factory=FleetLoad)


def placement(in_flight: Mapping[int, int]) -> Placement[One]:
    ready: Placement[One] = Placement()
    for slot, requests in in_flight.items():
        ready.offer(slot, One(slot, requests))
    return ready


def idle(slots: Iterable[int] = SLOTS) -> Placement[One]:
    return placement(dict.fromkeys(slots, 0))


def pick(model: str, ready: Placement[One]) -> int:
    return ready.pick(model).slot


def take(ready: One, requests: int) -> None:
    for _ in range(requests):
        ready.took()


def order(model: str, slots: Collection[int]) -> list[int]:
    """All these slots in the model's order."""
    draws, found = SlotOrder(model, max(slots).bit_length()), dict[int, None]()
    while len(found) < len(slots):
        number = draws.draw()
        if number in slots:
            found.setdefault(number)
    return list(found)


# -- the order ---------------------------------------------------------------------------------------------------------
@given(models, st.permutations(SLOTS))
def test_every_router_picks_the_same_owner(model: str, offered: list[int]) -> None:
    assert pick(model, idle()) == pick(model, idle(offered))


def test_every_machine_has_the_same_order() -> None:
    """The instances of one variant may be chosen by several routers, and a router started anew finds its models."""
    assert order("churn.tar.gz", range(10)) == [3, 9, 8, 6, 4, 2, 7, 1, 0, 5]
    assert order("müller\udcff.tar.gz", range(10)) == [3, 1, 6, 5, 0, 4, 7, 8, 2, 9]
    assert [idle(range(1000)).pick(f"model-{number}").slot for number in range(5)] == [334, 885, 314, 832, 219]


@given(models, some_slots, some_slots)
def test_more_slots_enter_the_order_and_move_no_other(model: str, slots: set[int], more: set[int]) -> None:
    all_of_them = order(model, slots | more)
    assert order(model, slots) == [number for number in all_of_them if number in slots]


@given(st.lists(models, min_size=1, max_size=50, unique=True), st.sampled_from(SLOTS))
def test_losing_a_slot_moves_only_the_models_it_owned_and_its_return_brings_them_back(
    names: list[str], lost: int
) -> None:
    ready = idle()
    owners = {name: ready.pick(name) for name in names}
    gone = ready.withdraw(lost)
    assert gone is not None
    assert all(owners[name] in (gone, ready.pick(name)) for name in names)
    assert all(ready.pick(name) is not gone for name in names)
    ready.offer(lost, gone)
    assert owners == {name: ready.pick(name) for name in names}


def test_the_thousandth_slot_takes_a_thousandth_of_the_models() -> None:
    before, after = idle(range(999)), idle(range(1000))
    names = [f"model-{number}" for number in range(5_000)]
    moved = [name for name in names if pick(name, before) != pick(name, after)]
    assert 0 < len(moved) < 5 + 5 * sqrt(5)
    assert {pick(name, after) for name in moved} == {999}


@pytest.mark.parametrize(
    "slots", [range(2), range(3), range(5), range(16), *thorough(range(100)), [0, 7, 30, 31, 33, 900]]
)
@pytest.mark.parametrize("place", [0, 1])
def test_models_spread_evenly(slots: Collection[int], place: int) -> None:
    """Over their owners, and over their second slots: chi-square within five standard deviations of its mean."""
    count = 20 * len(slots)
    found = Counter(order_begins(f"model {number}.tar.gz", slots, place) for number in range(count))
    freedom, expected = len(slots) - 1, count / len(slots)
    chi_square = sum((found[slot] - expected) ** 2 / expected for slot in slots)
    assert chi_square < freedom + 5 * sqrt(2 * freedom)


def order_begins(model: str, slots: Collection[int], place: int) -> int:
    """The model's slot at this place of its order, by the picks of a router whose slots before it are busy."""
    ready = idle(slots)
    for _ in range(place):
        take(ready.pick(model), BUSY_MIN)
    return pick(model, ready)


# -- who is ready ------------------------------------------------------------------------------------------------------
def test_who_remembers_few_owners_picks_the_same_ones() -> None:
    slots = {slot: One(slot) for slot in range(40)}
    few, many = Placement[One](owners_max=2), Placement[One]()
    for slot, one in slots.items():
        few.offer(slot, one)
        many.offer(slot, one)
    names = [f"models/{number % 7}.tar.gz" for number in range(50)]
    assert list(map(few.pick, names)) == list(map(many.pick, names))


class Name(str):
    """A model whose name can be seen to be forgotten."""


def kept(asked: Callable[[str], object], count: int) -> int:
    """How many of so many models are remembered once this was asked for each."""
    names = [Name(f"model {number}") for number in range(count)]
    seen = [ref(name) for name in names]
    while names:
        asked(names.pop())
    collect()
    return sum(one() is not None for one in seen)


def test_no_more_models_are_remembered_than_there_is_room_for() -> None:
    def of_thirty() -> Placement[One]:
        ready = Placement[One](owners_max=30)
        for slot in SLOTS:
            ready.offer(slot, One(slot))
        return ready

    assert [kept(of_thirty().pick, count) for count in (30, 31)] == [30, 1]
    slots = ReadySlots[One]()
    for slot in SLOTS:
        slots.put(slot, One(slot))
    assert 1 < kept(partial(slots.with_room, bound=1), 2 * WALKS_MAX + 100) <= WALKS_MAX


def test_a_withdrawn_instance_is_no_longer_ready() -> None:
    ready = idle([0, 1])
    (first, second) = ready
    assert ready.get(0) is first
    assert ready.withdraw(0) is first
    assert ready.withdraw(0) is None
    assert ready.get(0) is None
    assert list(ready) == [second]
    assert len(ready) == 1


def test_the_last_instance_gets_every_model_whatever_its_number() -> None:
    ready = idle([2**LEVELS - 1])
    assert {pick(f"model-{number}", ready) for number in range(20)} == {2**LEVELS - 1}


@pytest.mark.parametrize("number", [-1, 2**LEVELS])
def test_a_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"slot number {number} is not from 0 to 65535"):
        idle().offer(number, One(number))


def test_nothing_is_ready_at_first() -> None:
    ready = Placement[One]()
    assert (len(ready), list(ready), ready.get(0), ready.withdraw(0), ready.in_flight) == (0, [], None, None, 0)


@given(models, some_slots, st.integers(1, 10))
def test_the_first_instances_of_a_model_are_those_at_the_beginning_of_its_order(
    model: str, slots: set[int], count: int
) -> None:
    found = [one.slot for one in idle(slots).first(model, count)]
    first = order(model, slots)[:count]
    assert found == first if count < len(slots) else sorted(found) == sorted(slots)


# -- load --------------------------------------------------------------------------------------------------------------
def test_a_hot_model_gets_a_second_copy_and_only_then() -> None:
    owner, second, *_ = order("hot", SLOTS)
    ready = idle()
    busy = ready.pick("hot")
    take(busy, BUSY_MIN - 1)
    assert pick("hot", ready) == owner
    busy.took()
    assert pick("hot", ready) == second
    busy.answered()
    assert pick("hot", ready) == owner


@pytest.mark.parametrize("most", [1, BUSY_MIN - 1, BUSY_MIN, BUSY_MIN + 1])
def test_an_owner_that_has_as_many_requests_as_it_may_have_gets_no_more(most: int) -> None:
    owner, second, *_ = order("hot", SLOTS)
    ready = idle()
    ready.most = most
    busy = ready.pick("hot")
    take(busy, min(most, BUSY_MIN) - 1)
    assert pick("hot", ready) == owner
    busy.took()
    assert pick("hot", ready) == second


@given(models, st.lists(st.integers(0, 50), min_size=4, max_size=4))
def test_no_instance_is_loaded_far_beyond_its_share(model: str, load: list[int]) -> None:
    in_flight = dict(zip(SLOTS, load, strict=True))
    chosen = pick(model, placement(in_flight))
    assert in_flight[chosen] < max(BUSY_MIN, 1.25 * (sum(load) + 1) / 4 + 1)


@given(models, st.lists(st.integers(0, 12), min_size=4, max_size=4), st.integers(1, 12))
def test_no_instance_gets_more_than_it_may_have_while_another_has_room(model: str, load: list[int], most: int) -> None:
    in_flight = dict(zip(SLOTS, load, strict=True))
    ready = placement(in_flight)
    ready.most = most
    chosen = pick(model, ready)
    assert in_flight[chosen] < most or min(load) >= most


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(1, 4))
def test_there_is_room_where_an_instance_has_fewer_requests_than_it_may_have(load: list[int], most: int) -> None:
    ready = placement(dict(enumerate(load)))
    ready.most = most
    assert ready.has_room == (min(load) < most)


def test_an_instance_may_have_any_number_of_requests_where_nothing_bounds_them() -> None:
    assert placement({0: 1_000_000}).has_room
    assert placement({0: 1_000_000, 1: 2_000_000}).bound(3_000_000) == 1_875_001


@pytest.mark.parametrize("count", [1, 2, WALK_MAX, 2 * WALK_MAX])
def test_the_only_instance_with_room_is_found_and_a_missing_one_missed(count: int) -> None:
    slots, only = ReadySlots[One](), One(count // 3)
    for number in range(count):
        slots.put(number, only if number == only.slot else One(number, 1))
    assert [slots.with_room(model, 1) for model in ("first", "second")] == [only, only]
    only.took()
    assert slots.with_room("first", 1) is None
    assert slots.with_room("third", 1) is None


def test_a_model_that_needs_all_of_very_many_instances_has_them_share_its_requests() -> None:
    ready = idle(range(2 * WALK_MAX))
    for _ in range(2 * WALK_MAX * BUSY_MIN):
        ready.pick("hot").took()
    assert all(BUSY_MIN / 2 < one.in_flight <= SHARE * BUSY_MIN for one in ready)


def test_a_router_of_several_takes_its_share_of_the_load_that_is_never_too_much() -> None:
    ready: Placement[One] = Placement(busy_min=2)
    for slot in SLOTS:
        ready.offer(slot, One(slot))
    used = []
    for _ in range(4):
        one = ready.pick("hot")
        one.took()
        used.append(one.slot)
    owner, second, *_ = order("hot", SLOTS)
    assert used == [owner, owner, second, second]


steps = st.tuples(st.sampled_from(["offer", "withdraw", "ask", "answer"]), st.integers(0, 5))


@settings(max_examples=tries(20))
@given(st.lists(steps, max_size=30), st.lists(steps, max_size=30))
def test_it_picks_the_first_in_order_that_is_not_busy_whatever_happened_before(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    """Also when instances that are ready no longer, or not yet, answer what they took."""
    ready, instances = idle([0]), {number: One(number) for number in range(6)}
    for what, number in [*before, ("offer", 1), *after]:
        if what == "offer":
            ready.offer(number, instances[number])
        elif what == "withdraw" and len(ready) > 1:
            ready.withdraw(number)
        elif what == "ask":
            take(instances[number], 5)
        elif what == "answer" and instances[number].in_flight:
            instances[number].answered()
        in_flight = {one.slot: one.in_flight for one in ready}
        assert ready.in_flight == sum(in_flight.values())
        bound = max(BUSY_MIN, ceil(SHARE * (sum(in_flight.values()) + 1) / len(in_flight)))
        for model in ("a", "b"):
            free = [slot for slot in order(model, in_flight.keys()) if in_flight[slot] < bound]
            assert pick(model, ready) == free[0]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_any_instance_serves_one_model(load: list[int]) -> None:
    assert placement(dict(enumerate(load))).least_busy().slot == load.index(min(load))


@given(models, some_slots, st.data())
def test_among_some_instances_it_picks_the_first_of_them_that_is_not_busy(
    model: str, slots: set[int], data: st.DataObject
) -> None:
    ready = placement({slot: data.draw(st.sampled_from([0, 3 * BUSY_MIN])) for slot in slots})
    named = data.draw(st.sets(st.sampled_from(sorted(slots)), min_size=1))
    allowed = {one for one in ready if one.slot in named} | {One(77)}
    bound = max(BUSY_MIN, ceil(SHARE * (sum(one.in_flight for one in ready) + 1) / len(slots)))
    best, own = ready.pick(model), [one for one in ready_in_order(model, ready) if one in allowed]
    with_room = [one for one in own if one.in_flight < bound]
    assert ready.pick_among(model, allowed) is (best if best in allowed else (with_room or own)[0])


def test_among_some_instances_one_at_the_bound_is_too_busy() -> None:
    best, first, second, _ = order("hot", SLOTS)
    ready = placement({**dict.fromkeys(SLOTS, 0), first: BUSY_MIN})
    assert pick("hot", ready) == best
    assert ready.pick_among("hot", {one for one in ready if one.slot in (first, second)}).slot == second


def test_among_instances_that_are_not_ready_it_finds_none() -> None:
    with pytest.raises(ValueError, match="none of the allowed"):
        idle().pick_among("a", {One(1)})


def ready_in_order(model: str, ready: Placement[One]) -> list[One]:
    return [one for slot in order(model, [one.slot for one in ready]) if (one := ready.get(slot)) is not None]
