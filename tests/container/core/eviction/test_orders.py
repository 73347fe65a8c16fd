"""The order of each eviction policy, beyond the contract."""

import operator
import random
from collections.abc import Callable
from functools import partial
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from torpor_container.core.eviction import (
    FIFO,
    GDSF,
    LANDLORD,
    LFU,
    LFUDA,
    LRU,
    LRU2,
    S3FIFO,
    SIEVE,
    Belady,
    BeladySize,
    Future,
    Policy,
    TinyLFU,
)


def anybody(name: str) -> bool:
    return True


def filled(chosen: Policy, names: str) -> Policy:
    for name in names:
        chosen.added(name, 100, 1.0)
    return chosen


def leavers(chosen: Policy) -> str:
    """All models, in the order of their eviction."""
    order = ""
    while (victim := chosen.victim(anybody)) is not None:
        chosen.removed(victim)
        order += victim
    return order


@pytest.mark.parametrize(
    ("make", "order"),
    [
        (FIFO, "abcd"),
        (LRU, "dbac"),  # by the last use
        (LFU, "dbca"),  # b and c were used twice, b longer ago
        (LFUDA, "dbca"),
        (GDSF, "dbca"),
        (LANDLORD, "dbac"),  # with one cost and one size: LRU
        (SIEVE, "dabc"),  # one round clears the others' bits
        (LRU2, "dbca"),  # d was used once; then by the last use but one
        (S3FIFO, "dabc"),  # a passes its trial; one round takes the others' uses
    ],
)
def test_the_order(make: Callable[[], Policy], order: str) -> None:
    chosen = filled(make(), "abcd")
    for name in "abac":
        chosen.touched(name)
    assert leavers(chosen) == order


def test_a_busy_model_is_passed_over() -> None:
    for make in (FIFO, LRU, LFU, LFUDA, GDSF, LANDLORD, SIEVE, LRU2, S3FIFO, TinyLFU):
        chosen = filled(make(), "abc")
        assert chosen.victim(lambda name: name == "c") == "c"
        chosen.removed("c")
        assert chosen.victim(anybody) == "a"


def test_a_model_that_was_used_once_leaves_before_one_that_was_used_twice_long_ago() -> None:
    chosen = filled(LRU2(), "a")
    chosen.touched("a")
    assert leavers(filled(chosen, "bc")) == "bca"


# -- SIEVE ---------------------------------------------------------------------------------------------------------
def test_the_hand_stays_where_it_sifted_last() -> None:
    chosen = filled(SIEVE(), "abcd")
    chosen.touched("a")
    assert chosen.victim(anybody) == "b"
    chosen.removed("b")
    chosen.added("e", 100, 1.0)
    assert leavers(chosen) == "cdea"


def test_the_hand_starts_again_at_the_oldest_once_the_newest_has_left() -> None:
    chosen = filled(SIEVE(), "abc")
    chosen.touched("a")
    chosen.touched("b")
    assert chosen.victim(anybody) == "c"
    chosen.removed("c")
    chosen.added("d", 100, 1.0)
    assert leavers(chosen) == "abd"


# -- greedy-dual ---------------------------------------------------------------------------------------------------
def test_gdsf_prefers_to_unload_a_model_that_is_large_and_loads_fast() -> None:
    chosen = GDSF()
    chosen.added("big and fast", 10_000, 0.1)
    chosen.added("small and slow", 100, 5.0)
    chosen.touched("big and fast")
    assert chosen.victim(anybody) == "big and fast"


def test_the_smallest_models_are_weighed_by_their_sizes_too() -> None:
    for make in (GDSF, LANDLORD):
        chosen = make()
        chosen.added("two bytes", 2, 1.5)
        chosen.added("one byte", 1, 1.0)
        chosen.added("nothing", 0, 0.8)
        assert [chosen.victim(partial(operator.ne, name)) for name in ("", "two bytes")] == ["two bytes", "nothing"]


def test_gdsf_weighs_two_uses_as_a_load_that_takes_twice_as_long() -> None:
    for load_s, leaves in ((0.6, "once"), (0.4, "twice")):
        chosen = GDSF()
        chosen.added("once", 100, 1.0)
        chosen.added("twice", 100, load_s)
        chosen.touched("twice")
        assert chosen.victim(anybody) == leaves


