"""Second copies: a call whose owner is busy waits at a warm copy, and for a load only where that is shorter."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.placement import BUSY_MIN, Placement
from torpor_endpoint.core.routing.handing_over import Handover
from torpor_endpoint.core.routing.ready_slots import FleetLoad, PlacedInstance
from torpor_endpoint.core.routing.second_copies import COPIED_MAX, SecondCopies, is_load_quicker

MODELS = ["a", "b", "c"]
SLOTS = range(4)


@dataclass(eq=False)
class One(PlacedInstance):
    slot: int
    in_flight: int = 0
    fleet: FleetLoad = field(default_factory=FleetLoad)
    has: set[str] = field(default_factory=set)


class Fleet(Placement[One]):
    """`due` has the loads that were begun and are not over. `quick`: a load is always the shorter wait."""

    def __init__(self, *slots: int, quick: bool = False) -> None:
        self.due: list[tuple[str, Handover[One]]] = []
        super().__init__(hands_over=lambda model, one: self.due.append((model, one)), quicker=lambda model, one: quick)
        for slot in slots:
            self.offer(slot, One(slot))

    def call(self, model: str) -> tuple[One, bool]:
        """Who serves the call, and whether it had the model. As a request's machine does it."""
        one = self.pick(model)
        if self.asks(model, one) and model not in one.has:
            self.lacks(model, one)
            one = self.pick(model)
        had = model in one.has
        one.has.add(model)
        one.took()
        return one, had

    def load(self, well: bool) -> None:
        """The first load that was begun is over."""
        model, load = self.due.pop(0)
        if self.awaits(model, load):
            load.newcomer.has |= {model} if well else set()
            (self.arrived if well else self.missed)(model, load.newcomer)


def plain(*slots: int) -> Placement[One]:
    ready = Placement[One]()
    for slot in slots:
        ready.offer(slot, One(slot))
    return ready


def owner(model: str, *slots: int) -> int:
    return plain(*slots).pick(model).slot


def busy(ready: Fleet, model: str = "a", others: int = 0) -> One:
    """The model's owner, which has the model, and as many requests as it may have while each other instance has
    `others`."""
    one, _ = ready.call(model)
    for other in ready:
        while other is not one and other.in_flight < others:
            other.took()
    while one.in_flight < ready.bound(ready.in_flight):
        one.took()
    return one


happenings = st.lists(
    st.tuples(st.sampled_from(["call", "rush"]), st.sampled_from(MODELS), st.just(0))
    | st.tuples(st.sampled_from(["answer", "load", "evict", "fail"]), st.sampled_from(MODELS), st.integers(0, 3)),
    max_size=120,
)


@given(happenings)
def test_no_call_waits_for_a_load_while_its_owner_has_the_model(done: list[tuple[str, str, int]]) -> None:
    ready = Fleet(*SLOTS)
    for what, model, slot in [("call", model, 0) for model in MODELS for _ in range(BUSY_MIN)] + done:
        one = ready.get(slot)
        assert one is not None
        if what == "call":
            home = ready.get(owner(model, *SLOTS))
            assert home is not None
            warm = model in home.has
            assert ready.call(model)[1] >= warm
        elif what == "answer" and one.in_flight:
            one.answered()
        elif what in ("load", "fail") and ready.due:
            ready.load(what == "load")
        elif what == "evict":
            one.has.discard(model)
        elif what == "rush":  # of calls for other models: the whole fleet is busy
            for other in ready:
                for _ in range(BUSY_MIN):
                    other.took()
        under_way = [model for model, load in ready.due if ready.awaits(model, load)]
        assert len(under_way) == len(set(under_way)), "one copy of a model at a time"


@given(happenings)
def test_where_a_load_is_quicker_calls_go_where_they_go_without_second_copies(done: list[tuple[str, str, int]]) -> None:
    ready, alike = Fleet(*SLOTS, quick=True), plain(*SLOTS)
    for what, model, slot in done:
        one, other = ready.get(slot), alike.get(slot)
        assert one is not None
        assert other is not None
        if what == "call":
            expected = alike.pick(model)
            expected.took()
            assert ready.call(model)[0].slot == expected.slot
        elif what == "answer" and one.in_flight:
            one.answered()
            other.answered()
    assert not ready.due


