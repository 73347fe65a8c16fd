"""Weights are shares, of a point between 0 and 1 and of requests in turn."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.routing.weighted_choice import in_turn, weighted


def test_weights_are_shares() -> None:
    weights = [("blue", 3.0), ("green", 1.0)]
    drawn = Counter(weighted(weights, point / 1000) for point in range(1000))
    assert drawn == {"blue": 750, "green": 250}


@given(st.lists(st.floats(0, 10), min_size=1, max_size=5), st.floats(0, 1))
def test_a_variant_of_weight_zero_gets_nothing(shares: list[float], point: float) -> None:
    weights = [(str(index), share) for index, share in enumerate(shares)]
    chosen = weighted(weights, point)
    assert dict(weights)[chosen] > 0 or not any(shares)


@pytest.mark.parametrize(
    ("shares", "point", "chosen"),
    [
        ((0, 1, 1), 0.0, 1),
        ((1, 1, 0), 0.5, 1),
        ((0.5, 0.5, 0), 1.0, 1),  # the last one that has a share
        ((0, 0, 0), 0.0, 0),
        ((0, 0, 0), 1.0, 0),
    ],
)
def test_a_share_begins_at_its_lower_end(shares: tuple[float, ...], point: float, chosen: int) -> None:
    assert weighted(list(enumerate(shares)), point) == chosen


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_requests_in_a_row_are_divided_by_the_shares_from_the_first_on(share: float) -> None:
    weights = [("blue", 1 - share), ("green", share)]
    green = 0
    for number in range(500):
        green += in_turn(weights, number) == "green"
        assert abs(green - share * (number + 1)) < 2.5
