"""The list that ships: each figure has a date and a source, and what has none has no price."""

from dataclasses import replace

import pytest

from torpor_endpoint.core.pricing.bills import Usage, bill
from torpor_endpoint.core.pricing.prices import PRICES, by_item
from torpor_endpoint.core.pricing.quotes import DATA_MOVED, HOUR, SERVERLESS, UNITS, Quote
from torpor_endpoint.core.pricing.shipped_prices import shipped_quotes, shipped_regions


def test_a_type_without_a_price_has_none() -> None:
    types = ("ml.m4.xlarge", "ml.m5.gigantic", "ml.m5.large")
    assert [PRICES.usd_per_hour(one) for one in types] == [None, None, 0.115]


@pytest.mark.parametrize("region", shipped_regions())
def test_every_figure_that_ships_has_a_date_a_source_and_its_unit(region: str) -> None:
    quotes = shipped_quotes(region)
    assert len({quote.item for quote in quotes}) == len(quotes)
    for quote in quotes:
        assert quote.usd > 0, quote
        assert quote.dated[:2] == "20", quote
        assert quote.source, quote
        assert quote.unit == UNITS.get(quote.item, HOUR), quote


def test_no_price_is_known_of_a_region_without_a_source() -> None:
    assert shipped_quotes("mars-1") == ()


def test_without_the_price_of_processing_there_is_no_sum() -> None:
    unknown = replace(PRICES, quotes={item: quote for item, quote in PRICES.quotes.items() if item != SERVERLESS})
    found = bill(Usage(memory_gb=2.0, processing_ms=1000), unknown)
    assert (found.usd, found.unpriced) == (None, (SERVERLESS,))


def test_without_the_price_of_data_the_sum_is_of_the_rest_and_names_it() -> None:
    unknown = replace(PRICES, quotes=by_item([Quote(SERVERLESS, 0.00002, "GB-second", "2026", "here")]))
    found = bill(Usage(memory_gb=2.0, processing_ms=1000, moved_bytes=1), unknown)
    assert found.usd == pytest.approx(2 * 0.00002)
    assert found.unpriced == (DATA_MOVED,)
