"""Chooses between variants, or fleets of a variant, by their weights."""

from collections.abc import Sequence
from typing import Final, TypeVar

GOLDEN: Final = (5**0.5 - 1) / 2
W = TypeVar("W")


def weighted(weights: Sequence[tuple[W, float]], point: float) -> W:
    """The variant, or the fleet of a variant, at `point` (0 to 1), where each has a share by its weight. If all are 0
    the first has all."""
    total = sum(weight for _, weight in weights)
    left = point * total
    for name, weight in weights:
        left -= weight
        if left < 0:
            return name
    return next((name for name, weight in reversed(weights) if weight > 0), weights[0][0])


def in_turn(weights: Sequence[tuple[W, float]], number: int) -> W:
    """The one for the request of this number, from 0. The points are a sequence of low discrepancy (multiples of the
    golden ratio): of the first requests, however many of 3,000, each has its share within three."""
    return weighted(weights, number * GOLDEN % 1.0)
