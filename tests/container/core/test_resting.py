"""Models are unloaded and loaded by their callers' habits: each nap is acted on once, without a look at all models."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor_container.core.keepalive import Fixed, Histogram, KeepAlive, Nap, once
from torpor_container.core.resting import EARLY_S, SWEEP_S, Moves, Resting

NOBODY = Moves((), ())


def used(resting: Resting, name: str, now_s: float) -> None:
    resting.called(name, now_s)
    resting.ended(name, now_s)


def test_a_model_without_calls_is_unloaded_and_one_with_a_habit_returns_before_its_call() -> None:
    resting, now_s = Resting(lambda: Histogram(300.0)), 0.0
    for _ in range(20):
        used(resting, "nightly", now_s)
        now_s += 7200.0
    now_s -= 7200.0
    used(resting, "once", now_s)
    assert resting.look(["nightly", "once"], now_s + 60) == Moves(("nightly",), ())
    assert resting.look(["once"], now_s + 600) == Moves(("once",), ())
    assert resting.look([], now_s + 7190) == Moves((), ("nightly",))
    assert resting.look([], now_s + 7191) == NOBODY


def test_a_model_is_expected_once_in_a_gap_and_again_in_the_next_one() -> None:
    resting = Resting(lambda: Histogram(300.0))
    for number in range(20):
        used(resting, "timer", 600.0 * number)
    last_s = 600.0 * 19
    assert [resting.look([], last_s + second).coming for second in (595, 596, 597)] == [("timer",), (), ()]
    used(resting, "timer", last_s + 600.0)
    assert [resting.look([], last_s + 600.0 + second).coming for second in (500, 595)] == [(), ("timer",)]


def test_a_called_model_is_no_longer_expected() -> None:
    resting = Resting(lambda: Histogram(300.0))
    for number in range(20):
        used(resting, "timer", 600.0 * number)
    resting.called("timer", 600.0 * 20)
    assert resting.look([], 600.0 * 20 + 1) == NOBODY


def test_the_number_of_remembered_models_is_limited() -> None:
    resting = Resting(lambda: Fixed(10.0), known_max=2)
    for name in ("a", "b", "c"):
        resting.ended(name, 0.0)
    assert resting.look(["a", "b", "c"], 100.0).leaving == ("b", "c")


def test_a_model_that_came_in_after_its_turn_leaves_within_a_minute() -> None:
    """All its callers gave up while it was loaded, so no use has ended."""
    resting = Resting(lambda: Fixed(10.0))
    used(resting, "a", 0.0)
    assert resting.look([], 11.0) == NOBODY
    resting.called("a", 12.0)
    looks = [resting.look(["a"], 30.0 + second).leaving for second in range(int(SWEEP_S))]
    assert looks.count(("a",)) == 1


def test_idle_models_are_looked_up_only_when_a_keep_alive_is_over() -> None:
    resting, asked = Resting(lambda: Fixed(10.0)), list[float]()

    def idle(now_s: float) -> Iterator[str]:
        asked.append(now_s)
        yield "a"

    used(resting, "a", 0.0)
    for second in range(50):
        resting.look(idle(float(second)), float(second))
    assert asked == [0.0, 10.0]  # the first look is at everybody


class Napping:
    """A keep-alive whose naps a test sets."""

    def __init__(self, nap: Nap) -> None:
        self.set = nap

    def used_after(self, gap_s: float) -> None:
        """It learns nothing."""

    def nap(self) -> Nap:
        return self.set


def test_models_that_are_expected_together_come_in_the_order_of_their_last_uses() -> None:
    waits = iter((20.0, 19.0, 18.0))
    resting = Resting(lambda: Napping(Nap(5.0, wait_s := next(waits), wait_s + 10.0)))
    for second, name in enumerate("cab"):
        resting.ended(name, float(second))  # which are due at 20
    assert resting.look([], 10.0) == NOBODY
    assert resting.look([], 20.0).coming == ("c", "a", "b")
    assert resting.look([], 20.0) == NOBODY


def test_a_model_that_is_looked_at_just_before_its_time_is_over_is_expected_once() -> None:
    resting = Resting(lambda: Napping(Nap(5.0, 20.0, 30.0)))
    resting.ended("a", 0.0)
    found = [resting.look([], second).coming for second in (5.0, 20.0, 30.0 - EARLY_S / 2, 30.0)]
    assert found == [(), ("a",), (), ()]


def test_the_next_check_is_the_next_change_of_a_model_that_is_known() -> None:
    resting = Resting(lambda: Napping(Nap(5.0, 20.0, 30.0)), known_max=1)
    assert resting.next_check_s() is None
    resting.ended("a", 0.0)
    resting.ended("b", 1.0)  # and "a" is forgotten
    assert resting.next_check_s() == 6.0
    for at_s in (6.0, 21.0, 31.0):
        assert resting.next_check_s() == at_s
        resting.look([], at_s)
    assert resting.next_check_s() is None


def test_who_was_used_last_is_remembered() -> None:
    resting = Resting(lambda: Fixed(10.0), known_max=2)
    for second, name in enumerate(("a", "b", "a", "c")):
        resting.ended(name, float(second))
    assert resting.look(["a", "b", "c"], 100.0).leaving == ("a", "c")


def test_all_are_looked_at_once_in_a_minute() -> None:
    resting = Resting(lambda: Fixed(10.0))
    resting.ended("a", 0.0)
    assert [resting.look(["a"], at_s).leaving for at_s in (0.0, 10.0, 11.0)] == [(), ("a",), ()]
    assert [resting.look(["a"], at_s).leaving for at_s in (SWEEP_S - 1.0, SWEEP_S, SWEEP_S + 1.0)] == [(), ("a",), ()]


def test_checks_that_are_out_of_date_are_not_kept_for_ever_and_the_others_are() -> None:
    shorter = Napping(once(0.5))
    resting = Resting(lambda: shorter)
    resting.ended("over", 0.0)
    assert resting.look([], 0.5) == NOBODY
    shorter.set = once(1000.0)
    for name in "abc":
        resting.ended(name, 0.0)
        for _ in range(100):
            shorter.set = once(shorter.set.sleep_s - 1.0)
            resting.ended(name, 0.0)
            assert len(resting._checks) <= 4 * 4 + 8
            assert resting._checks[0] == min(resting._checks)
    assert resting.look([], 1.0) == NOBODY
    assert resting.next_check_s() == 700.0
    assert [resting.look("abc", at_s).leaving for at_s in (699.0, 700.0, 701.0)] == [(), ("c",), ()]
    assert resting.next_check_s() == 800.0
    resting.look([], 900.0)
    assert resting.next_check_s() is None


# -- the rule itself ---------------------------------------------------------------------------------------------------
@dataclass
class Plain:
    """Asks every nap at every look, whether its model is in memory or not."""

    naps: dict[str, KeepAlive] = field(default_factory=dict)
    ended_s: dict[str, float] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)

    def used(self, name: str, now_s: float) -> None:
        if name in self.naps:
            self.naps[name].used_after(now_s - self.ended_s[name])
        self.naps.setdefault(name, learner())
        self.ended_s[name] = now_s
        self.told.discard(name)

    def look(self, idle: list[str], now_s: float) -> Moves:
        naps = {name: (one.nap(), now_s - self.ended_s[name]) for name, one in self.naps.items()}
        leaving = tuple(name for name in idle if not naps[name][0].awake(naps[name][1]))
        coming = [name for name, (nap, idle_s) in naps.items() if nap.due(idle_s) and name not in self.told]
        self.told.update(coming)
        return Moves(leaving, tuple(sorted(coming, key=self.ended_s.__getitem__)))


def learner() -> KeepAlive:
    return Histogram(7.0, bin_s=3.0)


@settings(max_examples=tries(6), deadline=None)
@given(
    every_s=st.lists(st.sampled_from([2.0, 20.0, 21.0, 40.0, 90.0]), min_size=1, max_size=5),
    jitter_s=st.sampled_from([0.0, 0.1, 4.0]),
    seed=st.integers(0, 10_000),
)
def test_looks_give_the_same_moves_as_asking_every_keep_alive_each_time(
    every_s: list[float], jitter_s: float, seed: int
) -> None:
    rng, resting, plain, there = random.Random(seed), Resting(learner), Plain(), dict[str, None]()
    calls = sorted(
        (every * (1 + number) + rng.uniform(0.0, 1.0) + rng.uniform(0.0, jitter_s), f"every {every} s")
        for every in set(every_s)
        for number in range(30)
    )
    for now_s in range(1, 1500):
        while calls and calls[0][0] < now_s:
            at_s, name = calls.pop(0)
            used(resting, name, at_s)
            plain.used(name, at_s)
            there[name] = None
        moves = resting.look(iter(there), float(now_s))
        assert moves == plain.look(list(there), float(now_s))
        there.update(dict.fromkeys(moves.coming))
        gone = [*moves.leaving, *(name for name in there if rng.random() < 0.01)]  # or there was no room
        there = {name: None for name in there if name not in gone}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(1.0, 4000.0)), min_size=1, max_size=30), st.booleans())
def test_no_model_moves_before_the_next_check(uses: list[tuple[str, float]], learns: bool) -> None:
    """So that a clock that is moved may go to the next check at once. The sweep is for models without a use."""
    resting, now_s = Resting(lambda: Histogram(300.0) if learns else Fixed(300.0)), 0.0
    memory: set[str] = set()

    def look(at_s: float) -> Moves:
        moves = resting.look(sorted(memory), at_s)
        memory.difference_update(moves.leaving)
        memory.update(moves.coming)
        return moves

    for name, gap_s in uses:
        now_s += gap_s
        look(now_s - 0.5)
        used(resting, name, now_s)
        memory.add(name)
    look(now_s)
    next_s = resting.next_check_s()
    before_s = now_s + 1e6 if next_s is None else next_s - 0.01
    if before_s > now_s:
        assert look(before_s) == NOBODY
