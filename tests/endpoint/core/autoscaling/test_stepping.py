"""Step scaling: AWS's own example, and the arithmetic of adjustments."""

import pytest

from torpor_endpoint.core.autoscaling.deciding import Proposal
from torpor_endpoint.core.autoscaling.stepping import ADJUSTED, Breach, StepAdjustment, StepScaling, proposal

OUT = (StepAdjustment(0, 0.0, 10.0), StepAdjustment(10, 10.0, 20.0), StepAdjustment(30, 20.0))
IN = (StepAdjustment(0, -10.0, 0.0), StepAdjustment(-10, -20.0, -10.0), StepAdjustment(-30, None, -20.0))
BY_PERCENT = {True: StepScaling("PercentChangeInCapacity", OUT), False: StepScaling("PercentChangeInCapacity", IN)}


@pytest.mark.parametrize(
    ("metric", "above", "capacity", "expected"),
    [
        # The user guide's: a threshold of 50 and a capacity of 10.
        (59.9, True, 10, None),
        (60.0, True, 10, 11),
        (70.0, True, 11, 14),
        (40.1, False, 14, None),
        (40.0, False, 14, 13),
        (30.0, False, 13, 10),
    ],
)
def test_the_example_of_aws(metric: float, above: bool, capacity: int, expected: int | None) -> None:
    found = proposal(BY_PERCENT[above], Breach([metric], 50.0, above), "so", capacity, capacity)
    assert (found.to if found else None) == expected


def test_the_aggregation_says_which_data_point_counts() -> None:
    breach = Breach([55.0, 65.0], 50.0, True)
    steps = (StepAdjustment(1, 0.0, 7.0), StepAdjustment(2, 7.0, 12.0), StepAdjustment(3, 12.0))
    found = {
        how: proposal(StepScaling("ChangeInCapacity", steps, aggregation=how), breach, "so", 1, 1)
        for how in ("Minimum", "Average", "Maximum")
    }
    assert {how: one.to for how, one in found.items() if one} == {"Minimum": 2, "Average": 3, "Maximum": 4}


def test_a_steeper_step_within_the_cooldown_adds_only_what_is_more() -> None:
    """AWS's example: an increase of 2 is under way, and the alarm asks for 3."""
    scaling = StepScaling("ChangeInCapacity", (StepAdjustment(3, 0.0),), 60)
    assert proposal(scaling, Breach([1.0], 0.0, True), "so", 4, base=2) == Proposal(True, 5, "so", 60)


def test_a_metric_between_all_steps_wants_nothing() -> None:
    scaling = StepScaling("ChangeInCapacity", (StepAdjustment(1, 10.0),))
    assert proposal(scaling, Breach([55.0], 50.0, True), "so", 1, 1) is None


@pytest.mark.parametrize(
    ("percent", "least", "capacity", "expected"),
    [
        (127, None, 10, 22),  # 12.7 is rounded to 12
        (67, None, 1, 2),  # .67 to 1
        (-58, None, 1, 0),  # -.58 to -1
        (-67, None, 10, 4),  # -6.7 to -6
        (25, 2, 4, 6),  # 25 percent of 4 is 1, but at least 2 are added
        (-25, 2, 4, 2),
        (100, None, 10, 20),
        (50, None, 0, 0),  # of nothing, nothing
    ],
)
def test_percents_are_rounded_as_documented(percent: int, least: int | None, capacity: int, expected: int) -> None:
    scaling = StepScaling("PercentChangeInCapacity", (), adjustment_min=least)
    assert ADJUSTED["PercentChangeInCapacity"](scaling, percent, capacity) == expected


def test_an_exact_capacity_is_one_whatever_there_is() -> None:
    scaling = StepScaling("ExactCapacity", (StepAdjustment(3, 0.0),), 60)
    breach = Breach([1.0], 0.0, True)
    assert proposal(scaling, breach, "so", 7, 7) == Proposal(False, 3, "so", 60)
    assert proposal(scaling, breach, "so", 3, 3) == Proposal(True, 3, "so", 60)
    assert proposal(scaling, breach, "so", 0, 0) == Proposal(True, 3, "so", 60)
    nothing = StepScaling("ExactCapacity", (StepAdjustment(0, 0.0),), 60)
    assert proposal(nothing, breach, "so", 7, 7) == Proposal(False, 0, "so", 60)
    assert proposal(StepScaling("ChangeInCapacity", nothing.steps), breach, "so", 7, 7) is None
    assert proposal(StepScaling("ChangeInCapacity", scaling.steps), breach, "so", 7, 7) == Proposal(True, 10, "so", 300)
