"""Placement: a model stays with its owner, a hot one gets a second, and a slot's end moves only its own models."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.placement import BUSY_MIN, least_busy, pick, ranking, weighted

SLOTS = ("a/0", "a/1", "a/2", "a/3")
models = st.text(min_size=1, max_size=30)


def idle(slots: tuple[str, ...] = SLOTS) -> dict[str, int]:
    return dict.fromkeys(slots, 0)


@given(models, st.permutations(SLOTS))
def test_every_router_picks_the_same_owner(model: str, order: list[str]) -> None:
    assert pick(model, idle()) == pick(model, idle(tuple(order)))


@given(st.lists(models, min_size=1, max_size=50, unique=True), st.sampled_from(SLOTS))
def test_losing_a_slot_moves_only_the_models_it_owned(names: list[str], lost: str) -> None:
    left = tuple(slot for slot in SLOTS if slot != lost)
    moved = [name for name in names if pick(name, idle()) != pick(name, idle(left))]
    assert all(pick(name, idle()) == lost for name in moved)


def test_models_spread_evenly() -> None:
    owners = Counter(pick(f"model {number}.tar.gz", idle()) for number in range(2000))
    assert all(400 < owners[slot] < 600 for slot in SLOTS)


def test_a_hot_model_gets_a_second_copy_and_only_then() -> None:
    owner, second, *_ = ranking("hot", SLOTS)
    assert pick("hot", {**idle(), owner: BUSY_MIN - 1}) == owner
    assert pick("hot", {**idle(), owner: BUSY_MIN}) == second


@given(models, st.lists(st.integers(0, 50), min_size=4, max_size=4))
def test_no_instance_is_loaded_far_beyond_its_share(model: str, load: list[int]) -> None:
    in_flight = dict(zip(SLOTS, load, strict=True))
    chosen = pick(model, in_flight)
    assert in_flight[chosen] < max(BUSY_MIN, 1.25 * (sum(load) + 1) / 4 + 1)


def test_any_instance_serves_one_model() -> None:
    assert least_busy({"a": 3, "b": 1, "c": 2}) == "b"


def test_weights_are_shares() -> None:
    weights = [("blue", 3.0), ("green", 1.0)]
    drawn = Counter(weighted(weights, point / 1000) for point in range(1000))
    assert drawn == {"blue": 750, "green": 250}


@given(st.lists(st.floats(0, 10), min_size=1, max_size=5), st.floats(0, 1))
def test_a_variant_of_weight_zero_gets_nothing(shares: list[float], point: float) -> None:
    weights = [(str(index), share) for index, share in enumerate(shares)]
    chosen = weighted(weights, point)
    assert dict(weights)[chosen] > 0 or not any(shares)
