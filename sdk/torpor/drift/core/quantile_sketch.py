"""A KLL sketch of numbers: how they are distributed, in a memory that hardly grows with their count.

The method is that of Karnin, Lang and Liberty, "Optimal Quantile Approximation in Streams" (FOCS 2016), and the
parameters are those of AWS's analyzer: k = 2048, c = 0.64. Its coin is replaced by a turn: a level keeps its odd
numbers and its even ones by turns, so that the same numbers give the same sketch.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import ceil

K = 2048
C = 0.64
LEAST = 2
"""The fewest numbers that a level holds."""


class QuantileSketch:
    """`levels[n]` has numbers that stand for 2**n each."""

    def __init__(self, levels: Iterable[Sequence[float]] = ((),), k: int = K, c: float = C) -> None:
        self.k, self.c = k, c
        self.levels: list[list[float]] = [list(level) for level in levels] or [[]]
        self._odd = False

    def add(self, value: float) -> None:
        self.levels[0].append(value)
        if len(self.levels[0]) >= self._capacity(0):
            self._compress()

    @property
    def count(self) -> int:
        """How many numbers the sketch stands for."""
        return sum(len(level) << number for number, level in enumerate(self.levels))

    def weighted(self) -> list[tuple[float, int]]:
        """The kept numbers in ascending order, each with how many it stands for."""
        return sorted((value, 1 << number) for number, level in enumerate(self.levels) for value in level)

    def _compress(self) -> None:
        number = 0
        while number < len(self.levels) and len(self.levels[number]) >= self._capacity(number):
            if number + 1 == len(self.levels):
                self.levels.append([])
            level = sorted(self.levels[number])
            kept = [level.pop()] if len(level) % 2 else []  # a number without a partner stays
            self.levels[number + 1] += level[self._odd :: 2]
            self.levels[number] = kept
            self._odd = not self._odd
            number += 1

    def _capacity(self, number: int) -> int:
        depth = len(self.levels) - number - 1
        return max(LEAST, ceil(self.k * self.c**depth))


class Distribution:
    """The share of numbers up to a value, of a sketch that is complete."""

    def __init__(self, sketch: QuantileSketch) -> None:
        self.values: list[float] = []
        self._shares: list[float] = []
        count, so_far = sketch.count, 0
        for value, weight in sketch.weighted():
            so_far += weight
            self.values.append(value)
            self._shares.append(so_far / count)

    def up_to(self, value: float) -> float:
        place = bisect_right(self.values, value)
        return self._shares[place - 1] if place else 0.0


def largest_gap(one: QuantileSketch, other: QuantileSketch) -> float:
    """The largest difference of the two shares up to any value: the statistic of Kolmogorov and Smirnov. Both sketches
    have numbers."""
    first, second = Distribution(one), Distribution(other)
    return max(abs(first.up_to(value) - second.up_to(value)) for value in (*first.values, *second.values))
