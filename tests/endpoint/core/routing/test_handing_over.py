"""Handing over: a model stays with its former owner until the new one has it, and goes to the owner from then on."""

from dataclasses import dataclass, field
from gc import collect
from weakref import ref

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.placement import BUSY_MIN, Placement
from torpor_endpoint.core.routing.handing_over import (
    AT_ONCE,
    FORGETS_EVERY,
    HANDOVERS_MAX,
    DueLoads,
    Handover,
    Handovers,
)
from torpor_endpoint.core.routing.ready_slots import FleetLoad, PlacedInstance

MODELS = [f"m{number}" for number in range(12)]
steps = st.lists(
    st.tuples(st.just("offer") | st.just("withdraw"), st.integers(0, 6))
    | st.tuples(st.sampled_from(["pick", "pick", "arrived", "missed"]), st.sampled_from(MODELS)),
    max_size=60,
)


@dataclass(eq=False)
class One(PlacedInstance):
    slot: int
    in_flight: int = 0
    fleet: FleetLoad = field(default_factory=FleetLoad)


class Fleet(Placement[One]):
    """`begun` has the handovers that began."""

    def __init__(self, *slots: int, owners_max: int = 1_000) -> None:
        self.begun: list[tuple[str, int, int]] = []
        super().__init__(hands_over=self._begin, owners_max=owners_max)
        for slot in slots:
            self.offer(slot, One(slot))

    def _begin(self, model: str, handover: Handover[One]) -> None:
        self.begun.append((model, handover.former.slot, handover.newcomer.slot))


def plain(*slots: int) -> Placement[One]:
    """A fleet that hands nothing over."""
    ready = Placement[One](owners_max=10 * HANDOVERS_MAX)
    for slot in slots:
        ready.offer(slot, One(slot))
    return ready


def owner(model: str, *slots: int) -> int:
    """Who owns the model where nothing is handed over."""
    return plain(*slots).pick(model).slot


def slots_of(ready: Placement[One]) -> list[int]:
    return [one.slot for one in ready]


def moved(ready: Fleet, slot: int) -> str:
    """A model that was called and whose owner will be this slot."""
    model = next(name for name in map(str, range(1_000)) if owner(name, *slots_of(ready), slot) == slot)
    ready.pick(model)
    return model


@given(steps, st.integers(1, 20))
def test_a_call_goes_to_the_owner_or_to_the_one_that_served_the_model_last(
    done: list[tuple[str, int | str]], owners_max: int
) -> None:
    ready = Fleet(9, owners_max=owners_max)
    served: dict[str, int] = {}
    for what, which in done:
        if isinstance(which, int):
            ready.offer(which, One(which)) if what == "offer" else ready.withdraw(which)
        elif what == "pick":
            slot, handover = ready.pick(which).slot, ready.moving.get(which)
            if handover is None:
                assert slot == owner(which, *slots_of(ready))
            else:
                assert slot == handover.former.slot == served[which]
                assert handover.newcomer.slot == owner(which, *slots_of(ready)) != slot
                assert ready.get(slot) is handover.former
            served[which] = slot
        elif (handover := ready.moving.get(which)) is not None:
            begun = len(ready.begun)
            (ready.arrived if what == "arrived" else ready.missed)(which, handover.newcomer)
            assert which not in ready.moving
            assert ready.pick(which) is (handover.newcomer if what == "arrived" else handover.former)
            assert len(ready.begun) == begun + (what == "missed")
            served[which] = ready.pick(which).slot


@given(steps)
def test_without_handing_over_every_call_goes_to_the_owner(done: list[tuple[str, int | str]]) -> None:
    ready = plain(9)
    for what, which in done:
        if isinstance(which, int):
            ready.offer(which, One(which)) if what == "offer" else ready.withdraw(which)
        elif what == "pick":
            assert ready.pick(which).slot == owner(which, *slots_of(ready))
            assert not ready.moving


def test_a_handover_begins_once_and_ends_when_the_newcomer_has_the_model() -> None:
    ready = Fleet(0, 2)
    model = next(name for name in map(str, range(1_000)) if [owner(name, 0, 2), owner(name, 0, 1, 2)] == [0, 1])
    ready.pick(model)
    newcomer = One(1)
    ready.offer(1, newcomer)
    assert [ready.pick(model).slot for _ in range(3)] == [0, 0, 0]
    assert ready.begun == [(model, 0, 1)]
    ready.withdraw(2)  # another change begins no second load
    assert ready.pick(model).slot == 0
    assert ready.begun == [(model, 0, 1)]
    ready.arrived(model, newcomer)
    assert ready.pick(model).slot == owner(model, 0, 1) == 1


def test_a_newcomer_that_ends_gives_the_model_back() -> None:
    ready = Fleet(0)
    model = moved(ready, 1)
    newcomer = One(1)
    ready.offer(1, newcomer)
    ready.pick(model)
    ready.withdraw(1)
    assert ready.pick(model).slot == 0
    ready.arrived(model, newcomer)  # the load's end comes late
    assert ready.pick(model).slot == 0