@pytest.mark.parametrize(("make", "fades"), [(GDSF, True), (LFUDA, True), (LANDLORD, True), (LFU, False)])
def test_an_old_star_fades(make: Callable[[], Policy], fades: bool) -> None:
    chosen = filled(make(), "s")
    for _ in range(5):
        chosen.touched("s")
    left = set()
    for number in range(20):
        chosen.added(f"new {number}", 100, 1.0)
        victim = chosen.victim(anybody)
        assert victim is not None
        chosen.removed(victim)
        left.add(victim)
    assert ("s" in left) == fades


def test_the_clock_never_runs_backwards() -> None:
    chosen = filled(LFUDA(), "ab")
    for _ in range(3):
        chosen.touched("b")
    assert chosen.victim(lambda name: name != "a") == "b"  # worth 4, while a is busy and outlives its worth of 1
    chosen.removed("b")
    chosen.added("c", 100, 1.0)
    assert chosen.victim(anybody) == "a"
    chosen.removed("a")
    chosen.added("d", 100, 1.0)
    assert leavers(chosen) == "cd"


class Plain:
    """Greedy-dual as the papers write it: looks at every model each time."""

    def __init__(self, gain: Callable[[int, float, int], float]) -> None:
        self.gain, self.clock, self.ticks = gain, 0.0, 0
        self.known: dict[str, tuple[int, float, int]] = {}  # size, cost, uses
        self.worth: dict[str, tuple[float, int]] = {}

    def used(self, name: str, size: int, cost: float) -> None:
        uses = self.known[name][2] + 1 if name in self.known else 1
        self.ticks += 1
        self.known[name] = (size, cost, uses)
        self.worth[name] = (self.clock + self.gain(size, cost, uses), self.ticks)

    def victim(self, busy: set[str]) -> str | None:
        name = min((name for name in self.known if name not in busy), key=self.worth.__getitem__, default=None)
        if name is not None:
            self.clock = max(self.clock, self.worth.pop(name)[0])
            del self.known[name]
        return name


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["used", "busy", "room"])), max_size=80))
@pytest.mark.parametrize(
    ("make", "gain"),
    [
        (GDSF, lambda size, cost, uses: uses * cost / size),
        (LANDLORD, lambda size, cost, uses: cost / size),
        (LFUDA, lambda size, cost, uses: uses),
    ],
)
def test_the_mended_heap_chooses_as_the_plain_search_also_around_the_busy(
    make: Callable[[], Policy], gain: Callable[[int, float, int], float], story: list[tuple[str, str]]
) -> None:
    chosen, plain, busy = make(), Plain(gain), set[str]()

    def idle(name: str) -> bool:
        return name not in busy

    for name, event in story:
        size, cost = 10 * ord(name) - 900, ord(name) % 3 + 0.5
        if event == "busy":
            busy ^= {name}
        elif event == "room":
            victim = chosen.victim(idle)
            assert victim == plain.victim(busy)
            if victim is not None:
                chosen.removed(victim)
        else:
            chosen.touched(name) if name in plain.known else chosen.added(name, size, cost)
            plain.used(name, size, cost)


@given(st.lists(st.sampled_from("abcdefgh"), max_size=80))
def test_landlord_is_rent_paid_by_size(requests: list[str]) -> None:
    """The tenants' view: a use pays the cost in, the poorest for its size sets the rent. Sizes divide without rest."""
    chosen, credit, ticks = LANDLORD(), dict[str, float](), dict[str, int]()
    for tick, name in enumerate(requests):
        size, cost = 2 ** (ord(name) % 4), float(ord(name) % 5 + 1)
        if name in credit:
            chosen.touched(name)
        else:
            if len(credit) == 3:
                poorest = min(credit, key=lambda tenant: (credit[tenant] / 2 ** (ord(tenant) % 4), ticks[tenant]))
                rent = credit[poorest] / 2 ** (ord(poorest) % 4)
                credit = {tenant: left - rent * 2 ** (ord(tenant) % 4) for tenant, left in credit.items()}
                assert chosen.victim(anybody) == poorest
                chosen.removed(poorest)
                del credit[poorest]
            chosen.added(name, size, cost)
        credit[name], ticks[name] = cost, tick


# -- offline references --------------------------------------------------------------------------------------------
def test_belady_evicts_the_model_whose_next_use_is_last_or_never() -> None:
    future = Future([(1.0, "a"), (2.0, "b"), (3.0, "a"), (9.0, "b"), (20.0, "a")], lambda: 2.5)
    assert [future.next_use(name) for name in "abc"] == [3.0, 9.0, float("inf")]
    assert leavers(filled(Belady(future), "abc")) == "cba"


