"""All eviction policies keep the same contract, whatever their order."""

import gc
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from benchmarks.policy_trace import replay, replay_knowing, zipf
from tests.helpers.example_counts import tries
from torpor_container.core.eviction import LRU, OFFLINE, POLICIES, S3FIFO, Future, Nobody, Policy, policy

NAMES = "abcdefgh"
FUTURE = Future(((float(at), NAMES[at * at % 7]) for at in range(500)), lambda: 100.0)
ALL: dict[str, Callable[[], Policy]] = {**POLICIES, **{name: partial(of, FUTURE) for name, of in OFFLINE.items()}}


@pytest.fixture(params=ALL)
def make(request: pytest.FixtureRequest) -> Callable[[], Policy]:
    return ALL[request.param]


def anybody(name: str) -> bool:
    return True


class Story(RuleBasedStateMachine):
    """Models come, are used, are busy, and leave for any reason; a policy that names a victim sees it leave."""

    @initialize(name=st.sampled_from(sorted(ALL)))
    def begin(self, name: str) -> None:
        self.chosen = ALL[name]()
        self.resident: set[str] = set()
        self.busy: set[str] = set()

    @rule(name=st.sampled_from(NAMES), size_bytes=st.integers(0, 1000), cost_s=st.floats(0, 60))
    def comes_or_is_used(self, name: str, size_bytes: int, cost_s: float) -> None:
        if name in self.resident:
            self.chosen.touched(name)
        else:
            self.chosen.added(name, size_bytes, cost_s)
            self.resident.add(name)

    @rule(name=st.sampled_from(NAMES))
    def gets_busy_or_idle(self, name: str) -> None:
        self.busy ^= {name}

    @precondition(lambda self: self.resident)
    @rule(data=st.data())
    def leaves_for_another_reason(self, data: st.DataObject) -> None:
        self.leave(data.draw(st.sampled_from(sorted(self.resident))))

    @precondition(lambda self: self.resident)
    @rule(data=st.data(), free_bytes=st.integers(0, 1000))
    def has_served(self, data: st.DataObject, free_bytes: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.resident)))
        if not self.chosen.keeps(name, free_bytes):
            self.leave(name)

    @rule()
    def room_is_needed(self) -> None:
        may_leave = self.resident - self.busy
        victim = self.chosen.victim(lambda name: name not in self.busy)
        assert (victim is None) == (not may_leave)
        if victim is not None:
            assert victim in may_leave
            self.leave(victim)

    @invariant()
    def nobody_is_found_where_nobody_may_leave(self) -> None:
        if hasattr(self, "chosen"):
            assert self.chosen.victim(lambda name: False) is None

    def leave(self, name: str) -> None:
        self.chosen.removed(name)
        self.resident.remove(name)


Story.TestCase.settings = settings(max_examples=tries(100), stateful_step_count=50, deadline=None)
TestStory = Story.TestCase


def test_a_policy_offers_only_residents_as_victims(make: Callable[[], Policy]) -> None:
    chosen, asked = make(), set[str]()
    for name in "abc":
        chosen.added(name, 100, 1.0)
    chosen.removed("b")

    def may_leave(name: str) -> bool:
        asked.add(name)
        return False

    chosen.victim(may_leave)
    assert asked == {"a", "c"}


def lines_of(work: Callable[[], object]) -> int:
    """How many lines run: a measure of work that no other load on the machine disturbs."""
    lines = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


def test_a_hit_costs_no_more_among_many(make: Callable[[], Policy]) -> None:
    def hits(residents: int) -> Callable[[], None]:
        chosen, names = make(), [str(number) for number in range(residents)]
        for name in names:
            chosen.added(name, 100, 1.0)

        def touched() -> None:
            for number in range(3000):
                chosen.touched(names[number * 7 % residents])

        return touched

    assert lines_of(hits(2000)) <= 1.5 * lines_of(hits(20))


def held(thing: object) -> int:
    """How many entries the containers have that it is made of."""
    entries, seen, ahead = 0, set[int](), [thing]
    while ahead:
        found = ahead.pop()
        if id(found) not in seen and not isinstance(found, (type, ModuleType)):
            seen.add(id(found))
            entries += len(found) if isinstance(found, (dict, list, set)) else 0
            ahead += found.__closure__ or () if isinstance(found, FunctionType) else gc.get_referents(found)
    return entries


