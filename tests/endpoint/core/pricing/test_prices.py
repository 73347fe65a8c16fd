"""An unknown price is None, and so is every sum with it."""

from dataclasses import replace

from torpor_endpoint.core.pricing.prices import PRICES


def test_a_type_without_a_price_costs_none_not_nothing() -> None:
    assert PRICES.usd_by_the_hour("ml.m4.xlarge", 1.0) is None
    assert PRICES.usd_by_the_hour("ml.m5.gigantic", 0.0) is None
    assert PRICES.usd_by_the_hour("ml.m5.large", 2.0) == 0.23


def test_a_region_without_serverless_prices_gives_none() -> None:
    assert replace(PRICES, usd_per_gb_s=None).usd_by_the_call(1000, 2.0, 0) is None


def test_data_needs_a_price_only_if_it_moved() -> None:
    unknown = replace(PRICES, usd_per_gb_moved=None)
    assert unknown.usd_by_the_call(1000, 2.0, 0) == 2 * 0.00002
    assert unknown.usd_by_the_call(1000, 2.0, 1) is None
