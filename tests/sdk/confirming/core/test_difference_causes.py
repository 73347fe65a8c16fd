"""The causes of what differs between forecast and fact, in words."""

from dataclasses import replace

import pytest

from torpor.confirming.core.difference_causes import causes
from torpor.confirming.core.forecast_beside_fact import (
    ConfirmedGoal,
    ForecastBesideFact,
    MachineStrain,
    StepMeans,
    TrafficFigures,
)

GOAL = ConfirmedGoal(slo_s=0.5, quantile=0.99)
STEPS = StepMeans(wake_s=0.1, load_s=0.12, predict_s=0.002, overhead_s=0.001)
GOOD = TrafficFigures(1000, 0, 5, 900, 100, 40, 3, 2, 0.01, 0.2, 3600.0, 0.1, STEPS)
IDLE = MachineStrain(0.001, 0.05, 5, 4, 64, 2)


def named(live: TrafficFigures = GOOD, strain: MachineStrain = IDLE, processors: int = 2) -> list[str]:
    return list(causes(ForecastBesideFact(GOAL, GOOD, live, strain), processors, {"507 NoMemory": "too large"}))


def test_nothing_is_named_where_nothing_differs() -> None:
    assert named() == []


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (
            replace(STEPS, load_s=0.31),
            "slower than the profile: a model came into memory in 310 ms on average, and not",
        ),
        (
            replace(STEPS, wake_s=1.5),
            "slower than the profile: an instance woke in 1.5 s on average, and not in 100 ms",
        ),
        (replace(STEPS, load_s=0.05), "quicker than the profile: a model came into memory in 50 ms"),
        (replace(STEPS, overhead_s=0.0015), ""),
        (replace(STEPS, wake_s=None), ""),
    ],
)
def test_a_step_that_took_another_time_than_its_profile_is_named(steps: StepMeans, said: str) -> None:
    found = named(replace(GOOD, steps=steps, p99_s=0.9))
    assert len(found) == bool(said)
    assert "".join(found).startswith(said)


def test_a_step_that_took_another_time_explains_nothing_where_all_times_agree() -> None:
    slower = replace(GOOD, steps=replace(STEPS, load_s=0.31))
    assert named(slower) == []
    assert len(named(slower, replace(IDLE, waiting_share=0.6))) == 2  # nobody knows whether they agree


def test_what_the_machine_lacked_is_named_first() -> None:
    strain = replace(IDLE, sent_late_s=0.2, waiting_share=0.6, in_flight_most=64)
    late, busy, processors, failed = named(replace(GOOD, failed=2), strain, 8)
    assert late == "requests were sent up to 200 ms late (p99): 64 were in flight, the most allowed"
    assert busy.startswith("the machine was busy: for 60% of the time")
    assert processors == "the plan's instances have 8 processors, and this machine has 2"
    assert failed == "2 requests failed, where 0 were to fail (507 NoMemory: too large)"


def test_more_evictions_tell_of_memory_and_more_wakes_of_sleep() -> None:
    assert "took more memory" in named(replace(GOOD, evictions=60))[0]
    assert "took less memory" in named(replace(GOOD, evictions=20))[0]
    assert named(replace(GOOD, wakes=7, evictions=60))[0].startswith("7 wakes, where 3 were forecast")


def test_the_part_of_a_bill_that_is_the_time_of_calls_is_named() -> None:
    here, live = replace(GOOD, billed_ms=2000), replace(GOOD, usd=0.2, billed_ms=5000)
    slow = ForecastBesideFact(GOAL, here, live, IDLE, usd_by_live_times=0.18, by_duration=True)
    assert list(causes(slow, 2, {})) == [
        "80% of the bill's difference is the time of calls: 1,000 of them are billed for 5 ms on average, and not for"
        " 2 ms"
    ]
    assert list(causes(replace(slow, by_duration=False), 2, {})) == []
    assert list(causes(replace(slow, live=replace(live, usd=0.101)), 2, {})) == []
