"""A dated list of AWS's prices for hosting, the list that ships with Torpor, and the price of a given use."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torpor_endpoint.core.pricing import catalogue
from torpor_endpoint.core.pricing.catalogue import InstanceType

HOUR_S = 3600.0
BYTES_PER_GB = 2**30


@dataclass(frozen=True)
class Prices:
    """Prices in US dollars. An unknown price is None, and makes each sum with it None."""

    types: Mapping[str, InstanceType] = field(repr=False)  # hundreds
    usd_per_gb_s: float | None  # serverless inference: memory times processing
    usd_per_gb_moved: float | None  # serverless inference: data in and out
    priced_on: str
    source: str

    def usd_per_hour(self, size: str) -> float | None:
        found = self.types.get(size)
        return None if found is None else found.usd_per_hour

    def usd_by_the_hour(self, size: str, instance_hours: float) -> float | None:
        """The price of so many hours of instances of this type."""
        per_hour = self.usd_per_hour(size)
        return None if per_hour is None else per_hour * instance_hours

    def usd_by_the_call(self, billed_ms: int, gb: float, moved_bytes: int) -> float | None:
        """The price of requests to serverless inference. Without moved data its price may be unknown."""
        if self.usd_per_gb_s is None or (moved_bytes and self.usd_per_gb_moved is None):
            return None
        return billed_ms / 1000 * gb * self.usd_per_gb_s + moved_bytes / BYTES_PER_GB * (self.usd_per_gb_moved or 0.0)


PRICES = Prices(
    catalogue.CATALOGUE,
    catalogue.SERVERLESS_USD_PER_GB_SECOND,
    catalogue.SERVERLESS_USD_PER_GB_MOVED,
    catalogue.PRICED_ON,
    catalogue.PRICE_SOURCE,
)
