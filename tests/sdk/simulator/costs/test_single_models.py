"""The same traffic on AWS's other offers: an endpoint per model is never cold, serverless is billed by the ms."""

from dataclasses import replace

import numpy as np
import pytest

from torpor.simulator.costs.single_models import EXPIRES_S, alone, on_endpoints, on_serverless
from torpor.simulator.scenario import BadScenario
from torpor.simulator.simulation_inputs import SimulationInputs, Spreads, load
from torpor.workloads import Chunk, Recorded, recorded, zipf
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.pricing.prices import PRICES
from torpor_endpoint.core.pricing.quotes import S3_STORED, SERVERLESS

MIB = 1024 * 1024
STEADY = {name: ModelProfile(name, 500 * MIB, MIB, 0.3, 0.2, 0.5, 0.0, 0.1) for name in "ab"}


def given(*calls: tuple[float, str], memory_bytes: int = 500 * MIB) -> SimulationInputs:
    return load(recorded(calls), {name: replace(one, memory_bytes=memory_bytes) for name, one in STEADY.items()})


def usd(size: str) -> float:
    found = PRICES.usd_per_hour(size)
    assert found is not None
    return found + 30 * 0.14 / 730  # and of its volume


def test_an_endpoint_per_model_is_never_cold_and_paid_for_all_the_time() -> None:
    found = on_endpoints(load(zipf(20, 1.0, 3.0, 300.0), seed=1), "ml.t2.medium")
    assert (found.cold, found.latencies.count) == (0, found.requests)
    objects = found.cost.bill.usd_of(S3_STORED)
    assert found.cost.usd == pytest.approx(20 * found.duration_s / 3600 * usd("ml.t2.medium") + objects)
    month_usd = objects * 730 * 3600 / found.duration_s
    assert found.usd_per_month() == pytest.approx(20 * 730 * usd("ml.t2.medium") + month_usd)


def test_delays_are_waited_for_apart_too() -> None:
    waiting = {name: replace(one, load_delay_s=0.25, predict_delay_s=0.5) for name, one in STEADY.items()}
    calls = recorded([(0.0, "a"), (1000.0, "a")])
    for way in (on_serverless, lambda given: on_endpoints(given, "ml.t2.medium")):
        less, more = (way(load(calls, profiles)).latencies.most_s for profiles in (STEADY, waiting))
        assert more - less == pytest.approx(0.75 if way is on_serverless else 0.5)


def test_each_model_has_an_endpoint_also_one_that_nobody_calls() -> None:
    what = given((0.0, "a"), (3600.0 - 0.1, "a"))
    found = on_endpoints(what, "ml.t2.medium")
    stored_usd = STEADY["a"].disk_bytes / 2**30 * 0.023 / 730  # of the model that is called
    assert found.cost.usd == pytest.approx(len(what.profiles) * usd("ml.t2.medium") + stored_usd)
    assert len(what.profiles) > 1


def test_on_its_endpoint_a_model_has_as_many_threads_as_the_type_and_then_a_queue() -> None:
    found = on_endpoints(given(*[(1.0, "a")] * 6, (1.0, "b")), "ml.t2.medium", overhead_s=1.0)
    assert [found.latencies.quantile(share / 7) for share in (1, 3, 5, 7)] == pytest.approx(
        [1.1, 1.1, 1.2, 1.3], rel=0.005
    )


def test_nothing_is_faster_than_predicting_alone() -> None:
    busy = load(zipf(5, 0.5, 60.0, 60.0), spreads=Spreads(0.5))
    floor, found = alone(busy), on_endpoints(busy, "ml.t2.medium")
    assert floor.count == found.requests
    for share in (0.5, 0.9, 0.99):
        assert floor.quantile(share) <= found.latencies.quantile(share)


def test_a_serverless_instance_serves_one_request_and_stays_for_ten_minutes() -> None:
    calls = ((0.0, "a"), (0.5, "a"), (10.0, "a"), (10.05, "a"), (10.06, "a"), (13.0 + EXPIRES_S, "a"))
    found = on_serverless(given(*calls), wake_s=1.0)
    assert (found.requests, found.cold) == (6, 4)
    assert [found.latencies.least_s, found.latencies.most_s] == pytest.approx([0.1, 1.0 + 1.0 + 0.1])


def test_a_request_that_waits_for_its_serverless_instance_waits_beside_the_load_too() -> None:
    found = on_serverless(given((0.0, "a"), (9.0, "a")), wake_s=1.0, overhead_s=0.5, beside_load_s=4.0)
    assert [found.latencies.least_s, found.latencies.most_s] == pytest.approx([0.6, 0.5 + 4.0 + 1.0 + 1.0 + 0.1])


def test_models_share_no_serverless_instance() -> None:
    assert on_serverless(given((0.0, "a"), (5.0, "b"), (10.0, "a"), (15.0, "b"))).cold == 2


@pytest.mark.parametrize("starts_billed", [False, True])
def test_the_cost_of_serverless_follows_the_formula(starts_billed: bool) -> None:
    """Time predicting x GB of the smallest size with room for a process and the largest model, and the data moved."""
    trace = Recorded(["a"], [Chunk(np.array([0.0, 5.0, 10.0]), np.zeros(3, np.int32), np.array([2**30, 0, 2**30]))])
    found = on_serverless(load(trace, STEADY), wake_s=1.0, starts_billed=starts_billed)
    seconds = 3 * 0.1 + starts_billed * (1.0 + 1.0)
    stored_usd = STEADY["a"].disk_bytes / 2**30 * 0.023 * found.duration_s / 3600 / 730
    usd = seconds * 1 * 0.00002 + 2 * 0.016 + stored_usd
    assert found.cost.usd == pytest.approx(usd)
    assert found.usd_per_month(1.0) == pytest.approx(usd * 3600 / found.duration_s)


def test_serverless_is_of_the_size_that_the_largest_model_needs() -> None:
    assert "on 2,048 MB" in on_serverless(given((0.0, "a"), memory_bytes=900 * MIB)).cost.assumes
    assert on_serverless(given((0.0, "a"), memory_bytes=6000 * MIB)).cost.usd is None


def test_prices_are_those_that_are_given() -> None:
    twice = replace(PRICES, quotes={SERVERLESS: replace(PRICES.quotes[SERVERLESS], usd=0.00004)})
    once, found = on_serverless(given((0.0, "a"))).cost, on_serverless(given((0.0, "a")), twice).cost
    assert found.usd == pytest.approx(2 * once.bill.usd_of(SERVERLESS))
    assert found.unpriced == (S3_STORED,)


def test_no_time_at_all_has_no_month() -> None:
    instant = {"a": ModelProfile("a", MIB, MIB, 0.0, 0.0, 0.0, 0.0, 0.0)}
    assert on_endpoints(load(recorded([(3.0, "a")]), instant), "ml.t2.medium").usd_per_month() is None


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(
        BadScenario, match=r"instance_type is one of the catalogue's types, as ml\.m5\.large, not 'ml\.nope'"
    ):
        on_endpoints(given((0.0, "a")), "ml.nope")