@given(happenings)
def test_one_instance_alone_copies_nothing(done: list[tuple[str, str, int]]) -> None:
    ready = Fleet(7)
    for what, model, _ in done:
        if what == "call":
            assert ready.call(model)[0].slot == 7
    assert (ready.due, ready.copied) == ([], {})


def test_calls_stay_at_the_busy_owner_until_the_copy_is_loaded_and_then_are_shared() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    assert [ready.call("a") for _ in range(3)] == [(home, True)] * 3
    ((model, load),) = ready.due
    assert (model, load.former, load.copies) == ("a", home, True)
    assert load.newcomer.slot == owner("a", *[slot for slot in SLOTS if slot != home.slot])
    ready.load(well=True)
    assert ready.call("a") == (load.newcomer, True)
    for _ in range(home.in_flight):
        home.answered()
    assert ready.call("a")[0] is home


def test_a_third_copy_begins_once_both_are_busy_and_the_less_busy_one_serves_meanwhile() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    ready.call("a")
    ready.load(well=True)
    second = ready.call("a")[0]
    home.took()
    while second.in_flight < BUSY_MIN:
        second.took()
    assert ready.call("a") == (second, True)
    ((_, load),) = ready.due
    assert load.former is second
    assert load.newcomer not in (home, second)


def test_an_instance_that_evicted_its_copy_is_asked_once_and_loads_it_again_behind() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    ready.call("a")
    second = ready.due[0][1].newcomer
    ready.load(well=True)
    second.has.clear()
    assert ready.asks("a", second)
    assert ready.call("a") == (home, True)
    assert [(model, load.newcomer) for model, load in ready.due] == [("a", second)]


def test_a_busy_owner_without_the_model_passes_the_call_on_to_the_copy() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    home.has.clear()
    served, had = ready.call("a")
    assert (served is home, had) == (False, False)
    assert not ready.awaits(*ready.due[0]), "the call loads it"
    assert ready.call("a") == (served, True)


def test_an_owner_that_is_not_busy_gets_its_calls_whatever_is_under_way() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    ready.call("a")
    home.has.clear()
    while home.in_flight >= BUSY_MIN:
        home.answered()
    assert not ready.asks("a", home)
    assert ready.call("a") == (home, False)
    assert ready.awaits(*ready.due[0])


def test_of_a_busy_fleet_an_owner_that_is_not_too_busy_is_not_asked_and_settles_no_copy() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready, others=2 * BUSY_MIN)
    assert ready.bound(ready.in_flight) > 2 * BUSY_MIN
    assert ready.call("a") == (home, True)
    home.has.clear()
    while home.in_flight > BUSY_MIN:
        home.answered()
    assert not ready.asks("a", home)
    assert ready.call("a") == (home, False)
    assert ready.awaits(*ready.due[0]), "nothing but its load makes it a copy"


def test_an_owner_that_must_serve_because_no_instance_has_room_is_not_asked() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    ready.call("a")
    ready.most = home.in_flight
    for one in ready:
        while one.in_flight < ready.most:
            one.took()
    home.has.clear()
    assert not ready.asks("a", home)
    assert ready.call("a") == (home, False)
    assert ready.awaits(*ready.due[0])


def among(ready: Fleet, *slots: int) -> One:
    return ready.pick_among("a", {one for one in ready if one.slot in slots})


def test_among_some_instances_a_copy_begins_at_one_of_them_and_the_warm_one_serves() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    others = [slot for slot in SLOTS if slot != home.slot]
    last = next(
        one
        for one in others
        if owner("a", *(set(others) - {one})) == owner("a", *others) and one != owner("a", *others)
    )
    assert among(ready, home.slot, last) is home
    assert [load.newcomer.slot for _, load in ready.due] == [last]
    ready.load(well=True)
    assert among(ready, home.slot, last).slot == last


