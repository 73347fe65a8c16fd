"""The cost of each way: AWS's own examples are reproduced, costs add up and grow, and unknown costs stay unknown."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.simulator.costs.costing import (
    asleep,
    autoscaled,
    components,
    endpoint_per_model,
    instances_for,
    multi_model,
    ranked,
    serverless,
    serverless_variant,
)
from torpor.simulator.costs.ways_to_serve import Calls, Component, Cost, CostTerms, HeldInstances, Way
from torpor.time_units import HOUR_S
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.pricing.quotes import DATA_MOVED, PROVISIONED, PROVISIONED_PROCESSING, SERVERLESS
from torpor_endpoint.core.pricing.shipped_prices import USD_PER_HOUR
from torpor_endpoint.core.resource_records import Serverless

COUNTS = st.integers(0, 10_000)
SECONDS = st.floats(0, 1e9)
PRICED = st.sampled_from(sorted(USD_PER_HOUR))
CALLS = st.builds(Calls, COUNTS, COUNTS, COUNTS, st.integers(0, 10**12))


def usd(cost: Cost) -> float:
    assert cost.usd is not None
    return cost.usd


def test_the_cost_of_ten_million_serverless_calls_is_awss_own_figure() -> None:
    """10 M requests of 100 ms on 2 GB are $40.00, and 10 GB in and out are $0.16."""
    calls = Calls.alike(10_000_000, 0.1) + Calls(moved_bytes=10 * 2**30)
    assert usd(serverless(2048, calls)) == pytest.approx(40.16)


def test_every_request_is_billed_from_the_millisecond_that_it_began() -> None:
    assert Calls.alike(3, 0.0101).predict_ms == 33
    assert Calls.alike(3, 0.010).predict_ms == 30


def test_starts_are_billed_only_on_request() -> None:
    calls = Calls(1, predict_ms=1000, start_ms=9000)
    assert usd(serverless(1024, calls, starts_billed=True)) == pytest.approx(10 * usd(serverless(1024, calls)))


def test_serverless_is_sold_in_steps_and_not_above_six_gigabytes() -> None:
    calls = Calls.alike(1, 1.0)
    assert serverless(1500, calls) == serverless(2048, calls)
    above = serverless(6145, calls)
    assert (above.usd, above.assumes) == (None, "serverless inference has at most 6,144 MB")


def test_components_take_as_many_instances_as_their_reserves_fill() -> None:
    each = Component(memory_mib=1024, cpus=0.25)
    assert instances_for(32, each, "ml.r5.2xlarge") == 1  # 8 vCPUs hold 32, whose memory would do for 64
    assert instances_for(33, each, "ml.r5.2xlarge") == 2
    assert instances_for(16, replace(each, copies=2), "ml.r5.2xlarge") == 1
    assert instances_for(3, Component(1024, gpus=1), "ml.g5.xlarge") == 3
    assert usd(components(33, each, "ml.r5.2xlarge")) == usd(multi_model(HeldInstances("ml.r5.2xlarge", 2)))


def test_the_cost_of_a_component_that_no_instance_holds_is_none() -> None:
    assert components(1, Component(65537), "ml.r5.2xlarge").usd is None
    assert components(1, Component(1024, gpus=1), "ml.r5.2xlarge").usd is None
    assert components(1, Component(1024), "ml.m5.gigantic").usd is None


def test_what_sleeps_with_many_models_or_has_them_in_a_component_is_not_sold_by_aws() -> None:
    own = [Way.ASLEEP, Way.COMPONENTS_HELD, Way.COMPONENTS_MULTI_MODEL, Way.SERVERLESS_MULTI_MODEL]
    assert [way for way in Way if not Cost(way, 0.0, "").sold_by_aws] == own


def test_a_serverless_variant_is_billed_by_the_call_and_provisioned_concurrency_for_its_time_too() -> None:
    calls = Calls(1000, predict_ms=50_000, start_ms=9_000, moved_bytes=2**30)
    hour = CostTerms(hours=1.0)
    on_demand = serverless_variant(Serverless(2048, 5), True, 120.0, calls, hour)
    processing = hour.prices.usd(SERVERLESS) or 0.0
    moved = hour.prices.usd(DATA_MOVED) or 0.0
    assert on_demand.usd == pytest.approx(50 * 2 * processing + moved)
    assert (on_demand.way, on_demand.sold_by_aws) == (Way.SERVERLESS_MULTI_MODEL, False)
    kept = serverless_variant(Serverless(2048, 5, 1), False, 3600.0, calls, hour)
    quantities = {line.item: line.quantity for line in kept.bill.lines}
    assert (quantities[PROVISIONED], quantities[PROVISIONED_PROCESSING]) == (3600 * 2, 50 * 2)
    assert (kept.way, kept.sold_by_aws) == (Way.SERVERLESS, True)


def test_an_unknown_price_is_never_nothing() -> None:
    unpriced = CostTerms(replace(PRICES, quotes={}))
    unknown = [
        endpoint_per_model(0, HeldInstances("ml.m4.xlarge")),
        multi_model(HeldInstances("ml.m4.xlarge", 0)),
        autoscaled("ml.m4.xlarge", 0.0),
        asleep("ml.m4.xlarge", 0.0),
        serverless(1024, Calls(), unpriced),
    ]
    assert [cost.usd for cost in unknown] == [None] * 5
    assert ranked([unknown[0], asleep("ml.m5.large", 1.0)])[-1] is unknown[0]


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf")])
def test_a_negative_or_non_finite_amount_is_refused(amount: float) -> None:
    for made in (
        lambda: CostTerms(hours=amount),
        lambda: asleep("ml.m5.large", amount),
        lambda: HeldInstances("ml.m5.large", amount),  # type: ignore[arg-type]  # nan and inf are no int
        lambda: Calls(predict_ms=amount),  # type: ignore[arg-type]
        lambda: endpoint_per_model(amount, HeldInstances("ml.m5.large")),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="is a number of 0 or more"):
            made()


@given(CALLS, CALLS, st.integers(1, 6144), st.booleans())
def test_serverless_costs_add_up(one: Calls, other: Calls, memory_mib: int, starts_billed: bool) -> None:
    parts = [usd(serverless(memory_mib, calls, starts_billed=starts_billed)) for calls in (one, other)]
    whole = usd(serverless(memory_mib, one + other, starts_billed=starts_billed))
    assert whole == pytest.approx(sum(parts), abs=1e-12)
    assert whole >= max(parts) - 1e-12


@given(PRICED, SECONDS, SECONDS)
def test_instance_seconds_add_up_and_cost_the_same_asleep_and_scaled(size: str, one: float, other: float) -> None:
    assert usd(asleep(size, one)) + usd(asleep(size, other)) == pytest.approx(usd(asleep(size, one + other)))
    assert asleep(size, one).usd == autoscaled(size, one).usd


@given(PRICED, COUNTS, st.integers(0, 20), st.floats(0, 9000), st.floats(0, 9000))
def test_hours_add_up_and_models_multiply(size: str, models: int, instances: int, one: float, other: float) -> None:
    held = HeldInstances(size, instances)
    parts = [usd(multi_model(held, CostTerms(hours=hours))) for hours in (one, other)]
    assert sum(parts) == pytest.approx(usd(multi_model(held, CostTerms(hours=one + other))))
    assert usd(endpoint_per_model(models, held)) == pytest.approx(models * usd(multi_model(held)))


@given(PRICED, st.integers(0, 10), st.floats(0, 1000))
def test_never_asleep_is_always_on(size: str, instances: int, hours: float) -> None:
    awake = asleep(size, instances * hours * HOUR_S, CostTerms(hours=hours))
    assert usd(awake) == pytest.approx(usd(multi_model(HeldInstances(size, instances), CostTerms(hours=hours))))


@given(COUNTS, st.integers(0, 100), st.integers(1, 70_000), st.sampled_from([0.0, 0.25, 0.3, 1.0, 3.0]))
def test_components_fit_where_they_are_put_and_more_models_never_need_less(
    models: int, more: int, memory_mib: int, cpus: float
) -> None:
    each, size = Component(memory_mib, cpus), PRICES.types["ml.r5.2xlarge"]
    needed = instances_for(models, each, size.name)
    if needed is None:
        assert memory_mib > size.memory_mib
        return
    assert models * memory_mib <= needed * size.memory_mib
    assert models * cpus <= needed * size.vcpus + 1e-6
    assert needed <= (instances_for(models + more, each, size.name) or 0)
