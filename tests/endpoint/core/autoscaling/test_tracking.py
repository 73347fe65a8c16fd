"""Target tracking by itself: the capacity that data points ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.core.alarms import State
from torpor_endpoint.core.autoscaling.deciding import Proposal
from torpor_endpoint.core.autoscaling.samples import DataPoint
from torpor_endpoint.core.autoscaling.tracking import Causes, Tracking, agrees_to_scale_in, desired, proposal, state

SEVENTY = Tracking(70.0, scale_out_cooldown_s=300.0, scale_in_cooldown_s=600.0)
CAUSES = Causes("high", "low")


def row(*values: float | None, capacity: int = 2) -> list[DataPoint]:
    """One data point a minute."""
    return [DataPoint(60.0 * minute, value, capacity) for minute, value in enumerate(values)]


def test_three_minutes_above_the_target_scale_out_in_proportion() -> None:
    assert proposal(SEVENTY, row(100.0, 100.0), 2, CAUSES) is None
    assert proposal(SEVENTY, row(100.0, 100.0, 100.0), 2, CAUSES) == Proposal(True, 3, "high", 300.0)
    assert proposal(SEVENTY, row(100.0, 60.0, 100.0), 2, CAUSES) is None
    assert proposal(SEVENTY, row(100.0, 100.0, 700.0), 2, CAUSES) == Proposal(True, 20, "high", 300.0)


def test_fifteen_minutes_well_below_it_scale_in_no_further_than_the_metric_allows() -> None:
    assert proposal(SEVENTY, row(*[30.0] * 14), 2, CAUSES) is None
    assert proposal(SEVENTY, row(*[30.0] * 15), 2, CAUSES) == Proposal(False, 1, "low", 600.0, yields=True)
    assert proposal(SEVENTY, row(*[0.0] * 15), 2, CAUSES) == Proposal(False, 0, "low", 600.0, yields=True)
    assert proposal(SEVENTY, row(*[50.0] * 14, 30.0), 2, CAUSES) == Proposal(False, 1, "low", 600.0, yields=True)
    assert proposal(SEVENTY, row(*[64.0] * 15), 2, CAUSES) is None  # below the target, and above nine tenths of it
    assert proposal(SEVENTY, row(*[50.0] * 15), 2, CAUSES) == Proposal(
        False, 2, "low", 600.0, yields=True
    )  # one would not do


def test_a_policy_whose_scale_in_is_disabled_never_wants_it() -> None:
    assert proposal(Tracking(70.0, scales_in=False), row(*[0.0] * 15), 2, CAUSES) is None


def test_a_policy_with_scale_in_agrees_once_its_low_alarm_is_on_and_one_without_always_does() -> None:
    assert [agrees_to_scale_in(SEVENTY, row(*[value] * 15)) for value in (30.0, 100.0)] == [True, False]
    assert agrees_to_scale_in(Tracking(70.0, scales_in=False), row(*[100.0] * 15))


def test_a_policy_that_says_no_more_than_its_target_has_the_defaults_of_aws() -> None:
    assert Tracking(70.0) == Tracking(70.0, 3, 15, 300.0, 300.0, scales_in=True)


def test_without_data_there_is_nothing_to_want() -> None:
    assert proposal(SEVENTY, row(*[None] * 15), 2, CAUSES) is None
    assert state(SEVENTY.high, row(*[None] * 15)) is State.INSUFFICIENT_DATA


def test_old_data_points_count_with_the_instances_of_their_time() -> None:
    assert proposal(SEVENTY, row(140.0, 140.0, 140.0, capacity=1), 2, CAUSES) == Proposal(True, 2, "high", 300.0)


def test_a_backlog_at_zero_instances_counts_as_that_of_one() -> None:
    """ApproximateBacklogSizePerInstance is the whole backlog there."""
    assert proposal(SEVENTY, row(140.0, 140.0, 140.0, capacity=0), 0, CAUSES) == Proposal(True, 2, "high", 300.0)
    assert proposal(SEVENTY, row(70.0, 70.0, 70.0, capacity=0), 0, CAUSES) is None


@pytest.mark.parametrize(("target", "value", "capacity"), [(0.7, 0.7, 10), (0.1, 0.1, 3), (70.0, 70.0, 3)])
def test_arithmetic_adds_no_instance(target: float, value: float, capacity: int) -> None:
    assert desired(Tracking(target), DataPoint(0.0, value, capacity)) == round(capacity * value / target)


loads = st.floats(0.0, 1e6)


@given(loads, loads, st.integers(1, 100), st.floats(0.1, 1e3))
def test_more_load_never_wants_less(one: float, other: float, capacity: int, target: float) -> None:
    low, high = sorted((one, other))
    tracking = Tracking(target)
    assert desired(tracking, DataPoint(0.0, low, capacity)) <= desired(tracking, DataPoint(0.0, high, capacity))


@given(loads, st.integers(1, 100), st.floats(0.1, 1e3))
def test_the_desired_capacity_brings_the_metric_to_the_target(value: float, capacity: int, target: float) -> None:
    wanted = desired(Tracking(target), DataPoint(0.0, value, capacity))
    assert value * capacity <= (wanted + 1e-6) * target * (1 + 1e-9)
