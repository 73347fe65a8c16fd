"""What a phase of a rollout holds, number by number."""

from dataclasses import replace

import pytest

from torpor_endpoint.core.rollouts.rollout import FleetSizes, FleetTarget, Rollout, RolloutPhase
from torpor_endpoint.core.rollouts.rollout_policy import (
    NOTHING,
    WHOLE,
    CapacitySize,
    RolloutPolicy,
    SizeType,
    Strategy,
)
from torpor_endpoint.core.rollouts.variant_statuses import status_of


def test_the_names_of_phases_are_on_disk_and_stay() -> None:
    forward = "planned", "creating", "activating", "baking", "deleting"
    assert [*RolloutPhase] == [*forward, "restoring", "returning", "removing", "finished", "rolled back", "stuck"]


def test_the_names_of_strategies_and_sizes_are_those_of_the_wire() -> None:
    """https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_TrafficRoutingConfig.html and API_CapacitySize."""
    assert [*Strategy] == ["ALL_AT_ONCE", "CANARY", "LINEAR", "ROLLING"]
    assert [*SizeType] == ["INSTANCE_COUNT", "CAPACITY_PERCENT"]


def test_a_rollout_that_is_planned_has_done_nothing() -> None:
    planned = Rollout(RolloutPolicy())
    assert (planned.phase, planned.fleets, planned.reason, planned.narrow) == (RolloutPhase.PLANNED, (), None, False)
    assert (planned.step, planned.active, planned.back) == (0, 0, 0)
    assert (planned.started_s, planned.since_s, planned.pace) == (0.0, 0.0, 1.0)


def by_batches(size: CapacitySize = WHOLE, rollback: CapacitySize = WHOLE) -> RolloutPolicy:
    return RolloutPolicy(Strategy.ROLLING, size, rollback_size=rollback)


ONE = CapacitySize(SizeType.INSTANCE_COUNT, 1)


def test_nothing_brings_a_rollout_back_once_the_last_old_instances_end() -> None:
    last = Rollout(by_batches(ONE), RolloutPhase.DELETING, (FleetSizes("v", 2, 2),), step=2, active=2)
    assert last.failed("no room", 1.0) is last
    assert replace(last, step=1, active=1).failed("no room", 1.0).phase is RolloutPhase.RESTORING


def test_a_reason_is_as_long_as_aws_allows() -> None:
    """https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeEndpoint.html (FailureReason)."""
    back = Rollout(RolloutPolicy(), RolloutPhase.CREATING, step=1).failed("x" * 2000, 1.0)
    assert len(back.reason or "") == 1024


def test_no_new_instance_is_left_when_a_rollback_removes_them() -> None:
    removing = Rollout(RolloutPolicy(), RolloutPhase.REMOVING, (FleetSizes("v", 2, 3),), step=1, active=1, back=1)
    assert removing.targets() == {"v": FleetTarget(2, 0, NOTHING)}


def test_a_finished_rolling_update_to_no_instances_has_no_old_ones() -> None:
    planned = Rollout(by_batches(ONE), RolloutPhase.FINISHED, (FleetSizes("v", 2, 0),))
    finished = replace(planned, step=planned.steps, active=planned.steps)
    assert finished.targets()["v"].blue == 0


@pytest.mark.parametrize(
    ("blue", "green", "left"),
    [(2, 5, 3), (1, 4, 0), (4, 4, 3), (0, 2, 0)],
)
def test_a_batch_of_the_rollback_is_as_large_a_part_of_the_new_fleet_as_of_the_old_one(
    blue: int, green: int, left: int
) -> None:
    """In whole instances, and at least one."""
    fleets = (FleetSizes("v", blue, green),)
    removing = Rollout(by_batches(rollback=ONE), RolloutPhase.REMOVING, fleets, step=1, active=1, back=1)
    assert removing.targets()["v"].green == left


def test_a_rollback_is_narrowed_in_its_first_batch_where_any_fleet_has_smaller_ones() -> None:
    fleets = FleetSizes("large", 4, 4), FleetSizes("small", 1, 1)
    first = Rollout(by_batches(ONE), RolloutPhase.RESTORING, fleets, step=2, active=2, back=1)
    assert first.narrowed() == replace(first, narrow=True)
    for other in (
        replace(first, back=2),
        replace(first, phase=RolloutPhase.RETURNING),
        replace(first, fleets=fleets[1:]),
        replace(first, narrow=True),
    ):
        assert other.narrowed() is other


def test_the_old_instances_that_are_left_are_whole_ones() -> None:
    half = Rollout(by_batches(ONE), RolloutPhase.CREATING, (FleetSizes("v", 3, 2),), step=2, active=1)
    blue = half.targets()["v"].blue
    assert (blue, type(blue)) == (2, int)


def test_the_largest_fleet_says_how_many_steps_there_are() -> None:
    linear = RolloutPolicy(Strategy.LINEAR, ONE)
    assert [linear.steps(fleets) for fleets in ([], [1], [2, 5, 3])] == [1, 1, 5]


def test_a_clock_that_is_set_back_leaves_as_much_of_the_time_limit() -> None:
    bakes = Rollout(RolloutPolicy(wait_s=60.0), RolloutPhase.BAKING, started_s=20.0, since_s=50.0)
    assert bakes.looked((), 10.0) == replace(bakes, started_s=-20.0, since_s=10.0)


@pytest.mark.parametrize(
    ("phase", "state", "message"),
    [
        (RolloutPhase.PLANNED, "Creating", "Launching 4 instance(s)."),
        (RolloutPhase.CREATING, "Creating", "Launching 1 instance(s)."),
        (
            RolloutPhase.ACTIVATING,
            "ActivatingTraffic",
            "Activating traffic on canary capacity of 3 instance(s).",
        ),
        (
            RolloutPhase.BAKING,
            "Baking",
            "Baking for 0 seconds (WaitIntervalInSeconds) with traffic enabled on canary capacity of 3 instance(s).",
        ),
        (RolloutPhase.DELETING, "Deleting", "Terminating 1 instance(s)."),
        (RolloutPhase.RESTORING, "Creating", "Launching 1 instance(s)."),
        (RolloutPhase.RETURNING, "ActivatingTraffic", "Activating traffic on full capacity of 3 instance(s)."),
        (RolloutPhase.REMOVING, "Deleting", "Terminating 1 instance(s)."),
    ],
)
def test_a_variant_says_how_many_instances_this_batch_has(phase: RolloutPhase, state: str, message: str) -> None:
    rolls = Rollout(by_batches(ONE, ONE), phase, (FleetSizes("v", 4, 4),), step=3, active=3, back=2, since_s=7.0)
    assert status_of(rolls, "v") == (state, message, 7.0)


def test_the_capacity_of_a_canary_is_of_whole_instances() -> None:
    canary = RolloutPolicy(Strategy.CANARY, CapacitySize(SizeType.CAPACITY_PERCENT, 55))
    activates = Rollout(canary, RolloutPhase.ACTIVATING, (FleetSizes("v", 4, 4),), step=1, active=1)
    status = status_of(activates, "v")
    assert status is not None
    assert status.message == "Activating traffic on canary capacity of 3 instance(s)."


def test_what_is_not_touched_or_has_ended_has_no_status() -> None:
    begun = Rollout(by_batches(ONE), RolloutPhase.CREATING, (FleetSizes("v", 2, 2),), step=1)
    assert status_of(begun, "other") is None
    assert status_of(replace(begun, phase=RolloutPhase.FINISHED, step=2, active=2), "v") is None