def test_among_some_instances_nothing_begins_for_an_owner_that_is_not_one_of_them() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    others = [slot for slot in SLOTS if slot != home.slot]
    assert among(ready, *others).slot == owner("a", *others)
    assert not ready.due


def test_among_some_instances_a_copy_elsewhere_does_not_serve() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    ready.call("a")
    copy = ready.due[0][1].newcomer
    ready.load(well=True)
    others = [slot for slot in SLOTS if slot not in (home.slot, copy.slot)]
    assert among(ready, home.slot, *others) is home
    assert ready.due[0][1].newcomer.slot in others


def test_among_some_instances_no_handover_begins_to_another_one() -> None:
    ready = Fleet(*SLOTS[:-1])
    name = next(str(number) for number in range(1_000) if owner(str(number), *SLOTS) == SLOTS[-1])
    former = ready.pick(name)
    ready.offer(SLOTS[-1], One(SLOTS[-1]))
    assert ready.pick_among(name, {former}) is former
    assert not ready.due
    assert ready.pick_among(name, {former, *(one for one in ready if one.slot == SLOTS[-1])}) is former
    assert [(model, load.newcomer.slot) for model, load in ready.due] == [(name, SLOTS[-1])]


def test_a_look_where_a_call_would_go_begins_nothing() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    assert ready.pick("a", begins=False) is home
    assert (ready.due, ready.copied) == ([], {})


def test_a_copy_that_could_not_be_loaded_is_begun_again_with_a_later_call() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    ready.call("a")
    ready.load(well=False)
    assert not ready.due
    assert ready.call("a") == (home, True)
    assert len(ready.due) == 1


def test_the_end_of_a_load_that_nobody_waits_for_changes_nothing() -> None:
    copies, one, other = SecondCopies[One](lambda model, load: None, lambda model, one: False), One(1), One(2)
    copies.server("a", one, other, 10, begins=True)
    for ends in (copies.settle, copies.give_up):
        assert not ends("else", other)
        assert not ends("a", one)
        assert copies.known["a"].coming == Handover(one, other, copies=True)
    copies.lacks("else", one)
    copies.lacks("a", other)
    assert copies.known["a"].coming is not None


def test_a_change_of_the_instances_finds_copies_anew_and_a_warm_one_that_left_serves_no_more() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    ready.call("a")
    load = ready.due[0]
    ready.withdraw(home.slot)
    assert not ready.copied
    assert not ready.awaits(*load)
    assert ready.call("a")[0] is load[1].newcomer


def test_a_warm_copy_never_gets_more_requests_than_an_instance_may_have() -> None:
    ready = Fleet(*SLOTS)
    home = busy(ready)
    ready.most = BUSY_MIN + 1
    assert ready.call("a") == (home, True)
    assert ready.call("a")[0] is ready.due[0][1].newcomer


def test_the_copied_models_are_bounded_and_those_at_rest_are_forgotten_first() -> None:
    copies, one, other = SecondCopies[One](lambda model, load: None, lambda model, one: False), One(1), One(2)
    for number in range(COPIED_MAX):
        assert copies.server(str(number), one, other, 10, begins=True) is one
    assert copies.server("more", one, other, 10, begins=True) is other
    assert copies.settle("7", other)
    assert copies.server("more", one, other, 10, begins=True) is one
    assert (len(copies.known), "7" in copies.known) == (COPIED_MAX, False)


@pytest.mark.parametrize(
    ("in_flight", "pace_s", "load_s", "quicker"),
    [(8, 0.5, 3.9, True), (8, 0.5, 4.0, False), (7, 0.5, 3.9, False), (8, None, 1.0, False), (8, 0.5, None, False)],
)
def test_a_load_is_quicker_if_the_line_takes_longer_and_both_are_known(
    in_flight: int, pace_s: float | None, load_s: float | None, quicker: bool
) -> None:
    assert is_load_quicker(in_flight, pace_s, load_s) == quicker
