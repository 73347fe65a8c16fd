"""Placement: a model stays with its owner, a busy model gets a second, and a slot's end moves only its own models."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.placement import BUSY_MIN, PlacedInstance, Placement, ranking, weighted

SLOTS = ("a/0", "a/1", "a/2", "a/3")
models = st.text(min_size=1, max_size=30) | st.binary(min_size=1, max_size=30).map(
    lambda name: name.decode(errors="surrogateescape")
)
"""Also those that are no text: they come as they were sent."""


@dataclass
class One(PlacedInstance):
    slot: str
    in_flight: int = 0


def placement(in_flight: Mapping[str, int]) -> Placement[One]:
    ready: Placement[One] = Placement()
    for slot, requests in in_flight.items():
        ready.offer(slot, One(slot, requests))
    return ready


def idle(slots: Iterable[str] = SLOTS) -> Placement[One]:
    return placement(dict.fromkeys(slots, 0))


def pick(model: str, ready: Placement[One]) -> str:
    return ready.pick(model).slot


@given(models, st.permutations(SLOTS))
def test_every_router_picks_the_same_owner(model: str, order: list[str]) -> None:
    assert pick(model, idle()) == pick(model, idle(order))


@given(st.lists(models, min_size=1, max_size=50, unique=True), st.sampled_from(SLOTS))
def test_losing_a_slot_moves_only_the_models_it_owned_and_its_return_brings_them_back(
    names: list[str], lost: str
) -> None:
    ready = idle()
    owners = {name: ready.pick(name) for name in names}
    gone = ready.withdraw(lost)
    assert gone is not None
    assert all(owners[name] in (gone, ready.pick(name)) for name in names)
    assert all(ready.pick(name) is not gone for name in names)
    ready.offer(lost, gone)
    assert owners == {name: ready.pick(name) for name in names}


def test_a_withdrawn_instance_is_no_longer_ready() -> None:
    ready = idle(["a/0", "a/1"])
    (first, second) = ready
    assert ready.get("a/0") is first
    assert ready.withdraw("a/0") is first
    assert ready.withdraw("a/0") is None
    assert ready.get("a/0") is None
    assert list(ready) == [second]
    assert len(ready) == 1


def test_models_spread_evenly() -> None:
    ready = idle()
    owners = Counter(pick(f"model {number}.tar.gz", ready) for number in range(2000))
    assert all(400 < owners[slot] < 600 for slot in SLOTS)


def test_a_hot_model_gets_a_second_copy_and_only_then() -> None:
    owner, second, *_ = ranking("hot", SLOTS)
    ready = idle()
    busy = ready.pick("hot")
    busy.in_flight = BUSY_MIN - 1
    assert pick("hot", ready) == owner
    busy.in_flight = BUSY_MIN
    assert pick("hot", ready) == second


@given(models, st.lists(st.integers(0, 50), min_size=4, max_size=4))
def test_no_instance_is_loaded_far_beyond_its_share(model: str, load: list[int]) -> None:
    in_flight = dict(zip(SLOTS, load, strict=True))
    chosen = pick(model, placement(in_flight))
    assert in_flight[chosen] < max(BUSY_MIN, 1.25 * (sum(load) + 1) / 4 + 1)


def test_any_instance_serves_one_model() -> None:
    assert placement({"a": 3, "b": 1, "c": 2}).least_busy().slot == "b"


def test_weights_are_shares() -> None:
    weights = [("blue", 3.0), ("green", 1.0)]
    drawn = Counter(weighted(weights, point / 1000) for point in range(1000))
    assert drawn == {"blue": 750, "green": 250}


@given(st.lists(st.floats(0, 10), min_size=1, max_size=5), st.floats(0, 1))
def test_a_variant_of_weight_zero_gets_nothing(shares: list[float], point: float) -> None:
    weights = [(str(index), share) for index, share in enumerate(shares)]
    chosen = weighted(weights, point)
    assert dict(weights)[chosen] > 0 or not any(shares)
