"""The sketch keeps the distribution of many numbers in little memory, and distances are those of all numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.drift.core.quantile_sketch import Distribution, QuantileSketch, largest_gap


def sketch(*values: float, k: int = 2048) -> QuantileSketch:
    found = QuantileSketch(k=k)
    for value in values:
        found.add(value)
    return found


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400))
def test_it_counts_every_number(values: list[float]) -> None:
    found = sketch(*values, k=16)
    assert found.count == len(values)
    assert Distribution(found).up_to(max(values)) == 1.0


def test_shares_are_near_those_of_all_numbers_in_a_bounded_memory() -> None:
    values = [float((number * 7919) % 100_003) for number in range(100_003)]
    found = sketch(*values)
    shares = Distribution(found)
    assert sum(map(len, found.levels)) < 8_000
    for value in range(0, 100_003, 9_973):
        assert shares.up_to(value) == pytest.approx((value + 1) / 100_003, abs=0.005)


def test_the_gap_is_the_largest_difference_of_the_shares() -> None:
    assert largest_gap(sketch(1, 2, 3, 4), sketch(1, 2, 3, 4)) == 0
    assert largest_gap(sketch(1, 2, 3, 4), sketch(5, 6)) == 1
    assert largest_gap(sketch(1, 2, 3, 4), sketch(3, 4, 5, 6)) == 0.5