def test_the_end_of_an_earlier_newcomers_load_moves_nothing() -> None:
    ready = Fleet(0)
    model = moved(ready, 1)
    earlier, later = One(1), One(1)
    ready.offer(1, earlier)
    ready.pick(model)
    ready.offer(1, later)
    assert ready.pick(model).slot == 0
    for late in (ready.arrived, ready.missed):
        late(model, earlier)
        assert ready.moving[model].newcomer is later
    ready.arrived(model, later)
    assert ready.pick(model) is later


def test_a_model_that_the_newcomer_could_not_load_stays_and_its_next_call_tries_again() -> None:
    ready = Fleet(0)
    model = moved(ready, 1)
    newcomer = One(1)
    ready.offer(1, newcomer)
    ready.pick(model)
    ready.missed(model, newcomer)
    assert (model in ready.moving, len(ready.begun)) == (False, 1)
    assert [ready.pick(model).slot for _ in range(2)] == [0, 0]
    assert ready.begun == [(model, 0, 1)] * 2


def test_a_former_owner_that_leaves_serves_no_more() -> None:
    ready = Fleet(0)
    model = moved(ready, 1)
    ready.offer(1, One(1))
    ready.pick(model)
    ready.withdraw(0)
    assert ready.pick(model).slot == 1
    assert not ready.moving


def test_an_instance_that_comes_back_gets_a_model_from_the_one_that_stood_in() -> None:
    ready = Fleet(0)
    model = moved(ready, 1)
    ready.offer(1, One(1))
    ready.arrived(model, next(one for one in ready if one.slot == 1))
    ready.pick(model)
    ready.withdraw(1)
    assert ready.pick(model).slot == 0  # where the call loads it
    ready.offer(1, One(1))
    assert ready.pick(model).slot == 0
    assert ready.begun[-1] == (model, 0, 1)


def test_a_busy_former_owner_keeps_the_model_as_long_as_it_may_have_requests() -> None:
    ready = Fleet(0)
    model = moved(ready, 1)
    newcomer = One(1)
    ready.offer(1, newcomer)
    former = ready.pick(model)
    for _ in range(4 * BUSY_MIN):
        former.took()
    assert ready.pick(model) is former
    ready.most = 4 * BUSY_MIN
    assert ready.pick(model) is newcomer
    assert model in ready.moving


def test_the_models_under_way_are_bounded() -> None:
    ready, alone = Fleet(0, owners_max=10 * HANDOVERS_MAX), plain(0, 1)
    names = [str(number) for number in range(4 * HANDOVERS_MAX)]
    for name in names:
        ready.pick(name)
    ready.offer(1, One(1))
    slots = [ready.pick(name).slot for name in names]
    assert len(ready.moving) == len(ready.begun) == HANDOVERS_MAX
    assert slots.count(1) == [alone.pick(name).slot for name in names].count(1) - HANDOVERS_MAX


def test_instances_that_are_gone_are_forgotten_after_some_changes() -> None:
    ready = Fleet(0)
    model = moved(ready, 1)
    gone = One(1)
    held = ref(gone)
    ready.offer(1, gone)
    ready.arrived(model, gone)
    ready.pick(model)
    ready.withdraw(1)
    del gone
    for _ in range(FORGETS_EVERY):
        ready.offer(2, One(2))
    collect()
    assert held() is None


# -- a process that joins instances that ran already -----------------------------------------------------------------
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=5, unique=True),
    st.lists(st.tuples(st.integers(0, 6), st.sets(st.sampled_from(MODELS))), max_size=6),
    st.integers(0, 6),
)
def test_a_call_goes_to_an_instance_that_was_found_to_have_the_model_if_there_is_one(
    slots: list[int], found: list[tuple[int, set[str]]], later: int
) -> None:
    ready, have = Fleet(), {slot: set[str]() for slot in slots}
    for slot, models in found:
        if slot in have:
            have[slot] |= models
    for slot in slots:
        one = One(slot)
        ready.found(have[slot], one)
        ready.offer(slot, one)
    if later not in have:
        ready.offer(later, One(later))
    for model in MODELS:
        holders, mine = [slot for slot in slots if model in have[slot]], owner(model, *slots_of(ready))
        assert ready.pick(model).slot == (mine if mine in holders or not holders else holders[0])
        assert (model in ready.moving) == (mine not in holders and bool(holders))
        if (handover := ready.moving.get(model)) is not None:
            ready.arrived(model, handover.newcomer)
        assert ready.pick(model).slot == mine


def test_what_was_found_says_nothing_of_a_model_that_was_called_here() -> None:
    ready = Fleet(0)
    model = moved(ready, 1)
    late = One(2)
    ready.found([model], late)
    ready.offer(2, late)
    ready.offer(1, One(1))
    assert ready.pick(model).slot == 0


