"""The room for models in an instance, estimated from what it evicted."""

from collections import OrderedDict
from collections.abc import Iterator

import numpy as np
import pytest

from torpor.simulator.fitting.room_of_evictions import MemoryReport, room_bytes

SIZES = {f"m{number}": (2_000_000, 4_000_000, 8_000_000)[number % 3] for number in range(40)}
MEASURED = 90_000_000


def lived(
    room: int, requests: int = 600, instance: str = "i-1", wavers: int = 0, seed: int = 1
) -> Iterator[MemoryReport]:
    """The loads of an instance with this room that evicts by LRU. The room of each load wavers by so many bytes."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(SIZES) + 1)
    held = OrderedDict[str, int]()
    for number in rng.choice(len(SIZES), requests, p=weights / weights.sum()).tolist():
        name = f"m{number}"
        if name in held:
            held.move_to_end(name)
            continue
        victims = []
        now = room + int(rng.integers(-wavers, wavers + 1))
        while held and sum(held.values()) + SIZES[name] > now:
            victims.append(held.popitem(last=False)[0])
        held[name] = SIZES[name]
        yield MemoryReport(instance, name, victims, victims)


@pytest.mark.parametrize("room", [70_000_000, 89_000_000, 91_500_000, 110_000_000])
def test_the_room_is_one_in_which_the_instance_would_have_decided_the_same(room: int) -> None:
    found = room_bytes(lived(room), SIZES, MEASURED)
    assert list(lived(found)) == list(lived(room))


def test_of_rooms_that_decide_alike_the_nearest_to_the_measured_one_is_taken() -> None:
    assert room_bytes(lived(90_500_000), SIZES, MEASURED) == MEASURED  # sizes are multiples of 2 MB
    assert room_bytes(lived(93_000_000), SIZES, MEASURED) == 92_000_000


def test_a_room_that_wavers_is_found_within_a_model() -> None:
    found = room_bytes(lived(100_000_000, wavers=1_500_000), SIZES, MEASURED)
    assert abs(found - 100_000_000) <= 2_000_000


def test_each_instance_has_models_of_its_own() -> None:
    pairs = zip(lived(75_000_000), lived(75_000_000, instance="i-2", seed=2), strict=False)
    found = room_bytes((one for pair in pairs for one in pair), SIZES, MEASURED)
    assert 74_000_000 <= found < 76_000_000


def test_few_evictions_say_nothing() -> None:
    assert room_bytes(lived(70_000_000, requests=40), SIZES, MEASURED) == MEASURED
    assert room_bytes([], SIZES, MEASURED) == MEASURED
