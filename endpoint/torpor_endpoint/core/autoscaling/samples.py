"""A variant's load as it was seen, made into the data points that scaling policies track. Pure; time comes in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum

POINTS_MAX = 100
"""More than any alarm looks back to."""


@dataclass(frozen=True)
class VariantLoad:
    """What a variant has to do, and with what, at one moment."""

    invocations: int  # since the start: it only ever grows
    in_flight: int  # requests being served or held
    wanted: int  # instances
    ready: int  # instances
    provisioned: int = 0  # ProvisionedConcurrency


@dataclass(frozen=True)
class Seen:
    """One look; `capacity` is what bore the load: ready instances, or provisioned concurrency."""

    at_s: float
    load: VariantLoad
    capacity: int


@dataclass(frozen=True)
class DataPoint:
    """A data point, when its period ended, and the least capacity that there was in it."""

    at_s: float
    value: float | None
    capacity: int


Measure = Callable[[Sequence[Seen]], float | None]
"""What was seen in one period, the end of the period before it first; at least two."""


def invocations_per_instance(row: Sequence[Seen]) -> float | None:
    """A minute's, where "1/numberOfInstances is sent as the value on each request"."""
    shares = [_came(one, next_) / max(1, next_.load.ready) for one, next_ in pairwise(row)]
    return sum(shares) * 60 / (row[-1].at_s - row[0].at_s)


def concurrent_requests_per_instance(row: Sequence[Seen]) -> float | None:
    """In flight, queued ones included, on average."""
    return fsum(seen.load.in_flight / max(1, seen.load.ready) for seen in row[1:]) / (len(row) - 1)


def provisioned_utilization(row: Sequence[Seen]) -> float | None:
    """The most that was in use of the provisioned concurrency, from 0 to 1."""
    loads = [seen.load for seen in row[1:] if seen.load.provisioned]
    return max((min(load.in_flight / load.provisioned, 1.0) for load in loads), default=None)


def _came(one: Seen, other: Seen) -> int:
    """Invocations between two looks; a count that fell has begun anew."""
    grown = other.load.invocations - one.load.invocations
    return grown if grown >= 0 else other.load.invocations


@dataclass(frozen=True)
class Samples:
    """The data points of one metric, oldest first, and what was `seen` since the last of them."""

    seen: tuple[Seen, ...] = ()
    points: tuple[DataPoint, ...] = ()

    def noted(self, seen: Seen, period_s: float, measure: Measure) -> "Samples":
        """Periods end at multiples of themselves, at the first look after it; one look ends one period at most."""
        if not self.seen or seen.at_s <= self.seen[0].at_s:  # the first look, or a clock that was set back
            return Samples((seen,), tuple(point for point in self.points if point.at_s < seen.at_s))
        row = (*self.seen, seen)
        if seen.at_s // period_s == self.seen[0].at_s // period_s:
            return Samples(row, self.points)
        point = DataPoint(seen.at_s, measure(row), min(one.capacity for one in row))
        return Samples((seen,), (*self.points, point)[-POINTS_MAX:])

    def until(self, at_s: float) -> tuple[DataPoint, ...]:
        """The data points that are known by then."""
        return tuple(point for point in self.points if point.at_s <= at_s)
