"""What is kept of many samples: their count, sum, extremes and a sketch. Tallies add up; they know no time."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from torpor_endpoint.cloudwatch import sketch


class Tally:
    """A tally that still grows. `sketch` counts samples by `sketch.key`."""

    __slots__ = ("count", "maximum", "minimum", "sketch", "sum")

    def __init__(self) -> None:
        self.count = 0.0
        self.sum = 0.0
        self.minimum = inf
        self.maximum = -inf
        self.sketch: dict[int, float] = {}

    @classmethod
    def of(cls, values: Iterable[float]) -> "Tally":
        tally = cls()
        for value in values:
            tally.add(value)
        return tally

    def add(self, value: float, count: float = 1.0) -> None:
        self.count += count
        self.sum += value * count
        if value < self.minimum:
            self.minimum = float(value)  # a flag or a count: an answer has them as numbers with a fraction
        if value > self.maximum:
            self.maximum = float(value)
        at = (sketch.ONE if value == 1 else sketch.key(value)) if value else 0  # most samples count one, or nothing
        counts = self.sketch
        counts[at] = counts[at] + count if at in counts else count

    def merge(self, other: "Tally | PackedTally") -> None:
        self.count += other.count
        self.sum += other.sum
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        for at, count in other.items():
            self.sketch[at] = self.sketch.get(at, 0.0) + count

    def items(self) -> Iterator[tuple[int, float]]:
        """Keys of the sketch with their counts; a copy, so that one thread may read while another adds."""
        return iter(list(self.sketch.items()))

    def packed(self) -> "PackedTally":
        keys, counts = array("i", self.sketch), array("d", self.sketch.values())
        return PackedTally(self.count, self.sum, self.minimum, self.maximum, keys, counts)


@dataclass(frozen=True, slots=True)
class PackedTally:
    """A tally of a minute that is over, in an eighth of the memory."""

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
