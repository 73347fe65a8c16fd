"""The same traffic on AWS: AWS's own figures are reproduced, and each assumption is named."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.ledger_with_pages import life
from torpor_endpoint.core.ledger import Sums
from torpor_endpoint.core.pricing.accounts import ModelTraffic, VariantUse, Window
from torpor_endpoint.core.pricing.alternatives import PricedAlternative, alternatives, peak
from torpor_endpoint.core.pricing.catalogue import InstanceType
from torpor_endpoint.core.pricing.prices import PRICES, Prices, by_item
from torpor_endpoint.core.pricing.quotes import HOUR, Quote

HOUR_S = 3600.0
MONTH = Window(0.0, 720 * HOUR_S)
BLOG = replace(
    PRICES,
    types={
        "ml.c5.large": InstanceType("ml.c5.large", 2, 4096, 0),
        "ml.r5.2xlarge": InstanceType("ml.r5.2xlarge", 8, 65536, 0),
    },
    quotes=by_item(
        Quote(name, usd, HOUR, "2019", "") for name, usd in (("ml.c5.large", 0.119), ("ml.r5.2xlarge", 0.706))
    ),
)
"""The prices of 2019, without those of volumes and data."""
VOLUME_HOUR_USD = 30 * 0.14 / 730
"""Of 30 GB."""


def traffic(models: int, size: str, predict_ms: int = 1, errors: int = 0) -> list[ModelTraffic]:
    sums = Sums(1, 0, errors, 0.0, 0.0, predict_ms / 1000, predict_ms, predict_ms, 0, 0)
    return [ModelTraffic("houses", "v", f"model {number}", size, sums) for number in range(models)]


def by_way(account: VariantUse, window: Window = MONTH, prices: Prices = PRICES) -> list[PricedAlternative]:
    return list(alternatives(account, window, prices))


def test_the_cost_of_a_thousand_models_is_that_of_awss_blog() -> None:
    """1000 endpoints, 2 instances each, 720 h at $0.119 are $171,360; one endpoint of 2 at $0.706 is $1,016.64."""
    lives = [life(0.0, instance=f"i-{slot}", slot=slot, size="ml.r5.2xlarge") for slot in range(2)]
    one, two, multi, _ = by_way(VariantUse("houses", "v", lives, traffic(1000, "ml.r5.2xlarge")), prices=BLOG)
    assert (one.usd, two.usd, multi.usd) == pytest.approx((85_680.0, 171_360.0, 1_016.64))
    assert "1,000 models that answered, on ml.c5.large" in two.assumes
    assert "2 instances, as many as ran at once, on ml.r5.2xlarge" in multi.assumes


def test_serverless_bills_no_loading_and_always_on_takes_the_cheapest_that_fits() -> None:
    calls = traffic(4, "serverless-3072", predict_ms=1_000_000)
    one, _, multi, serverless = by_way(VariantUse("houses", "v", [life(0.0, size="serverless-3072")], calls))
    assert serverless.usd == pytest.approx(4 * 1000 * 3 * 0.00002)
    month = 720 * (0.0464 + VOLUME_HOUR_USD)
    assert multi.usd == pytest.approx(month)
    assert one.usd == pytest.approx(4 * month)


def test_nothing_is_always_on_before_it_began() -> None:
    *_, multi, _ = by_way(VariantUse("houses", "v", [life(700 * HOUR_S, 701 * HOUR_S)]))
    assert multi.usd == pytest.approx(20 * (0.115 + VOLUME_HOUR_USD))


def test_a_name_that_never_answered_is_no_model() -> None:
    calls = [*traffic(2, "ml.m5.large"), *traffic(50, "ml.m5.large", errors=1)]
    one, *_ = by_way(VariantUse("houses", "v", [life(0.0)], calls))
    assert one.assumes.startswith("2 models that answered")


def test_an_unknown_price_is_none_and_names_its_reason() -> None:
    *_, multi, _ = by_way(VariantUse("houses", "v", [life(0.0, size="ml.m4.xlarge")]))
    assert multi.usd is None
    one, _, _, serverless = by_way(
        VariantUse("houses", "v", [life(0.0, size="ml.g5.xlarge")], traffic(1, "ml.g5.xlarge"))
    )
    assert one.usd == pytest.approx(720 * 0.7364)
    assert (serverless.usd, serverless.assumes) == (None, "serverless inference has no GPU")
    assert by_way(VariantUse("houses", "v", [], traffic(1, ""))) == []


def test_an_instance_that_replaces_another_does_not_raise_the_peak() -> None:
    handed_over = [life(0.0, 50.0), life(50.0, 90.0), life(20.0, 30.0)]
    assert peak(handed_over, Window(0.0, 100.0)) == 2
    assert peak(handed_over, Window(35.0, 100.0)) == 1


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), max_size=12))
def test_the_peak_is_the_most_that_any_moment_saw(rows: list[tuple[int, int]]) -> None:
    lives = [life(float(start), float(start + length)) for start, length in rows]
    seen = [sum(start <= moment < start + length for start, length in rows) for moment in range(40)]
    assert peak(lives, Window(0.0, 40.0)) == max(seen, default=0)
