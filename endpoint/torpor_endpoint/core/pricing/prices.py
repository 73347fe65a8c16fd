"""A dated list of AWS's prices for hosting, and the list that ships with Torpor."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.quotes import Quote, SavingsRate
from torpor_endpoint.core.pricing.shipped_prices import PRICE_SOURCE, PRICED_ON, REGION, shipped_quotes

HOUR_S = 3600.0


@dataclass(frozen=True)
class Prices:
    """Prices of one region in US dollars. An item without a quote has no price, which is never 0."""

    types: Mapping[str, InstanceType] = field(repr=False)  # the sizes of hundreds
    quotes: Mapping[str, Quote] = field(repr=False)  # by item
    priced_on: str
    source: str
    region: str = REGION
    savings: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    """By the name of a savings plan: its rates by item, in US dollars an hour."""

    def usd(self, item: str) -> float | None:
        """The price of one unit of this item."""
        quote = self.quotes.get(item)
        return None if quote is None else quote.usd

    def usd_per_hour(self, size: str) -> float | None:
        """The price of an hour of an endpoint's instance of this type, without its volume."""
        return self.usd(size)


def by_item(quotes: Iterable[Quote]) -> Mapping[str, Quote]:
    return MappingProxyType({quote.item: quote for quote in quotes})


def by_plan(rates: Iterable[SavingsRate]) -> Mapping[str, Mapping[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for one in rates:
        found.setdefault(one.plan, {})[one.item] = one.usd
    return MappingProxyType(found)


PRICES = Prices(CATALOGUE, by_item(shipped_quotes(REGION)), PRICED_ON, PRICE_SOURCE)
