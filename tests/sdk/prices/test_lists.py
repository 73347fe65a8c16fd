"""The live endpoint uses the shipped list, and every figure of it names its source."""

from dataclasses import replace

from torpor.prices import SERVERLESS, SHIPPED
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.pricing.shipped_prices import USD_PER_HOUR


def test_the_simulators_prices_are_the_ledgers() -> None:
    assert SHIPPED.prices == PRICES


def test_every_figure_has_a_day_and_a_source() -> None:
    assert {quote.item for quote in SHIPPED.quotes} > set(USD_PER_HOUR)
    assert all(quote.usd > 0 and quote.dated and quote.source and quote.unit for quote in SHIPPED.quotes)


def test_without_its_quote_a_figure_is_not_known() -> None:
    kept = tuple(quote for quote in SHIPPED.quotes if quote.item not in (SERVERLESS, "ml.m5.large"))
    prices = replace(SHIPPED, quotes=kept).prices
    assert (prices.usd(SERVERLESS), prices.usd_per_hour("ml.m5.large")) == (None, None)
    assert prices.usd_per_hour("ml.r5.2xlarge") == 0.605