def test_an_instance_that_was_found_to_have_a_model_serves_it_where_the_known_owner_has_left() -> None:
    ready = Fleet(0, 1)
    model = next(name for name in map(str, range(1_000)) if owner(name, 0, 1) == 0 and owner(name, 1, 2) == 1)
    found = One(2)
    ready.found([model], found)
    ready.offer(2, found)
    ready.withdraw(0)
    assert ready.pick(model).slot == (2 if owner(model, 0, 1, 2) != 2 else 1)


def test_what_is_found_is_remembered_up_to_a_bound_and_as_long_as_its_holder_is_there() -> None:
    here, gone, holder = One(1), One(2), One(3)
    handovers = Handovers[One](3, lambda model, handover: None)
    handovers.found("abcde", holder)
    assert [handovers.server(model, here, lambda one: True) for model in "abcde"] == [
        holder,
        holder,
        holder,
        here,
        here,
    ]
    held = ref(gone)
    handovers.found("xy", gone)
    handovers.found("y", holder)
    del gone
    for _ in range(FORGETS_EVERY):
        handovers.changed({}, lambda one: one is holder)
    collect()
    assert held() is None
    assert [handovers.server(model, here, lambda one: True) for model in "xy"] == [here, holder]


# -- one variant's handovers by themselves ---------------------------------------------------------------------------
def never(model: str, handover: Handover[One]) -> None:
    raise AssertionError("none begins here")


def test_owners_are_remembered_up_to_a_bound_and_then_the_last_ones_alone() -> None:
    earlier, later, here = One(1), One(2), One(3)
    handovers = Handovers[One](3, lambda model, handover: None)
    handovers.changed({"a": earlier, "b": earlier, "c": earlier}, lambda one: True)
    handovers.changed({}, lambda one: True)
    assert handovers.server("a", here, lambda one: True) is earlier
    handovers.changed({"d": later, "e": later}, lambda one: True)
    assert [handovers.server(model, here, lambda one: True) for model in "bcde"] == [here, here, later, later]


def test_those_that_are_gone_are_forgotten_with_one_change_of_many_and_the_others_stay() -> None:
    stays, gone, here = One(1), One(2), One(3)
    held = ref(gone)
    handovers = Handovers[One](10, lambda model, handover: None)
    handovers.changed({"a": stays, "b": gone}, lambda one: True)
    del gone
    for _ in range(FORGETS_EVERY - 2):
        handovers.changed({}, lambda one: one is stays)
    collect()
    assert held() is not None
    handovers.changed({}, lambda one: one is stays)
    collect()
    assert held() is None
    assert handovers.server("a", here, lambda one: True) is stays


def test_a_model_whose_owner_is_its_former_one_again_is_under_way_no_more() -> None:
    former, newcomer = One(1), One(2)
    handovers = Handovers[One](10, lambda model, handover: None)
    handovers.changed({"a": former}, lambda one: True)
    assert handovers.server("a", newcomer, lambda one: True) is former
    assert "a" in handovers.under_way
    assert handovers.server("a", former, lambda one: True) is former
    assert not handovers.under_way


def test_a_model_that_is_not_under_way_neither_settles_nor_begins_anew() -> None:
    handovers, newcomer = Handovers[One](10, never), One(1)
    assert not handovers.settle("a", newcomer)
    assert not handovers.begin_anew("a", newcomer)
    assert handovers.server("a", newcomer, lambda one: True) is newcomer


# -- which load is next ------------------------------------------------------------------------------------------------
def under_way(newcomer: One, *models: str) -> dict[str, Handover[One]]:
    return {model: Handover(One(9), newcomer) for model in models}


def test_a_newcomer_loads_a_few_models_at_a_time_in_the_order_of_their_calls() -> None:
    one, other = One(1), One(2)
    moving = under_way(one, *MODELS) | under_way(other, "else")
    due = DueLoads[One](lambda model, handover: moving.get(model) is handover)
    for model, handover in moving.items():
        due.add(model, handover)
    begun = [due.next(one) for _ in range(AT_ONCE + 1)]
    assert begun == [(model, moving[model]) for model in MODELS[:AT_ONCE]] + [None]
    assert due.next(other) == ("else", moving["else"])
    due.ended(one)
    assert due.next(one) == (MODELS[AT_ONCE], moving[MODELS[AT_ONCE]])
    assert due.next(one) is None


def test_a_handover_that_is_over_or_begun_anew_is_not_loaded_for() -> None:
    one = One(1)
    moving = under_way(one, "over", "anew", "stays")
    due = DueLoads[One](lambda model, handover: moving.get(model) is handover)
    for model, handover in moving.items():
        due.add(model, handover)
    del moving["over"]
    moving["anew"] = Handover(One(8), one)
    assert due.next(one) == ("stays", moving["stays"])
    due.ended(one)
    assert due.next(one) is None


def test_a_newcomer_is_forgotten_with_its_last_load() -> None:
    one = One(1)
    held, moving = ref(one), under_way(one, "a")
    due = DueLoads[One](lambda model, handover: moving.get(model) is handover)
    due.add("a", moving["a"])
    assert due.next(one) is not None
    assert due.next(one) is None
    due.ended(one)
    moving.clear()
    del one
    collect()
    assert held() is None
