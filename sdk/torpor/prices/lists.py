"""Price lists: for each figure the item, the unit, the date and the source. They read no file."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.prices import Prices, by_item, by_plan
from torpor_endpoint.core.pricing.quotes import Quote, SavingsRate
from torpor_endpoint.core.pricing.shipped_prices import PRICE_SOURCE, PRICED_ON, REGION, shipped_quotes


@dataclass(frozen=True)
class PriceList:
    """The prices of one region. An item without a quote has no price. `types` has the sizes of instance types."""

    region: str
    dated: str
    source: str
    quotes: tuple[Quote, ...]
    types: Mapping[str, InstanceType] = field(default_factory=lambda: CATALOGUE)
    savings: tuple[SavingsRate, ...] = ()  # of savings plans

    @property
    def prices(self) -> Prices:
        """The prices as the costs of the simulator and of the live endpoint's ledger use them."""
        return Prices(self.types, by_item(self.quotes), self.dated, self.source, self.region, by_plan(self.savings))


SHIPPED = PriceList(REGION, PRICED_ON, PRICE_SOURCE, shipped_quotes(REGION))
