"""A price list: for each figure the item, the unit, the date and the source; the one that ships, or one that is kept.

It reads no file.
"""

from dataclasses import dataclass

from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.prices import Prices, by_item, by_plan
from torpor_endpoint.core.pricing.quotes import Quote, SavingsRate
from torpor_endpoint.core.pricing.shipped_prices import PRICE_SOURCE, PRICED_ON, REGION, shipped_quotes


@dataclass(frozen=True)
class PriceList:
    """The prices of one region. An item without a quote has no price. `types` are the sizes of instance types that
    Torpor does not know."""

    region: str
    dated: str
    source: str
    quotes: tuple[Quote, ...]
    types: tuple[InstanceType, ...] = ()
    savings: tuple[SavingsRate, ...] = ()  # of savings plans

    @property
    def prices(self) -> Prices:
        """The prices as every bill uses them."""
        types = {**{one.name: one for one in self.types}, **CATALOGUE}
        return Prices(types, by_item(self.quotes), self.dated, self.source, self.region, by_plan(self.savings))


SHIPPED = PriceList(REGION, PRICED_ON, PRICE_SOURCE, shipped_quotes(REGION))
