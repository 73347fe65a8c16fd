"""Every eviction policy keeps one contract; each adds its own order."""

from collections.abc import Callable

import cachetools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.policies import GDSF, LFU, LRU, POLICIES, Policy, policy


def always(name: str) -> bool:
    return True


def filled(chosen: Policy, names: str) -> Policy:
    for name in names:
        chosen.added(name, 100, 1.0)
    return chosen


@pytest.fixture(params=sorted(POLICIES))
def make(request: pytest.FixtureRequest) -> Callable[[], Policy]:
    return POLICIES[request.param]


def test_an_empty_policy_has_no_victim(make: Callable[[], Policy]) -> None:
    assert make().victim(always) is None


def test_of_equals_the_one_touched_longest_ago_leaves(make: Callable[[], Policy]) -> None:
    chosen = filled(make(), "abc")
    for name in "bca":
        chosen.touched(name)
    assert chosen.victim(always) == "b"


def test_a_model_that_may_not_leave_is_never_named(make: Callable[[], Policy]) -> None:
    chosen = filled(make(), "abc")
    assert chosen.victim(lambda name: name == "c") == "c"
    assert chosen.victim(lambda name: False) is None
    assert chosen.victim(always) == "a"


@given(
    st.lists(
        st.tuples(st.sampled_from(["added", "touched", "removed", "victim"]), st.sampled_from("abcde")), max_size=60
    )
)
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_victim_is_always_resident(name: str, story: list[tuple[str, str]]) -> None:
    chosen, resident = policy(name), set[str]()
    for event, model in story:
        if event == "added" and model not in resident:
            chosen.added(model, 10 + ord(model), 0.5)
            resident.add(model)
        elif event == "touched" and model in resident:
            chosen.touched(model)
        elif event == "removed" and model in resident:
            chosen.removed(model)
            resident.discard(model)
        elif event == "victim":
            victim = chosen.victim(always)
            assert (victim is None) == (not resident)
            assert victim is None or victim in resident


def test_lru_forgets_who_was_not_used() -> None:
    chosen = filled(LRU(), "abc")
    chosen.touched("a")
    assert chosen.victim(always) == "b"


def test_lfu_keeps_who_is_used_often() -> None:
    chosen = filled(LFU(), "abc")
    for name in "aacb":
        chosen.touched(name)
    assert chosen.victim(always) == "c"


def test_gdsf_prefers_to_unload_what_is_big_and_loads_fast() -> None:
    chosen = GDSF()
    chosen.added("big and fast", 10_000, 0.1)
    chosen.added("small and slow", 100, 5.0)
    chosen.touched("big and fast")
    assert chosen.victim(always) == "big and fast"


def test_gdsf_lets_an_old_star_fade() -> None:
    chosen = GDSF()
    chosen.added("star", 100, 1.0)
    for _ in range(5):
        chosen.touched("star")
    for number in range(20):
        name = f"new {number}"
        chosen.added(name, 100, 1.0)
        victim = chosen.victim(always)
        assert victim is not None
        chosen.removed(victim)
        if victim == "star":
            return
    pytest.fail("the star never left")


@given(st.lists(st.integers(0, 30), max_size=400), st.integers(1, 12))
@pytest.mark.parametrize(("name", "oracle"), [("LRU", cachetools.LRUCache), ("LFU", cachetools.LFUCache)])
def test_hits_equal_cachetools_to_the_last_request(
    name: str, oracle: Callable[..., "cachetools.Cache[int, bool]"], requests: list[int], room: int
) -> None:
    ours, resident, theirs = policy(name), set[str](), oracle(maxsize=room)
    for number in requests:
        model, hit = str(number), number in theirs
        assert (model in resident) == hit
        if hit:
            ours.touched(model)
            theirs[number]
            continue
        if len(resident) == room:
            victim = ours.victim(always)
            assert victim is not None
            ours.removed(victim)
            resident.remove(victim)
        ours.added(model, 1, 1.0)
        resident.add(model)
        theirs[number] = True


def test_an_unknown_policy_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="LRU, LFU, GDSF"):
        policy("MRU")