@pytest.mark.parametrize("name", OFFLINE)
def test_an_offline_policy_forgets_old_uses_and_what_has_left(name: str) -> None:
    def after(uses: int) -> int:
        now = 0
        row = [NAMES[at % 7] for at in range(uses + 1)]
        chosen = OFFLINE[name](Future(((float(at), model) for at, model in enumerate(row)), lambda: now))
        for model in NAMES[:7]:
            chosen.added(model, 100, 1.0)
        for now in range(1, uses + 1):
            chosen.touched(row[now])
            chosen.removed(row[now])
            chosen.added(row[now], 100, 1.0)
        return held(chosen)

    assert after(500) <= 2 * after(100)


@pytest.mark.parametrize("name", ["LFU", "LRU-2", "LFUDA", "GDSF", "LANDLORD", "BELADY", "BELADY-SIZE", "LRU", "FIFO"])
def test_models_that_left_for_another_reason_leave_the_order_of_the_others(name: str) -> None:
    def order(leave: int) -> list[str]:
        chosen, models = ALL[name](), [f"{NAMES[at % 8]}{at // 8}" for at in range(60)]
        for at, model in enumerate(models):
            if leave or at % 6 == 0:
                chosen.added(model, 100, 1.0)
        for at in range(600):
            if leave or at * 7 % 60 % 6 == 0:
                for _ in range(at % 3):
                    chosen.touched(models[at * 7 % 60])
        for at, model in enumerate(models):
            if leave and at % 6:
                chosen.removed(model)
        found = []
        while (victim := chosen.victim(anybody)) is not None:
            chosen.removed(victim)
            found.append(victim)
        return found

    assert order(leave=True) == order(leave=False)
    assert len(order(leave=True)) == 10


@pytest.mark.parametrize("name", ALL)
def test_a_policy_forgets_models_that_left_for_another_reason(name: str) -> None:
    def after(visitors: int) -> int:
        chosen = ALL[name]()
        chosen.added("h", 100, 1.0)  # it stays, and would be the first to leave
        for number in range(visitors):
            chosen.added(f"visitor {number}", 100, 1.0)
            chosen.touched(f"visitor {number}")
            chosen.removed(f"visitor {number}")
        return held(chosen)

    assert after(500) <= 2 * after(100)


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_forgets_models_that_it_saw_once(name: str) -> None:
    def after(visitors: int) -> int:
        chosen = policy(name)
        for number in range(visitors):
            chosen.added(f"visitor {number}", 1 + number % 7, 1.0)
            if number >= 60:
                victim = chosen.victim(anybody)
                assert victim is not None
                chosen.removed(victim)
        return held(chosen)

    assert after(8000) <= 2 * after(2000)


@given(st.lists(st.sampled_from(NAMES), max_size=200), st.integers(1, 6))
def test_no_policy_beats_belady_with_models_of_one_size(requests: list[str], room: int) -> None:
    trace = type(TRACE)(requests, dict.fromkeys(NAMES, 1))
    best = replay_knowing(OFFLINE["BELADY"], trace, room)
    for make in POLICIES.values():
        assert replay(make(), trace, room) <= best


TRACE = zipf(requests=5000, models=86, seed=3)


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"FIFO"}))
@pytest.mark.parametrize("share", [0.05, 0.1, 0.4])
def test_none_collapses_with_few_big_models(name: str, share: float) -> None:
    room_bytes = TRACE.room_bytes(share)
    assert replay(policy(name), TRACE, room_bytes) > 0.8 * replay(LRU(), TRACE, room_bytes)


def test_the_policy_of_no_evictions_names_no_victim() -> None:
    chosen = Nobody()
    chosen.added("a", 100, 1.0)
    assert chosen.victim(anybody) is None
    assert chosen.keeps("a", 0)


def test_a_policy_is_found_in_any_letter_case() -> None:
    assert isinstance(policy("s3-fifo"), S3FIFO)
    assert {name: type(make()).__name__ for name, make in POLICIES.items()} == {
        "LRU": "LRU",
        "SIEVE": "SIEVE",
        "LFUDA": "LFUDA",
        "GDSF": "GDSF",
        "LANDLORD": "LANDLORD",
        "LFU": "LFU",
        "LRU-2": "LRU2",
        "S3-FIFO": "S3FIFO",
        "TINYLFU": "TinyLFU",
        "FIFO": "FIFO",
    }


def test_a_few_policies_do_not_keep_every_model_and_one_evicts_none() -> None:
    assert {name for name, make in ALL.items() if make().selective} == {"TINYLFU", "BELADY-SIZE"}
    assert {name for name, make in ALL.items() if make().evicts} == set(ALL)
    assert (Nobody.evicts, Nobody.selective) == (False, False)


def test_an_unknown_policy_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="LRU, SIEVE, LFUDA, GDSF"):
        policy("MRU")
