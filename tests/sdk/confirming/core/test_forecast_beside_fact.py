"""The verdict of a confirmation, and the figures side by side."""

from dataclasses import replace
from typing import Any

import pytest

from torpor.confirming.core.forecast_beside_fact import (
    ConfirmedGoal,
    ForecastBesideFact,
    LiveVerdict,
    MachineStrain,
    TrafficFigures,
)

GOAL = ConfirmedGoal(slo_s=0.5, quantile=0.99)
GOOD = TrafficFigures(1000, 0, 5, 900, 100, 40, 3, 2, 0.01, 0.2, 3600.0, 0.1)
IDLE = MachineStrain(0.001, 0.05, 5, 4, 64, 2)
BUSY = replace(IDLE, waiting_share=0.8)
HELD_UP = replace(IDLE, sent_late_s=0.3)


def compared(late: int = 5, strain: MachineStrain = IDLE, **live: Any) -> ForecastBesideFact:
    return ForecastBesideFact(GOAL, GOOD, replace(GOOD, late=late, **live), replace(strain, late=late))


@pytest.mark.parametrize(
    ("strain", "late", "verdict"),
    [
        (IDLE, 10, LiveVerdict.SAME),
        (IDLE, 11, LiveVerdict.REVERSED),
        (BUSY, 10, LiveVerdict.SAME),
        (BUSY, 11, LiveVerdict.UNKNOWN),
        (HELD_UP, 10, LiveVerdict.SAME),
        (HELD_UP, 11, LiveVerdict.UNKNOWN),
    ],
)
def test_late_requests_condemn_a_plan_on_an_idle_machine_only(
    strain: MachineStrain, late: int, verdict: LiveVerdict
) -> None:
    assert compared(late, strain).verdict == verdict


def test_on_a_busy_machine_requests_are_in_time_from_the_moment_at_which_they_were_due() -> None:
    """The endpoint answered in time what the sender had held up: the traffic was not the trace's."""
    held_up = ForecastBesideFact(GOAL, GOOD, GOOD, replace(HELD_UP, late=200))
    assert held_up.verdict == LiveVerdict.UNKNOWN


def test_a_goal_that_is_met_against_the_forecast_reverses_it() -> None:
    slow = replace(GOOD, late=300)
    assert ForecastBesideFact(GOAL, slow, GOOD, IDLE).verdict == LiveVerdict.REVERSED
    assert ForecastBesideFact(GOAL, slow, replace(GOOD, late=200), IDLE).verdict == LiveVerdict.SAME


def test_a_forecast_at_the_goals_bound_leaves_another_verdict_undecided() -> None:
    """0.3 % late forecast and 1.1 % live, where 1 % may be: no forecast is that good."""
    missed = replace(compared(late=11), at_bound=True)
    assert missed.verdict == LiveVerdict.UNDECIDED
    assert replace(compared(late=10), at_bound=True).verdict == LiveVerdict.SAME
    assert replace(compared(late=11, strain=BUSY), at_bound=True).verdict == LiveVerdict.UNKNOWN


def test_each_figure_is_held_against_the_aim_of_the_simulator() -> None:
    rows = {one.figure: one for one in compared(hits=915, loads=99, p99_s=0.15, usd=0.0).figures}
    assert [rows[name].off for name in ("hit ratio", "loads", "p99_s", "usd", "wakes")] == [
        pytest.approx(-1.5), pytest.approx(100 / 99), pytest.approx(100 / 3), None, 0.0,
    ]  # fmt: skip
    assert [rows[name].agrees for name in ("hit ratio", "loads", "p99_s", "usd", "wakes")] == [
        False, True, False, False, True,
    ]  # fmt: skip


def test_times_on_a_busy_machine_are_not_judged_and_counts_are() -> None:
    rows = {one.figure: one for one in compared(strain=BUSY, hits=800, loads=200, p99_s=9.0).figures}
    assert (rows["p99_s"].agrees, rows["late"].agrees, rows["hit ratio"].agrees) == (None, None, False)


def test_requests_that_waited_for_one_slow_load_are_no_misses_of_the_forecast() -> None:
    slow = compared(strain=BUSY, hits=800)
    idle = compared(hits=800)
    assert [one.agrees for one in (*slow.figures, *idle.figures) if one.figure == "hit ratio"] == [None, False]


def test_where_nobody_knows_how_long_requests_took_none_is_called_late_or_in_time() -> None:
    untimed = compared(late=0, p50_s=None, p99_s=None)
    rows = {one.figure: one for one in untimed.figures}
    assert (rows["late"].live, rows["late"].agrees, untimed.verdict) == (None, None, LiveVerdict.UNKNOWN)
    all_failed = compared(late=1000, failed=1000, p50_s=None, p99_s=None)
    assert (all_failed.live.late_share, all_failed.verdict) == (1.0, LiveVerdict.REVERSED)


def test_a_figure_that_is_not_known_is_not_judged() -> None:
    rows = {one.figure: one for one in ForecastBesideFact(GOAL, replace(GOOD, usd=None), GOOD, IDLE).figures}
    assert (rows["usd"].off, rows["usd"].agrees) == (None, None)


def test_a_bill_of_slow_calls_is_not_the_arithmetics_error() -> None:
    live = replace(GOOD, usd=0.2, billed_ms=5000)
    slow = ForecastBesideFact(GOAL, GOOD, live, BUSY, usd_by_live_times=0.2, by_duration=True)
    rows = {one.figure: one for one in slow.figures}
    assert (rows["usd"].agrees, rows["usd by live times"].agrees, slow.counts_agree) == (None, True, True)
    wrong = replace(slow, usd_by_live_times=0.19)
    assert {one.figure: one.agrees for one in wrong.figures}["usd by live times"] is False
    assert not wrong.counts_agree
    held = replace(slow, by_duration=False)  # instances are billed by their lives, whatever their calls took
    assert {one.figure: one.agrees for one in held.figures}["usd"] is False


def test_counts_agree_also_where_no_time_can_be_judged() -> None:
    assert compared(strain=BUSY, late=500, p99_s=9.0).counts_agree
    assert not compared(strain=BUSY, loads=90).counts_agree
    assert not compared(strain=BUSY, wakes=4).counts_agree
    assert not compared(strain=BUSY, instances_most=3).counts_agree
    slow = replace(compared(strain=BUSY, instances_most=3), scales=True)
    assert slow.counts_agree  # slow requests keep more instances busy
