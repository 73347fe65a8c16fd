"""Batch jobs at fixed times: each request waits for its job, and a job has what came before it."""

from typing import Any

import pytest

import torpor
from torpor.simulator.scenario import BadScenario
from torpor.time_units import HOUR_S
from torpor.workloads import recorded
from torpor.workloads.profile import ModelProfile

PROFILES = {"m": ModelProfile("m", 1, 1, download_s=0.0, unpack_s=0.0, load_s=0.0, predict_s=1.0)}
TRACE = recorded((at_s, "m") for at_s in (0.0, 10.0, 50.0, 100.0, 101.0, 350.0))
EIGHT: dict[str, Any] = {"concurrency": 8, "threads": 8, "processors": 8, "wake_s": 5.0}


def test_each_job_has_what_came_before_it() -> None:
    found = torpor.nightly(TRACE, PROFILES, every_s=100.0, **EIGHT)
    assert [(job.at_s, job.requests) for job in found.jobs] == [(100.0, 3), (200.0, 2), (400.0, 1)]
    assert all(5.9 < job.took_s < 6.2 for job in found.jobs)
    assert 105.9 < found.latencies.most_s < 106.2  # the first request
    assert found.requests == 6
    assert found.duration_s == 400.0


def test_a_day_costs_as_much_whenever_its_job_runs() -> None:
    evenly = recorded((60.0 * minute, "m") for minute in range(1440))
    evening, morning = (torpor.nightly(evenly, PROFILES, at_s=at_s, **EIGHT) for at_s in (None, 6 * HOUR_S))
    assert [job.requests for job in evening.jobs] == [1440]
    assert [job.requests for job in morning.jobs] == [360, 1080]
    assert evening.duration_s == 24 * HOUR_S
    assert evening.usd() == pytest.approx(morning.usd(), rel=0.05)


def test_instances_are_paid_while_their_job_runs() -> None:
    one, two = (torpor.nightly(TRACE, PROFILES, every_s=100.0, instances=n, **EIGHT) for n in (1, 2))
    assert one.instance_s == pytest.approx(sum(job.took_s for job in one.jobs))
    assert two.instance_s == pytest.approx(2 * sum(job.took_s for job in two.jobs))
    fetches = 3  # one for each job, at $0.0004 a thousand
    assert one.usd() == pytest.approx(one.instance_s / HOUR_S * (0.115 + 30 * 0.14 / 730) + fetches * 0.0004 / 1000)
    assert one.usd_per_month(hours=400.0 / HOUR_S) == pytest.approx(one.usd())


def test_a_job_with_fewer_turns_takes_longer() -> None:
    many = recorded((0.0, "m") for _ in range(40))
    wide, narrow = (torpor.nightly(many, PROFILES, every_s=100.0, **{**EIGHT, "concurrency": each}) for each in (8, 2))
    assert wide.longest_s == pytest.approx(5.0 + 5.0, abs=0.2)
    assert narrow.longest_s == pytest.approx(5.0 + 20.0, abs=0.2)


def test_a_period_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadScenario, match="every_s"):
        torpor.nightly(TRACE, PROFILES, every_s=0.0)
