"""The residency plan as a state machine: its counts stay right in any order of calls and loads."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from tests.helpers.example_counts import tries
from torpor_container.core import residency
from torpor_container.core.eviction import LRU, POLICIES, Nobody, policy
from torpor_container.core.residency import WAIT, Admit, Decision, Hit, Later, Lead, Refuse, Residency, Wait

BUDGET = 100
names = st.sampled_from("abcdefgh")


def may_admit(books: Residency, size_bytes: int) -> bool:
    """Whether `admit` may answer for a requested model of this size with more than Later without victims."""
    return size_bytes > books.budget_bytes or size_bytes <= books.admissible_bytes


class Books(RuleBasedStateMachine):
    """Callers come and go, loads end well or badly, victims take their time to leave."""

    callers = Bundle("callers")

    @initialize(name=st.sampled_from(sorted(POLICIES)), loads_max=st.integers(1, 3))
    def start(self, name: str, loads_max: int) -> None:
        self.now = 0.0
        self.decisions: list[Decision] = []
        self.policy = policy(name)
        self.residency = Residency(BUDGET, self.policy, loads_max, self.decisions.append)
        self.loads_max = loads_max
        self.coming: set[str] = set()  # led, not admitted
        self.loading: dict[str, int] = {}
        self.here: dict[str, int] = {}
        self.leaving: set[str] = set()
        self.awaited: set[str] = set()  # expected, and nobody has asked for them yet
        self.pins: dict[str, int] = {}

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def leave(self, victims: tuple[str, ...]) -> None:
        for victim in victims:
            assert not self.pins.get(victim), "a busy model was made to leave"
            assert victim in self.here, "only what is here can leave"
            del self.here[victim]
            self.leaving.add(victim)

    @rule(target=callers, name=names)
    def request(self, name: str) -> object:
        plan = self.residency.request(name, self.tick())
        if name in self.leaving:
            assert isinstance(plan, Later)
            return multiple()
        if name in self.here:
            assert isinstance(plan, Hit)
        elif name in self.coming or name in self.loading:
            assert isinstance(plan, Wait), "one load per model, however many callers"
        else:
            assert isinstance(plan, Lead)
            self.coming.add(name)
        self.awaited.discard(name)
        self.pins[name] = self.pins.get(name, 0) + 1
        return name

    @rule(target=callers, name=names)
    def expect(self, name: str) -> object:
        """Loads for no caller, with a pin of its own."""
        known = {*self.coming, *self.loading, *self.here, *self.leaving}
        assert self.residency.expect(name, self.tick()) is (name not in known)
        if name in known:
            return multiple()
        self.coming.add(name)
        self.awaited.add(name)
        self.pins[name] = 1
        return name

    @rule(caller=consumes(callers))
    def release(self, caller: str) -> None:
        if not self.pins.get(caller):
            return  # its load failed, and its pin with it
        self.pins[caller] -= 1
        assert self.residency.released(caller) == (self.pins[caller] == 0 and caller in self.here)

    @rule(data=st.data(), size=st.integers(1, 130))
    def admit(self, data: st.DataObject, size: int) -> None:
        if not self.coming:
            return
        name = data.draw(st.sampled_from(sorted(self.coming)))
        sensible = may_admit(self.residency, size)
        plan = self.residency.admit(name, size, self.tick())
        if name not in self.awaited:
            assert sensible is not (isinstance(plan, Later) and not plan.victims), "it is asked for nothing"
        if isinstance(plan, Admit):
            assert name not in self.awaited or self.awaited.isdisjoint(plan.victims)
            self.leave(plan.victims)
            self.coming.remove(name)
            self.loading[name] = size
        elif isinstance(plan, Refuse):
            assert size > BUDGET or (name in self.awaited and size > self.free_for_expected())
            self.fail(name)
        else:
            busy = sum(size for name, size in self.here.items() if self.pins.get(name)) + sum(self.loading.values())
            assert len(self.loading) >= self.loads_max or busy + size > BUDGET, "it waits for no reason"

    def free_for_expected(self) -> int:
        kept = {name for name in self.here if self.pins.get(name) or name in self.awaited}
        return BUDGET - sum(self.here[name] for name in kept) - sum(self.loading.values())

    @rule(data=st.data(), size=st.integers(1, 40))
    def loaded(self, data: st.DataObject, size: int) -> None:
        if not self.loading:
            return
        name = data.draw(st.sampled_from(sorted(self.loading)))
        self.residency.loaded(name, min(size, self.loading.pop(name)), 0.1, self.tick())
        resident = self.residency.get(name)
        assert resident is not None
        self.here[name] = resident.size_bytes

    @rule(data=st.data(), size=st.integers(1, 40))
    def resized(self, data: st.DataObject, size: int) -> None:
        """No larger than before, since the budget holds until `evict_excess`."""
        name = data.draw(names)
        size = min(size, self.here.get(name, size))
        self.residency.resized(name, size, self.tick())
        if name in self.here:
            self.here[name] = size

    @rule(data=st.data())
    def failed(self, data: st.DataObject) -> None:
        if self.coming or self.loading:
            self.fail(data.draw(st.sampled_from(sorted(self.coming | set(self.loading)))))

    def fail(self, name: str) -> None:
        self.residency.failed(name, "no reason", self.tick())
        self.coming.discard(name)
        self.loading.pop(name, None)
        self.pins.pop(name, None)

    @rule(data=st.data())
    def unloaded(self, data: st.DataObject) -> None:
        if self.leaving:
            name = data.draw(st.sampled_from(sorted(self.leaving)))
            self.residency.unloaded(name, 0.1, self.tick())
            self.leaving.remove(name)

    @rule(used=st.integers(0, 150))
    def measured(self, used: int) -> None:
        self.residency.measured(used)
        self.leave(self.residency.evict_excess("somebody", self.tick()))
        self.residency.measured(0)

    @rule(name=names, size=st.integers(1, 130))
    def found(self, name: str, size: int) -> None:
        if name not in {*self.coming, *self.loading, *self.here, *self.leaving} and self.residency.has_room(size):
            self.residency.found(name, size, self.tick())
            self.here[name] = size
            self.awaited.discard(name)

    @rule()
    def memory_ran_out(self) -> None:
        """A load found no memory: one idle model leaves for it, whatever was planned."""
        if self.loading:
            newcomer = sorted(self.loading)[0]
            kept = self.awaited if newcomer in self.awaited else set()
            idle = {name for name in self.here if not self.pins.get(name) and name not in kept}
            victims = self.residency.evict_one(newcomer, self.tick())
            assert len(victims) == (1 if idle and self.policy.evicts else 0)
            self.leave(victims)

    @rule(budget=st.integers(0, BUDGET))
    def lower_the_budget_for_a_moment(self, budget: int) -> None:
        self.residency.budget_bytes = budget
        self.leave(self.residency.evict_over_budget("the budget was lowered", self.tick()))
        busy = [name for name in self.here if not self.pins.get(name)]
        assert self.residency.planned_bytes <= budget or not busy or not self.policy.evicts
        self.residency.budget_bytes = BUDGET

    @rule(name=names)
    def drop(self, name: str) -> None:
        idle = name in self.here and not self.pins.get(name)
        assert self.residency.drop(name, "no reason", self.tick()) == idle
        if idle:
            self.leave((name,))

    @invariant()
    def the_plan_never_exceeds_the_budget(self) -> None:
        if hasattr(self, "residency"):
            assert self.residency.planned_bytes == sum(self.here.values()) + sum(self.loading.values())
            assert self.residency.planned_bytes <= BUDGET

    @invariant()
    def the_residency_knows_which_models_are_here(self) -> None:
        if hasattr(self, "residency"):
            assert {name for name, _ in self.residency} == set(self.here)
            assert all(model.pins == self.pins.get(name, 0) for name, model in self.residency)

    @invariant()
    def idle_bytes_are_those_of_models_that_nobody_uses(self) -> None:
        if hasattr(self, "residency"):
            assert self.residency.idle_bytes == sum(model.size_bytes for _, model in self.residency if not model.pins)


Books.TestCase.settings = settings(max_examples=tries(35), stateful_step_count=60, deadline=None)
TestBooks = Books.TestCase


def resident(books: Residency, name: str, size_bytes: int) -> None:
    assert isinstance(books.request(name, 0.0), Lead)
    assert isinstance(books.admit(name, size_bytes, 0.0), Admit)
    books.loaded(name, size_bytes, 0.5, 0.0)
    books.released(name)


def test_a_decision_names_the_evicted_model_the_new_model_and_the_reason() -> None:
    story: list[Decision] = []
    books = Residency(BUDGET, LRU(), 4, story.append)
    resident(books, "Houston_TX.tar.gz", 60)
    books.request("Boston_MA.tar.gz", 7.0)
    assert books.admit("Boston_MA.tar.gz", 60, 7.0) == Admit(("Houston_TX.tar.gz",))
    evicted = next(decision for decision in story if decision.action == "evict")
    assert (evicted.model, evicted.for_model) == ("Houston_TX.tar.gz", "Boston_MA.tar.gz")
    assert evicted.reason == "Boston_MA.tar.gz needs the room; idle for 7.0 s after 0 hits"
    assert books.why_absent("Houston_TX.tar.gz") == "Boston_MA.tar.gz needs the room"
    assert books.why_absent("Austin_TX.tar.gz") == "it is the first request for it on this instance"


def test_a_load_that_can_never_fit_is_refused_at_once() -> None:
    books = Residency(BUDGET, LRU(), 4)
    books.request("big", 0.0)
    plan = books.admit("big", BUDGET + 1, 0.0)
    assert isinstance(plan, Refuse)
    assert "101 bytes" in plan.reason


def test_memory_that_no_model_explains_takes_room_too() -> None:
    books = Residency(BUDGET, LRU(), 4)
    books.measured(50)
    books.request("a", 0.0)
    plan = books.admit("a", 60, 0.0)
    assert isinstance(plan, Refuse)
    assert "the process itself uses 50" in plan.reason


def test_without_evictions_a_model_that_does_not_fit_is_refused_beside_idle_ones() -> None:
    books = Residency(100, Nobody(), 4)
    for name in "ab":
        brought(books, name, 40)
    books.request("c", 1.0)
    plan = books.admit("c", 40, 1.0)
    assert isinstance(plan, Refuse)
    assert "20 are missing" in plan.reason
    assert books.planned_bytes == 80


def test_idle_models_leave_one_by_one_while_the_process_uses_more_than_the_books_explain() -> None:
    books = Residency(100, LRU(), 2)
    for name in "abc":
        brought(books, name, 10)
    books.measured(90)  # one of them has grown
    books.request("large", 1.0)
    later = books.admit("large", 50, 1.0)
    assert isinstance(later, Later)
    assert later.victims == ("a",)
    assert isinstance(books.admit("large", 50, 1.0), Later)  # it is on its way out
    books.measured(40, gone="a")  # it was the one
    books.unloaded("a", 0.1, 2.0)
    assert books.admit("large", 50, 2.0) == Admit(())


def test_memory_that_no_idle_model_explains_refuses_a_load_without_room_beside_it() -> None:
    books = Residency(100, LRU(), 2)
    brought(books, "a", 10)
    books.measured(90)
    books.request("large", 1.0)
    later = books.admit("large", 50, 1.0)
    assert isinstance(later, Later)
    books.measured(80, gone="a")
    books.unloaded("a", 0.1, 2.0)
    assert isinstance(books.admit("large", 50, 2.0), Refuse)


def test_no_model_is_evicted_for_bytes_that_a_leaving_model_will_free() -> None:
    books = Residency(100, LRU(), 4)
    for name in "abcd":
        brought(books, name, 20)
    books.measured(110)
    assert books.evict_excess("d", 1.0) == ("a",)
    books.measured(110)  # nothing is freed yet
    assert books.evict_excess("d", 1.0) == ()
    books.measured(95, gone="a")
    books.unloaded("a", 0.1, 1.0)
    assert books.evict_excess("d", 1.0) == ()


def brought(books: Residency, name: str, size_bytes: int) -> None:
    """Here, and idle."""
    books.request(name, 0.0)
    assert books.admit(name, size_bytes, 0.0) == Admit(())
    books.loaded(name, size_bytes, 0.1, 0.0)
    books.released(name)


def expected(books: Residency, name: str, size_bytes: int) -> object:
    """Loads the model for no caller, if it has room."""
    assert books.expect(name, 0.0)
    plan = books.admit(name, size_bytes, 0.0)
    if isinstance(plan, Admit):
        books.loaded(name, size_bytes, 1.0, 0.0)
        books.released(name)
    else:
        assert books.failed(name, "no room", 0.0) is False  # nothing is free that was not
    return plan


def test_an_expected_model_never_evicts_another_expected_model() -> None:
    books = Residency(BUDGET, LRU(), 4)
    assert expected(books, "a", 40) == Admit(())
    resident(books, "used", 40)
    assert expected(books, "b", 40) == Admit(("used",))
    assert isinstance(expected(books, "c", 40), Refuse)
    assert [name for name, _ in books] == ["a", "b"]
    books.request("a", 1.0)  # somebody asked for it after all
    books.released("a")
    books.unloaded("used", 0.0, 2.0)
    assert expected(books, "c", 40) == Admit(("a",))


def test_a_requested_model_evicts_an_expected_model_if_it_must() -> None:
    books = Residency(BUDGET, LRU(), 4)
    assert expected(books, "a", 80) == Admit(())
    books.expect("b", 1.0)
    assert books.request("b", 2.0) is WAIT  # a caller came before it did
    assert books.admit("b", 80, 3.0) == Admit(("a",))


def test_a_model_that_turns_out_bigger_makes_idle_ones_leave() -> None:
    books = Residency(BUDGET, LRU(), 4)
    resident(books, "idle", 40)
    books.request("a", 0.0)
    books.admit("a", 50, 0.0)
    books.loaded("a", 90, 0.1, 0.0)
    assert books.evict_excess("a", 1.0) == ("idle",)
    assert "a" in books


@pytest.mark.parametrize("loads_max", [1, 3])
def test_loads_at_the_same_time_never_exceed_the_limit(loads_max: int) -> None:
    books = Residency(BUDGET, LRU(), loads_max)
    plans = []
    for name in "abcd":
        books.request(name, 0.0)
        plans.append(books.admit(name, 1, 0.0))
    assert [isinstance(plan, Admit) for plan in plans] == [index < loads_max for index in range(4)]


# -- what a decision says ----------------------------------------------------------------------------------------------
def test_the_life_of_a_model_is_told_decision_by_decision() -> None:
    story: list[Decision] = []
    books = Residency(BUDGET, LRU(), 4, story.append)
    books.found("old", 60, 1.0)
    books.request("old", 3.0)
    books.released("old")
    books.request("new", 5.0)
    books.admit("new", 50, 5.0)
    books.loaded("new", 45, 0.25, 6.0, "it was tried first")
    books.unloaded("old", 0.5, 7.0)
    books.request("bad", 8.0)
    books.admit("bad", 10, 8.0)
    books.failed("bad", "no such file", 9.0)
    assert story == [
        Decision(1.0, "old", "found", "an earlier process left it", 60),
        Decision(5.0, "old", "evict", "new needs the room; idle for 2.0 s after 1 hit", 60, for_model="new"),
        Decision(5.0, "new", "load", "predicted 50 bytes; after 1 left for it", 50),
        Decision(6.0, "new", "loaded", "measured 45 bytes; it was tried first", 45, 0.25),
        Decision(7.0, "old", "unloaded", "its room is free", 60, 0.5),
        Decision(8.0, "bad", "load", "predicted 10 bytes; there is room", 10),
        Decision(9.0, "bad", "failed", "no such file"),
    ]


def test_each_refusal_is_told() -> None:
    told: list[Decision] = []
    books = Residency(BUDGET, LRU(), 4, told.append)
    assert expected(books, "a", 80) == Admit(())
    told.clear()
    assert isinstance(expected(books, "b", 21), Refuse)
    books.request("c", 1.0)
    books.admit("c", BUDGET + 1, 1.0)
    books.failed("c", "", 1.0)
    books.drop("a", "a newer version", 2.0)
    books.unloaded("a", 0.0, 2.0)
    books.measured(90)
    books.request("d", 3.0)
    books.admit("d", 20, 3.0)
    refused = [(one.at_s, one.model, one.size_bytes) for one in told if one.action == "refuse"]
    assert refused == [(0.0, "b", 21), (1.0, "c", 101), (3.0, "d", 20)]

    told.clear()
    never = Residency(BUDGET, Nobody(), 4, told.append)
    brought(never, "a", 60)
    never.request("b", 1.0)
    never.admit("b", 41, 1.0)
    assert [(one.model, one.size_bytes) for one in told if one.action == "refuse"] == [("b", 41)]


def test_without_a_record_nothing_is_told_and_all_goes_on() -> None:
    books = Residency(BUDGET, LRU(), 4)
    brought(books, "a", 60)
    books.request("b", 1.0)
    assert books.admit("b", 60, 1.0) == Admit(("a",))
    books.unloaded("a", 0.1, 1.0)
    assert books.why_absent("a") == "it is the first request for it on this instance"


def test_the_reasons_of_the_models_that_left_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "LEFT_MAX", 2)
    books = Residency(BUDGET, LRU(), 4, lambda decision: None)
    for name, why in (("a", "first"), ("b", "second"), ("a", "again"), ("c", "third")):
        brought(books, name, 10)
        books.drop(name, why, 1.0)
        books.unloaded(name, 0.0, 1.0)
    first = "it is the first request for it on this instance"
    assert [books.why_absent(name) for name in "abc"] == ["again", first, "third"]


@pytest.mark.parametrize(("used", "hits"), [(0, "0 hits"), (1, "1 hit"), (2, "2 hits")])
def test_an_eviction_counts_the_hits(used: int, hits: str) -> None:
    told: list[Decision] = []
    books = Residency(BUDGET, LRU(), 4, told.append)
    brought(books, "a", 10)
    for _ in range(used):
        books.request("a", 2.0)
        books.released("a")
    books.drop("a", "a newer version", 5.0)
    assert told[-1].reason == f"a newer version; idle for {3.0 if used else 5.0:.1f} s after {hits}"
    assert told[-1].for_model == ""


def test_a_caller_who_waits_uses_the_model_when_it_came() -> None:
    told: list[Decision] = []
    books = Residency(BUDGET, LRU(), 4, told.append)
    books.request("a", 0.0)
    books.admit("a", 10, 0.0)
    books.request("a", 4.0)
    books.loaded("a", 10, 0.1, 5.0)
    books.released("a")
    books.released("a")
    books.drop("a", "it is old", 6.0)
    assert told[-1].reason == "it is old; idle for 2.0 s after 0 hits"


# -- bounds ------------------------------------------------------------------------------------------------------------
def test_a_model_that_fits_to_the_byte_comes_in_and_one_byte_more_makes_another_leave() -> None:
    for size, victims in ((40, ()), (41, ("a",))):
        books = Residency(BUDGET, LRU(), 4)
        brought(books, "a", 60)
        assert books.has_room(40)
        assert not books.has_room(41)
        books.request("b", 1.0)
        assert books.admit("b", size, 1.0) == Admit(victims)


def test_room_that_the_process_takes_is_no_room() -> None:
    books = Residency(BUDGET, LRU(), 4)
    brought(books, "a", 50)
    books.measured(60)
    assert books.unaccounted_bytes == 10
    assert (books.has_room(40), books.has_room(41)) == (True, False)
    books.measured(30)
    assert books.unaccounted_bytes == 0


def test_models_on_their_way_out_still_explain_what_the_process_uses() -> None:
    books = Residency(BUDGET, LRU(), 4)
    for name in "ab":
        brought(books, name, 30)
    books.drop("a", "it is old", 1.0)
    books.measured(60)
    assert books.unaccounted_bytes == 0
    books.measured(60, gone="a")
    assert books.unaccounted_bytes == 30
    books.unloaded("a", 0.0, 1.0)
    books.measured(60)
    assert books.unaccounted_bytes == 30


@pytest.mark.parametrize(
    ("budget", "planned", "used", "overrun"),
    [(100, 49, 101, True), (100, 50, 101, True), (100, 51, 101, False), (100, 40, 100, False), (101, 51, 102, True)],
)
def test_a_tier_is_overrun_when_the_process_takes_more_than_half_of_it(
    budget: int, planned: int, used: int, overrun: bool
) -> None:
    """Nobody leaves for that: it would not go with them."""
    books = Residency(budget, LRU(), 4)
    brought(books, "a", planned)
    books.measured(used)
    assert books.overrun is overrun
    assert books.evict_excess("b", 1.0) == (() if overrun or used <= budget else ("a",))


def test_one_byte_too_many_makes_a_model_leave_and_none_does_not() -> None:
    for used, victims in ((100, ()), (101, ("a",))):
        books = Residency(100, LRU(), 4)
        for name in "ab":
            brought(books, name, 40)
        books.measured(used)
        assert books.evict_excess("b", 1.0) == victims


def test_a_budget_that_was_lowered_counts_what_the_process_itself_uses() -> None:
    books = Residency(100, LRU(), 4, lambda decision: None)
    for name in "abc":
        brought(books, name, 20)
    books.measured(70)
    books.budget_bytes = 50
    assert books.evict_over_budget("less memory", 1.0) == ("a",)
    assert books.why_absent("a") == "less memory"
    assert books.evict_over_budget("less memory", 1.0) == ()


def test_the_room_for_an_expected_model_is_taken_to_the_byte() -> None:
    books = Residency(100, LRU(), 4)
    assert expected(books, "a", 40) == Admit(())
    brought(books, "used", 40)
    assert isinstance(expected(books, "b", 61), Refuse)
    assert expected(books, "b", 60) == Admit(("used",))


def test_for_a_request_expected_models_leave_too() -> None:
    books = Residency(100, LRU(), 4)
    assert expected(books, "a", 80) == Admit(())
    books.measured(110)
    assert books.evict_excess("b", 1.0) == ("a",)


def test_a_model_that_is_used_while_it_is_here_leaves_later() -> None:
    books = Residency(100, LRU(), 4)
    for name in "ab":
        brought(books, name, 50)
    books.request("a", 1.0)
    books.released("a")
    books.request("c", 2.0)
    assert books.admit("c", 50, 2.0) == Admit(("b",))


def test_what_was_found_is_evicted_in_its_turn() -> None:
    books = Residency(100, LRU(), 4)
    books.found("a", 50, 0.0)
    assert "a" in books
    assert (books.planned_bytes, books.idle_bytes) == (50, 50)
    brought(books, "b", 50)
    books.request("c", 2.0)
    assert books.admit("c", 50, 2.0) == Admit(("a",))


def test_more_loads_than_may_be_wait_and_say_so() -> None:
    books = Residency(100, LRU(), 2)
    for name in "abc":
        books.request(name, 0.0)
    assert may_admit(books, 1)
    books.admit("a", 1, 0.0)
    assert may_admit(books, 1)
    books.admit("b", 1, 0.0)
    assert not may_admit(books, 1)
    assert books.admit("c", 1, 0.0) == Later("2 loads are in flight, the limit")
    books.loaded("a", 1, 0.1, 0.0)
    assert may_admit(books, 1)
    assert books.admit("c", 1, 0.0) == Admit(())
    books.failed("b", "", 0.0)
    books.request("d", 0.0)
    assert books.admit("d", 1, 0.0) == Admit(())
    assert not may_admit(books, 1)


class Choosy(LRU):
    """Keeps a model after a call only if this much is free."""

    selective = True

    def keeps(self, name: str, free_bytes: int) -> bool:
        return free_bytes >= 30


def test_a_model_is_kept_after_its_call_only_if_the_policy_would_keep_it() -> None:
    books = Residency(100, Choosy(), 4, lambda decision: None)
    assert books.selective
    brought(books, "a", 60)
    books.measured(70)  # 30 are free
    assert not books.drop_unless_kept("a", 1.0)
    books.measured(71)
    books.request("a", 1.0)
    assert not books.drop_unless_kept("a", 1.0), "it is in use"
    books.released("a")
    assert books.drop_unless_kept("a", 1.0)
    assert "a" not in books
    assert books.why_absent("a") == "served, and not kept by the policy"
    assert not books.drop_unless_kept("a", 1.0), "it is on its way out"
    assert not books.drop_unless_kept("b", 1.0), "nobody knows it"


def test_a_policy_that_keeps_everything_is_not_asked_after_a_call() -> None:
    books = Residency(100, LRU(), 4)
    brought(books, "a", 60)
    assert not books.drop_unless_kept("a", 1.0)
    assert "a" in books


def test_a_plan_can_be_compared_and_taken_apart() -> None:
    assert Admit(("a",)) == Admit(("a",))
    assert Admit(("a",)) != Admit(("b",))
    assert Admit(()) != Refuse("")
    match Admit(("a",)):
        case Admit(("a",)):
            pass
        case _:
            raise AssertionError("its victims are its one part")


def test_a_load_without_a_note_tells_its_size_alone_and_is_for_no_other_model() -> None:
    told: list[Decision] = []
    brought(Residency(BUDGET, LRU(), 4, told.append), "a", 10)
    assert (told[-1].reason, told[-1].for_model) == ("measured 10 bytes", "")


def test_a_model_takes_no_room_before_its_size_is_known() -> None:
    books = Residency(BUDGET, LRU(), 4)
    books.request("a", 0.0)
    books.expect("b", 0.0)
    assert [model.size_bytes for name in "ab" if (model := books.get(name)) is not None] == [0, 0]


def test_a_model_in_use_is_not_idle() -> None:
    books = Residency(BUDGET, LRU(), 4)
    brought(books, "a", 60)
    idle_bytes = [books.idle_bytes]
    books.request("a", 1.0)
    idle_bytes.append(books.idle_bytes)
    books.released("a")
    assert [*idle_bytes, books.idle_bytes] == [60, 0, 60]


def test_a_model_as_large_as_the_budget_comes_in_alone() -> None:
    books = Residency(BUDGET, LRU(), 4)
    books.request("a", 0.0)
    assert may_admit(books, BUDGET)
    assert books.admit("a", BUDGET, 0.0) == Admit(())
    books.failed("a", "", 0.0)
    brought(books, "small", 1)
    books.request("small", 1.0)
    assert not may_admit(books, BUDGET), "another is in use"


def test_without_evictions_a_model_that_fits_to_the_byte_comes_in() -> None:
    books = Residency(100, Nobody(), 4)
    brought(books, "a", 60)
    books.request("b", 1.0)
    assert books.admit("b", 40, 1.0) == Admit(())


def test_what_was_found_cost_nothing() -> None:
    costs = {}

    class Asked(LRU):
        def added(self, name: str, size_bytes: int, cost_s: float) -> None:
            costs[name] = cost_s
            super().added(name, size_bytes, cost_s)

    books = Residency(100, Asked(), 4)
    books.found("a", 10, 0.0)
    brought(books, "b", 10)
    assert costs == {"a": 0.0, "b": 0.1}


def test_a_model_that_leaves_for_a_lower_budget_leaves_for_no_model() -> None:
    told: list[Decision] = []
    books = Residency(100, LRU(), 4, told.append)
    brought(books, "a", 60)
    books.budget_bytes = 50
    books.evict_over_budget("less memory", 1.0)
    assert (told[-1].action, told[-1].for_model) == ("evict", "")


def test_one_model_leaves_for_a_load_without_memory_however_small_it_is() -> None:
    books = Residency(100, LRU(), 4)
    for name in "ab":
        brought(books, name, 1)
    books.request("c", 1.0)
    assert books.evict_one("c", 1.0) == ("a",)


def test_one_small_model_leaves_at_a_time_for_bytes_that_no_model_explains() -> None:
    books = Residency(100, LRU(), 4)
    for name in "abc":
        brought(books, name, 1)
    books.measured(90)
    books.request("large", 1.0)
    assert may_admit(books, 50)
    assert books.admit("large", 50, 1.0) == Later("40 bytes are missing, more than idle models explain", ("a",))
    later = books.admit("large", 50, 1.0)
    assert later == Later("39 bytes are missing until the models on their way out are gone")


def test_idle_models_make_room_to_the_byte_and_busy_ones_are_waited_for() -> None:
    for size, comes in ((60, True), (61, False)):
        books = Residency(100, LRU(), 4)
        for name in "ab":
            brought(books, name, 40)
        books.request("b", 1.0)
        books.request("c", 1.0)
        assert may_admit(books, size) is comes
        plan = books.admit("c", size, 1.0)
        assert plan == (Admit(("a",)) if comes else Later("41 bytes are missing and every other model is busy"))


def test_room_that_the_process_takes_is_waited_for_while_models_are_busy() -> None:
    books = Residency(100, LRU(), 4)
    brought(books, "a", 50)
    books.request("a", 1.0)
    books.measured(80)
    assert [may_admit(books, size) for size in (20, 21)] == [True, False]


def test_a_model_that_takes_another_size_frees_room_or_makes_others_leave() -> None:
    decisions: list[Decision] = []
    tier = Residency(BUDGET, LRU(), 4, decisions.append)
    for name in "ab":
        tier.request(name, 0.0)
        tier.admit(name, 40, 0.0)
        tier.loaded(name, 40, 0.1, 0.0)
        tier.released(name)
    tier.resized("a", 10, 1.0, "its weights are mapped now")
    assert (tier.planned_bytes, tier.idle_bytes, tier.has_room(50)) == (50, 50, True)
    assert (decisions[-1].action, decisions[-1].size_bytes) == ("resized", 10)
    tier.resized("b", 95, 2.0)
    assert decisions[-1].action == "resized", "a share that changes is no decision"
    assert tier.evict_excess("b", 2.0) == ("a",)
    tier.resized("gone", 5, 3.0, "late")
    assert tier.planned_bytes == 95


def test_a_model_that_keeps_its_form_has_a_decision_that_says_why() -> None:
    decisions: list[Decision] = []
    tier = Residency(BUDGET, LRU(), 4, decisions.append)
    tier.request("a", 0.0)
    tier.admit("a", 40, 0.0)
    tier.loaded("a", 40, 0.1, 0.0)
    tier.resized("a", 40, 1.0, "its booster is dart", "not-mapped")
    last = decisions[-1]
    assert (last.model, last.action, last.reason, last.size_bytes) == ("a", "not-mapped", "its booster is dart", 40)


def test_hits_are_those_of_all_models_and_no_other_calls() -> None:
    books = Residency(BUDGET, LRU(), 4)
    assert books.hits == 0
    for name in "ab":
        brought(books, name, 10)
        assert books.request(name, 1.0) == Hit()
    books.request("c", 1.0)
    assert books.hits == 2


def test_a_size_that_changes_without_a_reason_is_no_decision() -> None:
    told: list[Decision] = []
    books = Residency(BUDGET, LRU(), 4, told.append)
    brought(books, "a", 10)
    before = len(told)
    books.resized("a", 20, 1.0)
    assert (books.planned_bytes, len(told)) == (20, before)


def test_while_as_many_load_as_may_no_size_is_admissible() -> None:
    books = Residency(BUDGET, LRU(), 1)
    books.request("a", 0.0)
    books.admit("a", 1, 0.0)
    assert books.admissible_bytes == -1
