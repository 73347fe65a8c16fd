"""AWS's published savings are reproduced to the dollar, and so is the value of each unstated assumption."""

import pytest

from torpor.simulator.costs.blog import (
    GPU_TWIN,
    HIDDEN,
    PRICES_2019,
    TEN_MODELS,
    THOUSAND_MODELS,
    THOUSAND_MODELS_TODAY,
)
from torpor.simulator.costs.comparing import Comparison, rows


def dollars(one: Comparison) -> tuple[int, int]:
    assert one.apart_usd is not None
    assert one.together_usd is not None
    return round(one.apart_usd), round(one.together_usd)


@pytest.mark.parametrize("one", [THOUSAND_MODELS, GPU_TWIN], ids=["2019", "2023"])
def test_the_costs_that_aws_published_are_reproduced_to_the_dollar(one: Comparison) -> None:
    assert one.published is not None
    assert dollars(one) == (one.published.apart_usd, one.published.together_usd)
    assert one.saved_share is not None
    assert int(one.saved_share * 100) / 100 == one.published.saved_share


def test_a_thousand_models_are_171360_dollars_apart_and_1017_together() -> None:
    assert dollars(THOUSAND_MODELS) == (171_360, 1_017)
    assert THOUSAND_MODELS.together_usd == pytest.approx(1_016.64)


def test_a_thousand_models_at_todays_prices_cost_146880_and_871() -> None:
    assert dollars(THOUSAND_MODELS_TODAY) == (146_880, 871)
    assert THOUSAND_MODELS_TODAY.saved_share == pytest.approx(0.9941, abs=0.0001)


def test_each_silence_changes_the_published_sums() -> None:
    assert [dollars(one) for one in HIDDEN] == [(85_680, 508), (171_360, 171), (173_740, 1_031), (146_880, 871)]


def test_four_thousand_processors_become_sixteen() -> None:
    assert THOUSAND_MODELS.vcpus(THOUSAND_MODELS.apart) == 4000
    assert THOUSAND_MODELS.vcpus(THOUSAND_MODELS.together) == 16


def test_ten_models_on_one_endpoint_save_nine_tenths_on_any_instance() -> None:
    assert [one.saved_share for one in TEN_MODELS] == pytest.approx([0.9] * len(TEN_MODELS))
    saved = {one.what: round(one.saved_usd or 0.0) for one in TEN_MODELS}
    assert saved == {
        "1 x ml.c5.large": 771,
        "2 x ml.c5.large": 1_542,
        "1 x ml.c5.xlarge": 1_542,
        "2 x ml.c5.xlarge": 3_084,
        "1 x ml.m4.xlarge": 1_814,
        "2 x ml.m4.xlarge": 3_629,
    }
    assert min(saved, key=lambda what: abs(saved[what] - 3_000)) == "2 x ml.c5.xlarge"


def test_an_inferred_price_is_marked_as_inferred() -> None:
    source = {quote.item: quote.source for quote in PRICES_2019.quotes}
    assert source["ml.r5.2xlarge"].startswith("inferred")
    assert source["ml.c5.xlarge"].startswith("derived")


def test_rows_are_flat_for_a_table() -> None:
    row, *_ = rows([THOUSAND_MODELS])
    assert (row["apart"], row["together"]) == ("1,000 x 2 x ml.c5.large", "1 x 2 x ml.r5.2xlarge")
    assert (row["hours"], row["priced_on"]) == (720.0, "2019-11-26")
    assert all(isinstance(value, str | int | float) for value in row.values())