def test_belady_size_weighs_the_smallest_models_by_their_sizes_too() -> None:
    for size_bytes in (0, 1):
        chosen = BeladySize(Future([(10.0, "two bytes"), (15.0, "smaller")], lambda: 0.0))
        chosen.added("smaller", size_bytes, 1.0)
        chosen.added("two bytes", 2, 1.0)
        assert chosen.victim(anybody) == "two bytes"


@pytest.mark.parametrize(
    ("now", "first", "second", "leaves"),
    [
        (5.0, (10.0, 100), (20.0, 40), "second"),  # 500 and 600: the distance is from now
        (0.0, (20.0, 100), (19.5, 105), "second"),  # 2000 and 2047.5, of about one size
        (0.0, (20.0, 105), (20.0, 100), "first"),
        (0.0, (20.0, 100), (20.0, 100), "first"),  # of equals the one that came first
        (0.0, (1.0, 100), (0.99, 105), "second"),
        (30.0, (12.0, 105), (11.5, 100), "second"),  # -1890 and -1850: both should have been used before
    ],
)
def test_belady_size_finds_the_largest_product_also_among_models_of_about_one_size(
    now: float, first: tuple[float, int], second: tuple[float, int], leaves: str
) -> None:
    at_s = 0.0
    uses = {"first": first[0], "second": second[0]}
    chosen = BeladySize(Future(((at, name) for name, at in uses.items()), lambda: at_s))
    chosen.added("first", first[1], 1.0)
    chosen.added("second", second[1], 1.0)
    at_s = now
    assert chosen.victim(anybody) == leaves


def test_an_offline_policy_comes_back_to_a_busy_model_once_it_is_idle() -> None:
    future = Future([(float(at), name) for at, name in enumerate("abc", start=1)], lambda: 0.0)
    for make in (Belady, BeladySize):
        chosen = filled(make(future), "abc")
        assert [chosen.victim(lambda name: name == "a"), leavers(chosen)] == ["a", "cba"]


def test_belady_size_weighs_the_distance_and_keeps_no_model_without_a_future() -> None:
    chosen = BeladySize(Future([(10.0, "near"), (20.0, "far")], lambda: 0.0))
    chosen.added("near", 300, 1.0)
    chosen.added("far", 100, 1.0)
    assert chosen.victim(anybody) == "near"
    chosen.added("never", 1, 1.0)
    assert (chosen.keeps("far", 0), chosen.keeps("never", 1000)) == (True, False)


@settings(max_examples=tries(24))
@given(
    seed=st.integers(0, 10_000),
    sizes=st.sampled_from([(7,), (1, 2, 3), (5, 77, 1000), tuple(range(1, 4000, 37))]),
    pinned=st.sampled_from([0, 1, 5]),
)
def test_belady_size_evicts_as_if_it_had_looked_at_every_model(seed: int, sizes: tuple[int, ...], pinned: int) -> None:
    rng = random.Random(seed)
    calls = [f"m{int(40 * rng.random() ** 2)}" for _ in range(300)]
    size_of = {name: rng.choice(sizes) for name in sorted(set(calls))}
    now = 0.0
    chosen = BeladySize(Future([(float(at), name) for at, name in enumerate(calls)], lambda: now))
    stay: dict[str, float] = {}
    for at, name in enumerate(calls):
        now = at + 0.5 * (seed % 2)
        nexts = next((float(later) for later in range(at, len(calls)) if later > now and calls[later] == name), inf)
        if name in stay:
            chosen.touched(name)
        else:
            busy = set(rng.sample(sorted(stay), min(pinned, len(stay))))
            if len(stay) > 12:
                worth = {one: (next_use - now) * size_of[one] for one, next_use in stay.items() if one not in busy}
                victim = chosen.victim(partial(operator.contains, stay.keys() - busy))
                assert victim == max(worth, key=worth.__getitem__)
                chosen.removed(victim)
                del stay[victim]
            chosen.added(name, size_of[name], 1.0)
        stay[name] = nexts


def test_belady_size_looks_at_few_of_many_models() -> None:
    rng, looked = random.Random(7), 0
    count = 20_000
    chosen = BeladySize(Future([(rng.random() * 1000.0, f"m{one}") for one in range(count)], lambda: 0.0))
    for one in range(count):
        chosen.added(f"m{one}", int(rng.lognormvariate(15.0, 1.0)), 1.0)

    def looks(name: str) -> bool:
        nonlocal looked
        looked += 1
        return True

    for _ in range(100):
        victim = chosen.victim(looks)
        assert victim is not None
        chosen.removed(victim)
    assert looked < 100 * count / 100
