"""The price list in use: the one that the user keeps, else the one that ships. It is made from AWS's files."""

from dataclasses import replace
from pathlib import Path

from torpor.errors import TorporError
from torpor.prices.aws_price_list import read, read_savings
from torpor.prices.savings_offers import is_of_savings
from torpor_endpoint.core.pricing.price_list import SHIPPED, PriceList
from torpor_endpoint.core.pricing.quotes import S3_GETS, S3_PUTS, S3_STORED
from torpor_endpoint.core.pricing.shipped_prices import PRICED_ON, shipped_quotes, shipped_regions
from torpor_endpoint.kept_prices import KeptPricesUnusable, keep, kept_path, kept_prices

OF_S3 = frozenset({S3_STORED, S3_GETS, S3_PUTS})


def current(region: str | None = None) -> PriceList:
    """The price list in use, or what ships of another region. Raises TorporError for a kept list that cannot be used,
    and for a region of which no price is known."""
    kept = _kept()
    found = SHIPPED if kept is None else kept
    if region is None or region == found.region:
        return found
    quotes = shipped_quotes(region)
    if not quotes:
        known = ", ".join(dict.fromkeys((found.region, *shipped_regions())))
        raise TorporError(f"no price of {region} is known, only of {known}: `torpor prices update FILE` takes AWS's")
    dated = max(quote.dated for quote in quotes)
    return PriceList(region, min(dated, PRICED_ON), f"what is known of {region}, from several sources", quotes)


def update(path: Path, region: str | None = None) -> PriceList:
    """Keep the prices of one region of AWS's file, and return the list in use from then on.

    SageMaker's file takes the place of the list, beside what is known of S3 in the same region. S3's file takes the
    place of what the list had of S3, and the file of savings plans that of their rates. If the file cannot be used, the
    list stays as it is. Raises OSError, PriceFileRefused.
    """
    if is_of_savings(path):
        return _kept_from(replace(current(region), savings=read_savings(path)))
    found = read(path, region)
    try:
        before = current(found.region)
    except TorporError:
        before = replace(found, quotes=())
    items = {quote.item for quote in found.quotes}
    others = tuple(quote for quote in before.quotes if quote.item not in items)
    if items <= OF_S3:
        kept = replace(before, quotes=(*others, *found.quotes))
    else:
        beside = (quote for quote in others if quote.item in OF_S3)
        kept = replace(found, quotes=(*found.quotes, *beside), savings=before.savings)
    return _kept_from(kept)


def reset() -> bool:
    """Forget the kept list: whether there was one. Raises OSError."""
    had = kept_path().exists()
    kept_path().unlink(missing_ok=True)
    return had


# -- inside --------------------------------------------------------------------------------------------------------
def _kept_from(found: PriceList) -> PriceList:
    """Keep this list, and return it."""
    keep(found)
    return found


def _kept() -> PriceList | None:
    try:
        return kept_prices()
    except KeptPricesUnusable as error:
        raise TorporError(str(error)) from error
