"""The values that costs are computed from: the ways to serve, their common terms, and what each of them bills."""

from dataclasses import dataclass, fields
from enum import StrEnum
from math import isfinite

from torpor.time_units import HOUR_S
from torpor_endpoint.core.ledger import milliseconds
from torpor_endpoint.core.pricing.accounts import volume_gb
from torpor_endpoint.core.pricing.bills import NOTHING, Bill, Usage, bill, together
from torpor_endpoint.core.pricing.prices import PRICES, Prices

MONTH_H = 730.0
"""The hours of a month in AWS's calculators. AWS's blogs count 30 days, 720 hours."""


class Way(StrEnum):
    ENDPOINT_PER_MODEL = "an endpoint per model, always on"
    MULTI_MODEL = "one multi-model endpoint, always on"
    AUTOSCALED = "one multi-model endpoint, autoscaled"
    ASLEEP = "one multi-model endpoint that scales to zero"
    COMPONENTS = "an inference component per model, always on"
    COMPONENTS_SCALED = "an inference component per model, scaled"
    COMPONENTS_HELD = "an inference component per model, scaled, whose requests wait for a copy"
    COMPONENTS_MULTI_MODEL = "inference components, some with a multi-model container"
    SERVERLESS = "serverless, an endpoint per model"
    SERVERLESS_MULTI_MODEL = "one multi-model endpoint, serverless"
    BATCH = "a batch transform job each night"


NOT_SOLD = frozenset({Way.ASLEEP, Way.COMPONENTS_HELD, Way.COMPONENTS_MULTI_MODEL, Way.SERVERLESS_MULTI_MODEL})
"""Torpor's own: AWS lets inference components scale to zero, where their requests fail, but no multi-model endpoint,
and has serverless inference, and inference components, for one model only."""


def check(**amounts: float) -> None:
    """Raises ValueError for an amount that is negative, infinite or not a number."""
    for name, amount in amounts.items():
        if not (isfinite(amount) and amount >= 0):
            raise ValueError(f"{name} is a number of 0 or more, not {amount}")


@dataclass(frozen=True)
class Cost:
    """What one way costs. `usd` is without the items in `unpriced`, whose price is not known."""

    way: Way
    usd: float | None
    assumes: str
    bill: Bill = NOTHING

    @classmethod
    def of(cls, way: Way, billed: Bill, assumes: str) -> "Cost":
        return cls(way, billed.usd, assumes, billed)

    def with_objects(self, terms: "CostTerms", stored_bytes: int, gets: int) -> "Cost":
        """The cost with that of so many bytes in S3, for the time of the terms, and of the requests that fetch them."""
        if not self.bill.lines:
            return self
        objects = Usage(stored_byte_s=stored_bytes * terms.hours * HOUR_S, gets=gets)
        return Cost.of(self.way, together((self.bill, bill(objects, terms.prices))), self.assumes)

    @property
    def unpriced(self) -> tuple[str, ...]:
        return self.bill.unpriced

    @property
    def sold_by_aws(self) -> bool:
        return self.way not in NOT_SOLD


@dataclass(frozen=True)
class CostTerms:
    """The prices and the time that all ways are computed with."""

    prices: Prices = PRICES
    hours: float = MONTH_H
    volumes: bool = True  # whether the volumes of instances are counted

    def __post_init__(self) -> None:
        check(hours=self.hours)

    def by_the_second(self, size: str, instance_s: float, moved_bytes: int = 0, job: bool = False) -> Bill:
        """The bill of instances that are billed by the hour. `instance_s` is the sum over all of them."""
        check(instance_s=instance_s, moved_bytes=moved_bytes)
        held_gb_s = volume_gb(size) * instance_s if self.volumes else 0.0
        used = Usage(size, instance_s=instance_s, volume_gb_s=held_gb_s, moved_bytes=moved_bytes, job=job)
        return bill(used, self.prices)


TERMS = CostTerms()


def per_month(usd: float | None, duration_s: float, hours: float = MONTH_H) -> float | None:
    """The cost of a month of `hours` hours, if `duration_s` seconds cost `usd`. None if the price is not known, or the
    duration is 0."""
    return None if usd is None or not duration_s else usd * hours * HOUR_S / duration_s


@dataclass(frozen=True)
class HeldInstances:
    """Instances of one type."""

    size: str
    instances: int = 1

    def __post_init__(self) -> None:
        check(instances=self.instances)

    def __str__(self) -> str:
        return f"{self.instances:,} x {self.size}"


@dataclass(frozen=True)
class Calls:
    """Sums of requests. The milliseconds of each request are rounded up, as serverless inference is billed."""

    requests: int = 0
    predict_ms: int = 0
    start_ms: int = 0  # the wait for an instance and a model
    moved_bytes: int = 0

    def __post_init__(self) -> None:
        check(**{each.name: getattr(self, each.name) for each in fields(self)})

    def __add__(self, other: "Calls") -> "Calls":
        return Calls(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @classmethod
    def alike(cls, requests: int, predict_s: float, moved_bytes: int = 0) -> "Calls":
        """This many requests, each with these seconds and bytes."""
        return cls(requests, requests * milliseconds(predict_s), 0, requests * moved_bytes)


NO_CALLS = Calls()


@dataclass(frozen=True)
class Component:
    """The resources that an inference component reserves for a model, whether it is called or not."""

    memory_mib: int
    cpus: float = 0.0
    gpus: int = 0
    copies: int = 1

    def __post_init__(self) -> None:
        check(**{each.name: getattr(self, each.name) for each in fields(self)})
