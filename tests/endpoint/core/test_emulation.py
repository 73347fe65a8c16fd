"""AWS's cold starts, drawn."""

import random
from math import isclose
from statistics import median

import pytest

from torpor_endpoint.core.emulation import AWS, start_delay_s


@pytest.mark.parametrize("kind", AWS)
def test_most_delays_lie_in_the_span_and_half_of_them_below_its_middle(kind: str) -> None:
    span, dice = AWS[kind], random.Random(5)
    drawn = [span.at(dice.gauss()) for _ in range(4000)]
    inside = sum(span.low_s <= delay_s <= span.high_s for delay_s in drawn) / len(drawn)
    assert 0.94 < inside < 0.97
    assert isclose(median(drawn), (span.low_s * span.high_s) ** 0.5, rel_tol=0.03)


def test_nothing_is_emulated_unless_asked() -> None:
    assert start_delay_s(None, True, lambda: 3.0) == 0.0
    assert 1.0 < start_delay_s("aws", True, lambda: 0.0) < 5.0
    assert start_delay_s("aws", False, lambda: 0.0) > 180.0
