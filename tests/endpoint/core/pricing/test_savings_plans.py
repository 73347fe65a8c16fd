"""Savings plans by hand: hour by hour, the highest savings first, the rest on demand, and nothing carried over."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.ledger_with_pages import life
from torpor_endpoint.core.pricing.accounts import VariantUse, Window
from torpor_endpoint.core.pricing.alternatives import alternatives
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.pricing.savings_plans import Hours, best_commitment, hours_of, under_plan

HOUR_S = 3600.0
PLAN = "1 year No Upfront SageMaker Savings Plan"
PRICED = replace(PRICES, savings={PLAN: {"ml.m5.large": 0.0736, "ml.g5.xlarge": 1.128}})
"""Made-up rates: 36 % and 20 % below on demand, $0.115 and $1.41."""


def test_a_commitment_that_covers_an_instance_costs_its_rate() -> None:
    found = under_plan([(1.0, {"ml.m5.large": 1.0})] * 730, PLAN, 0.0736, PRICED)
    assert found is not None
    assert found.usd == pytest.approx(730 * 0.0736)
    assert found.committed_usd == pytest.approx(730 * 0.0736)
    assert found.beyond_usd == pytest.approx(0.0)


def test_what_the_commitment_does_not_cover_is_on_demand() -> None:
    found = under_plan([(1.0, {"ml.m5.large": 3.0})] * 10, PLAN, 2 * 0.0736, PRICED)
    assert found is not None
    assert found.usd == pytest.approx(10 * (2 * 0.0736 + 1 * 0.115))


def test_what_is_left_in_an_hour_is_paid_and_not_carried_over() -> None:
    found = under_plan([(1.0, {}), (1.0, {"ml.m5.large": 2.0})], PLAN, 0.0736, PRICED)
    assert found is not None
    assert found.usd == pytest.approx(2 * 0.0736 + 0.115)


def test_the_highest_savings_are_covered_first() -> None:
    """$0.0736 cover the ml.m5.large, which saves 36 %, and nothing of the GPU, which saves 20 %."""
    found = under_plan([(1.0, {"ml.g5.xlarge": 1.0, "ml.m5.large": 1.0})], PLAN, 0.0736, PRICED)
    assert found is not None
    assert found.usd == pytest.approx(0.0736 + 1.41)


def test_a_type_that_the_plan_does_not_have_is_on_demand_and_one_without_a_price_is_unknown() -> None:
    found = under_plan([(1.0, {"ml.r5.large": 1.0})], PLAN, 0.05, PRICED)
    assert found is not None
    assert found.usd == pytest.approx(0.05 + 0.151)
    assert under_plan([(1.0, {"ml.m4.xlarge": 1.0})], PLAN, 0.05, PRICED) is None


def test_the_best_commitment_is_for_what_is_always_there() -> None:
    """One instance for 24 hours, a second one for 2: the second is cheaper on demand."""
    hours = [(1.0, {"ml.m5.large": 1.0})] * 22 + [(1.0, {"ml.m5.large": 2.0})] * 2
    found = best_commitment(hours, PLAN, PRICED)
    assert found is not None
    assert found.commitment_usd == pytest.approx(0.0736)
    assert found.usd == pytest.approx(24 * 0.0736 + 2 * 0.115)


def test_for_an_instance_that_sleeps_most_of_the_time_no_plan_is_cheaper() -> None:
    asleep: Hours = [(1.0, {})] * 20
    assert best_commitment([*asleep, *[(1.0, {"ml.m5.large": 1.0})] * 4], PLAN, PRICED) is None


def test_the_hours_of_lives_are_cut_at_the_windows_hours() -> None:
    lives = [life(0.0, 1.5 * HOUR_S), life(HOUR_S, 2 * HOUR_S, instance="i-2")]
    assert hours_of(lives, Window(0.0, 2.25 * HOUR_S)) == [
        (1.0, {"ml.m5.large": 1.0}),
        (1.0, {"ml.m5.large": 1.5}),
        (0.25, {}),
    ]


def test_costs_has_a_row_for_each_plan_that_would_have_been_cheaper() -> None:
    account = VariantUse("houses", "v", [life(0.0, 24 * HOUR_S)])
    assert len(alternatives(account, Window(0.0, 24 * HOUR_S), PRICES)) == 4
    *_, planned = alternatives(account, Window(0.0, 24 * HOUR_S), PRICED)
    assert planned.way == f"as here, under a savings plan ({PLAN})"
    assert planned.usd == pytest.approx(24 * 0.0736 + 30 * 24 / 730 * 0.14)
    assert "a commitment of $0.0736 an hour" in planned.assumes


@given(st.lists(st.floats(0, 4), min_size=1, max_size=12), st.floats(0, 0.5))
def test_no_commitment_is_cheaper_than_the_best_one(instances: list[float], other_usd: float) -> None:
    hours = [(1.0, {"ml.m5.large": of}) for of in instances]
    other, best = under_plan(hours, PLAN, other_usd, PRICED), best_commitment(hours, PLAN, PRICED)
    on_demand = sum(instances) * 0.115
    assert other is not None
    assert other.usd >= (on_demand if best is None else best.usd) - 1e-9
