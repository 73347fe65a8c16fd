"""Summarizes many samples: their count, sum, extremes and a sketch. Tallies can be merged; they have no time."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from torpor_account.metrics import sketch

FEW = 8
"""So many distinct values are counted exactly: most metrics have one or two."""


class Tally:
    """A tally that still grows. One thread writes; any may read, and may miss the sample that is just being added."""

    __slots__ = ("_count", "_few", "_maximum", "_minimum", "_sketch", "_sum")

    def __init__(self) -> None:
        self._few: dict[float, float] = {}  # exact counts by value; the other fields hold all other values
        self._count = 0.0
        self._sum = 0.0
        self._minimum = inf
        self._maximum = -inf
        self._sketch: dict[int, float] = {}  # counts by `sketch.key`

    @classmethod
    def of(cls, values: Iterable[float], count: float = 1.0) -> "Tally":
        """The tally of `count` samples of each value."""
        tally = cls()
        for value in values:
            tally.add(value, count)
        return tally

    @classmethod
    def of_sums(cls, count: float, total: float, minimum: float, maximum: float) -> "Tally":
        """The tally of samples of which only the sums are known: without a distribution, unless all were equal."""
        tally = cls()
        tally._count, tally._sum, tally._minimum, tally._maximum = count, total, minimum, maximum
        if minimum == maximum:
            tally._sketch[sketch.key(minimum)] = count
        return tally

    def add(self, value: float, count: float = 1.0) -> None:
        few = self._few
        if value in few:
            few[value] += count
        elif len(few) < FEW:
            few[value] = count
        else:
            self._count += count
            self._sum += value * count
            if value < self._minimum:
                self._minimum = value
            if value > self._maximum:
                self._maximum = value
            at, counts = sketch.key(value), self._sketch
            counts[at] = counts[at] + count if at in counts else count

    def add_all(self, values: Sequence[float]) -> None:
        """Add one sample of each value."""
        if len(self._few) < FEW or not values:
            for value in values:
                self.add(value)
            return
        self._count += len(values)
        self._sum += sum(values)
        self._minimum = min(self._minimum, *values)
        self._maximum = max(self._maximum, *values)
        counts = self._sketch
        for at in map(sketch.key, values):
            counts[at] = counts[at] + 1.0 if at in counts else 1.0

    def merge(self, other: "Tally | PackedTally") -> None:
        self._count += other.count
        self._sum += other.sum
        self._minimum = min(self._minimum, other.minimum)
        self._maximum = max(self._maximum, other.maximum)
        for at, count in other.items():
            self._sketch[at] = self._sketch.get(at, 0.0) + count

    # -- reading ---------------------------------------------------------------------------------------------------
    @property
    def count(self) -> float:
        return self._count + sum(list(self._few.values()))

    @property
    def sum(self) -> float:
        return self._sum + sum([value * count for value, count in list(self._few.items())])

    @property
    def minimum(self) -> float:
        """The smallest sample; inf without samples."""
        return float(min([self._minimum, *self._few]))

    @property
    def maximum(self) -> float:
        """The largest sample; -inf without samples."""
        return float(max([self._maximum, *self._few]))

    def items(self) -> Iterator[tuple[int, float]]:
        """The sketch's keys with their counts: a copy, so that one thread may read while another adds."""
        counts = self._sketch.copy()
        for value, count in list(self._few.items()):
            at = sketch.key(value)
            counts[at] = counts.get(at, 0.0) + count
        return iter(counts.items())

    def packed(self) -> "PackedTally":
        counts = dict(self.items())
        keys, each = array("i", counts), array("d", counts.values())
        return PackedTally(self.count, self.sum, self.minimum, self.maximum, keys, each)


@dataclass(frozen=True, slots=True)
class PackedTally:
    """A tally that grows no more, in an eighth of the memory."""

    count: float
    sum: float
    minimum: float
    maximum: float
    keys: "array[int]"  # quoted: Python 3.11 cannot subscript it
    counts: "array[float]"

    def items(self) -> Iterator[tuple[int, float]]:
        return zip(self.keys, self.counts, strict=True)


def merged(tallies: Iterable[Tally | PackedTally]) -> Tally:
    whole = Tally()
    for tally in tallies:
        whole.merge(tally)
    return whole
