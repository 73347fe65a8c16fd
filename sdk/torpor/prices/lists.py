"""Price lists: for each figure the item, the unit, the date and the source. They read no file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from torpor_endpoint.core.pricing import catalogue
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.prices import Prices

SERVERLESS = "serverless inference, processing"
DATA_MOVED = "serverless inference, data in and out"

HOUR, GB_SECOND, GB = "hour", "GB-second", "GB"


@dataclass(frozen=True)
class Quote:
    """One figure of a price list."""

    item: str  # an ml.* type, SERVERLESS or DATA_MOVED
    usd: float
    unit: str  # the price is for one of these
    dated: str  # since when it is valid, or when it was read
    source: str


@dataclass(frozen=True)
class PriceList:
    """The prices of one region. An item without a quote has no price. `types` has the sizes of instance types."""

    region: str
    dated: str
    source: str
    quotes: tuple[Quote, ...]
    types: Mapping[str, InstanceType] = field(default_factory=lambda: CATALOGUE)

    @property
    def prices(self) -> Prices:
        """The prices as the costs of the simulator and of the live endpoint's ledger use them."""
        usd = {quote.item: quote.usd for quote in self.quotes}
        types = {name: replace(one, usd_per_hour=usd.get(name)) for name, one in self.types.items()}
        return Prices(MappingProxyType(types), usd.get(SERVERLESS), usd.get(DATA_MOVED), self.dated, self.source)


SHIPPED = PriceList(
    "us-east-1",
    catalogue.PRICED_ON,
    catalogue.PRICE_SOURCE,
    (
        *(
            Quote(name, usd, HOUR, catalogue.PRICED_ON, catalogue.PRICE_SOURCE)
            for name, usd in catalogue.USD_PER_HOUR.items()
        ),
        Quote(
            SERVERLESS,
            catalogue.SERVERLESS_USD_PER_GB_SECOND,
            GB_SECOND,
            catalogue.SERVERLESS_PRICED_ON,
            catalogue.SERVERLESS_SOURCE,
        ),
        Quote(
            DATA_MOVED,
            catalogue.SERVERLESS_USD_PER_GB_MOVED,
            GB,
            catalogue.MOVED_PRICED_ON,
            catalogue.MOVED_SOURCE,
        ),
    ),
)
