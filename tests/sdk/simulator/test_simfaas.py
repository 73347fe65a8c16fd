"""SimFaaS's model on Torpor's kernel: against closed forms, and against measurements on AWS Lambda."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, repeat
from math import exp, inf

import pytest

from benchmarks.simfaas.__main__ import play, run
from benchmarks.simfaas.measured import (
    IDLE_S,
    Experiment,
    experiments,
    floor_percent,
    relative_error_percent,
)
from benchmarks.simfaas.model import Outcome, Platform, Traffic, exponential
from benchmarks.simfaas.scoring import error_percent
from torpor_container.core.keepalive import Fixed

MEASURED = experiments()
RAREST, BUSIEST = MEASURED[0], MEASURED[-1]


def simulated(experiment: Experiment, seconds: float, idle_s: float = IDLE_S, seed: int = 1) -> Outcome:
    traffic = exponential(experiment.rate_hz, experiment.warm_s, experiment.cold_s, str(seed))
    return Platform(traffic, Fixed(idle_s), seconds).run()


def told(arrivals_s: Iterable[float], warm_s: float, cold_s: Iterable[float], seconds: float) -> Outcome:
    """A story without chance, in which an idle instance stays for 600 s."""
    times_s = list(arrivals_s)
    gaps_s = [later - earlier for earlier, later in zip([0.0, *times_s], times_s, strict=False)]
    return Platform(Traffic(chain(gaps_s, repeat(inf)), repeat(warm_s), iter(cold_s)), Fixed(600.0), seconds).run()


def test_the_table_is_the_published_one() -> None:
    """Their notebook prints 10.14 % for the mean relative standard error."""
    assert len(MEASURED) == 20
    assert relative_error_percent(MEASURED) == pytest.approx(10.14, abs=0.005)
    assert floor_percent(MEASURED) == pytest.approx(8.09, abs=0.005)


@pytest.mark.parametrize(("next_s", "cold", "lived_s"), [(610.5, 1, 602.0), (611.5, 2, 601.0 + 0.5)])
def test_an_idle_instance_stays_for_the_keep_alive_after_its_last_request(
    next_s: float, cold: int, lived_s: float
) -> None:
    """It is free at 11 s."""
    outcome = told([10.0, next_s], warm_s=1.0, cold_s=[1.0, 1.0], seconds=612.0)
    assert outcome.cold == cold
    assert outcome.instances == pytest.approx(lived_s / 612.0)


@pytest.mark.parametrize(("older_s", "newer_s"), [(10.0, 50.0), (50.0, 10.0)])
def test_a_request_finds_the_newest_idle_instance(older_s: float, newer_s: float) -> None:
    """Two are busy at once, and later requests have both to choose from. The older one is never asked again."""
    outcome = told([0.0, 1.0, 300.0, 700.0], warm_s=1.0, cold_s=[older_s, newer_s], seconds=1000.0)
    assert (outcome.requests, outcome.cold) == (4, 2)
    assert outcome.instances == pytest.approx((older_s + 600.0 + 999.0) / 1000.0)
    assert outcome.busy == pytest.approx((older_s + newer_s + 1.0 + 1.0) / 1000.0)


@pytest.mark.parametrize("idle_s", [300.0, 600.0, 1200.0])
def test_a_rare_request_is_cold_if_none_came_within_the_keep_alive(idle_s: float) -> None:
    """The gaps are exponential. A few more are cold, for they come while the one instance is busy: rate x service."""
    outcome = simulated(RAREST, seconds=2e7, idle_s=idle_s)
    assert outcome.requests == pytest.approx(RAREST.rate_hz * 2e7, rel=0.02)
    assert outcome.cold_share == pytest.approx(exp(-RAREST.rate_hz * idle_s), abs=0.01)


def test_a_lone_instance_lives_while_requests_come_within_the_keep_alive() -> None:
    outcome = simulated(replace(RAREST, warm_s=0.001, cold_s=0.001), seconds=2e7)
    assert outcome.instances == pytest.approx(1 - exp(-RAREST.rate_hz * IDLE_S), abs=0.01)


def test_busy_instances_are_rate_times_service_time() -> None:
    """As in every M/G/infinity queue, whatever the service times."""
    outcome = simulated(BUSIEST, seconds=1e5)
    service_s = BUSIEST.warm_s + outcome.cold_share * (BUSIEST.cold_s - BUSIEST.warm_s)
    assert outcome.busy == pytest.approx(BUSIEST.rate_hz * service_s, rel=0.02)
    assert outcome.busy < outcome.instances


def test_the_busiest_experiment_has_the_instances_that_lambda_had() -> None:
    """8.4 were measured."""
    assert simulated(BUSIEST, seconds=1e5).instances == pytest.approx(BUSIEST.instances, rel=0.05)


def test_a_seed_gives_the_same_outcome_and_another_seed_a_different_one() -> None:
    outcome = simulated(BUSIEST, seconds=1e4, seed=7)
    assert outcome == simulated(BUSIEST, seconds=1e4, seed=7) != simulated(BUSIEST, seconds=1e4, seed=8)


def test_an_error_is_in_percent() -> None:
    """The x 100 that the published utilisation lacks."""
    off = [Outcome(1000, 100, instances=one.instances, busy=1.16 * one.utilisation * one.instances) for one in MEASURED]
    assert error_percent("utilisation", MEASURED, off) == pytest.approx(16.0)
    assert error_percent("instances", MEASURED, off) == 0


@pytest.mark.thorough
def test_a_short_run_reports_every_measure_and_experiment() -> None:
    results = run(seeds=2, seconds=1e4)
    assert [row["measure"] for row in results["errors_percent"]] == ["cold_share", "instances", "utilisation"]
    assert all(row["lowest"] <= row["mean"] <= row["highest"] for row in results["errors_percent"])
    assert [row["name"] for row in results["experiments"]] == [one.name for one in MEASURED]
    assert results["requests"] == sum(one.requests for seed in (1, 2) for one in play(MEASURED, seed, 1e4))
