"""Break-even points: there the two ways cost the same; below and above, one is cheaper."""

import random
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.simulator.costs import breakeven
from torpor.simulator.costs.costing import endpoint_per_model, multi_model, serverless
from torpor.simulator.costs.ways_to_serve import Calls, Cost, CostTerms, HeldInstances
from torpor.time_units import HOUR_S
from torpor_endpoint.core.pricing.shipped_prices import USD_PER_HOUR

HELD = st.builds(HeldInstances, st.sampled_from(sorted(USD_PER_HOUR)), st.integers(1, 8))
TERMS = st.builds(CostTerms, hours=st.floats(1, 9000))
MEMORY = st.sampled_from([1024, 2048, 3072, 4096, 5120, 6144])
ONE = st.builds(Calls, st.just(1), st.integers(1, 60_000), st.just(0), st.integers(0, 10**7))
TOO_MUCH_MIB = 7000
BARE = CostTerms(volumes=False)
"""The terms of public figures, which count no volumes."""


def usd(cost: Cost) -> float:
    assert cost.usd is not None
    return cost.usd


def known(answer: float | None) -> float:
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("size", "memory_mib", "share"),
    [
        ("ml.c5.large", 2048, 0.708),
        ("ml.c5.large", 4096, 0.354),
        ("ml.c5.large", 6144, 0.236),
        ("ml.m5.xlarge", 4096, 0.799),
    ],
)
def test_serverless_is_cheaper_until_one_slot_is_this_busy(size: str, memory_mib: int, share: float) -> None:
    busy = breakeven.rate_per_s(multi_model(HeldInstances(size), BARE), memory_mib, Calls.alike(1, 1.0))
    assert busy == pytest.approx(share, abs=0.0005)


def test_two_large_instances_pay_from_84_requests_a_second_on() -> None:
    two = multi_model(HeldInstances("ml.r5.2xlarge", 2), BARE)
    assert usd(two) == pytest.approx(883.30)
    assert breakeven.rate_per_s(two, 2048, Calls.alike(1, 0.1)) == pytest.approx(84, abs=0.1)


@given(HELD, MEMORY, ONE, TERMS)
def test_serverless_at_its_break_even_rate_costs_the_same_as_always_on(
    held: HeldInstances, memory_mib: int, one: Calls, terms: CostTerms
) -> None:
    rival = multi_model(held, terms)
    requests = known(breakeven.rate_per_s(rival, memory_mib, one, terms)) * terms.hours * HOUR_S
    each = usd(serverless(memory_mib, one, terms))
    assert requests * each == pytest.approx(usd(rival))
    assert requests * 0.99 * each < usd(rival) < requests * 1.01 * each


@given(HELD, HELD, TERMS)
def test_models_beyond_the_break_even_count_are_cheaper_together(
    each: HeldInstances, together: HeldInstances, terms: CostTerms
) -> None:
    count = known(breakeven.models(each, together, terms))
    fewer, more = int(count), int(count) + 1
    assert usd(endpoint_per_model(fewer, each, terms)) <= usd(multi_model(together, terms)) * (1 + 1e-9)
    assert usd(multi_model(together, terms)) <= usd(endpoint_per_model(more, each, terms)) * (1 + 1e-9)


def test_the_blogs_large_instances_pay_from_the_sixth_model_on() -> None:
    assert breakeven.models(HeldInstances("ml.c5.large", 2), HeldInstances("ml.r5.2xlarge", 2), BARE) == pytest.approx(
        0.605 / 0.102
    )


@given(st.floats(0, 100), st.floats(0, 1000), st.floats(0, 1000))
def test_kept_for_longer_it_is_awake_for_longer(rate: float, one: float, other: float) -> None:
    short, long = sorted((one, other))
    assert 0 <= breakeven.awake_share(rate, short) <= breakeven.awake_share(rate, long) <= 1


def test_the_formula_agrees_with_poisson_requests() -> None:
    draw = random.Random(7)
    gaps_s = [draw.expovariate(0.01) for _ in range(50_000)]
    awake = sum(min(gap_s, 60.0) for gap_s in gaps_s) / sum(gaps_s)
    assert awake == pytest.approx(breakeven.awake_share(0.01, 60.0), rel=0.02)


def test_a_point_never_reached_is_infinite_and_an_unknown_point_is_none() -> None:
    rival = multi_model(HeldInstances("ml.m5.large"))
    assert breakeven.rate_per_s(rival, 2048, Calls(1)) == inf
    assert breakeven.rate_per_s(rival, TOO_MUCH_MIB, Calls(1)) is None
    assert breakeven.models(HeldInstances("ml.m4.xlarge"), HeldInstances("ml.m5.large")) is None
