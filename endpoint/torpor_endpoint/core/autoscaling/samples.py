"""Makes readings of a variant's load into the data points that scaling policies track. Pure; callers give the time."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import floor, fsum

from torpor_container.frozen_class import frozen

POINTS_MAX = 100
"""More data points than any alarm evaluates."""


@frozen
class VariantLoad:
    """A variant's requests and instances at one moment."""

    invocations: int  # since the start; it only grows
    in_flight: int  # requests being served or held
    desired: int  # instances
    ready: int  # instances
    provisioned: int = 0  # ProvisionedConcurrency


@frozen
class FleetPart:
    """One fleet of a variant at one moment. A rollout has two, each with its share of the requests."""

    share: float
    in_flight: int
    desired: int  # instances
    ready: int  # instances
    provisioned: int = 0  # ProvisionedConcurrency


SHARE_ERROR = 1e-9
"""What a share may be off by."""


def load_of(invocations: int, fleets: Sequence[FleetPart]) -> VariantLoad:
    """The load of a variant with these fleets, as if one fleet bore it.

    Two fleets bear as much as the one whose instances have most of the requests lets them: the new fleet of a canary is
    no help yet for the old one, and the two fleets of a rolling update are as much as one.
    """
    bearing = [fleet for fleet in fleets if fleet.share > SHARE_ERROR]
    return VariantLoad(
        invocations,
        sum(fleet.in_flight for fleet in fleets),
        min((floor(fleet.desired / fleet.share + SHARE_ERROR) for fleet in bearing), default=0),
        min((floor(fleet.ready / fleet.share + SHARE_ERROR) for fleet in bearing), default=0),
        max((fleet.provisioned for fleet in bearing), default=0),
    )


@frozen
class LoadReading:
    """One reading of a load. `capacity` is what bore it: ready instances, or provisioned concurrency."""

    at_s: float
    load: VariantLoad
    capacity: int


@frozen
class DataPoint:
    """A data point, with the end of its period in epoch seconds, and the least capacity in the period."""

    at_s: float
    value: float | None
    capacity: int


Measure = Callable[[Sequence[LoadReading]], float | None]
"""Takes the readings of one period, at least two; the first one is the end of the period before."""


def invocations_per_instance(row: Sequence[LoadReading]) -> float | None:
    """Per minute. AWS: "1/numberOfInstances is sent as the value on each request"."""
    shares = [_came(one, next_) / max(1, next_.load.ready) for one, next_ in pairwise(row)]
    return sum(shares) * 60 / (row[-1].at_s - row[0].at_s)


def concurrent_requests_per_instance(row: Sequence[LoadReading]) -> float | None:
    """Requests in flight, with the queued ones, on average."""
    return fsum(reading.load.in_flight / max(1, reading.load.ready) for reading in row[1:]) / (len(row) - 1)


def of_copies(measure: Measure) -> Measure:
    """The measure of an inference component, whose copies emit its metrics: without any, and without a request that
    waits for one, there is no value. So the idle time before a copy came does not count against it."""

    def measured(row: Sequence[LoadReading]) -> float | None:
        return measure(row) if any(one.load.ready or one.load.in_flight for one in row[1:]) else None

    return measured


def provisioned_utilization(row: Sequence[LoadReading]) -> float | None:
    """The largest share of the provisioned concurrency in use, from 0 to 1."""
    loads = [reading.load for reading in row[1:] if reading.load.provisioned]
    return max((min(load.in_flight / load.provisioned, 1.0) for load in loads), default=None)


def _came(one: LoadReading, other: LoadReading) -> int:
    """Invocations between two readings. A count that fell has started again from 0."""
    grown = other.load.invocations - one.load.invocations
    return grown if grown >= 0 else other.load.invocations


@frozen
class Samples:
    """The data points of one metric, oldest first, and the readings since the last of them."""

    readings: tuple[LoadReading, ...] = ()
    points: tuple[DataPoint, ...] = ()

    def noted(self, reading: LoadReading, period_s: float, measure: Measure) -> "Samples":
        """The samples with one more reading.

        A period ends at the first reading after a multiple of `period_s`. One reading ends at most one period. One
        without capacity and without a value ends what was measured before it: the calls of another day must not
        remove what has just been started.
        """
        if not self.readings or reading.at_s < self.readings[0].at_s:  # the first one, or the clock was set back
            return Samples((reading,), self.until(reading.at_s))
        row = (*self.readings, reading)
        if reading.at_s // period_s == self.readings[0].at_s // period_s:
            return Samples(row, self.points)
        point = DataPoint(reading.at_s, measure(row), min(one.capacity for one in row))
        earlier = () if point.capacity == 0 and point.value is None else self.points
        return Samples((reading,), (*earlier, point)[-POINTS_MAX:])

    def until(self, at_s: float) -> tuple[DataPoint, ...]:
        """The data points up to this time."""
        return tuple(point for point in self.points if point.at_s <= at_s)
