"""The steps of each strategy: how much of the traffic, and how many instances."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.rollouts.rollout_policy import CapacitySize, RolloutPolicy, Share, SizeType, Strategy

COUNT, PERCENT = SizeType.INSTANCE_COUNT, SizeType.CAPACITY_PERCENT


def shares(policy: RolloutPolicy, green: int) -> list[Share]:
    return [policy.share(green, step) for step in range(policy.steps([green]) + 1)]


@pytest.mark.parametrize(
    ("strategy", "size", "green", "expected"),
    [
        (Strategy.ALL_AT_ONCE, CapacitySize(PERCENT, 100), 4, [0, 1]),
        (Strategy.CANARY, CapacitySize(PERCENT, 10), 4, [0, 0.1, 1]),
        (Strategy.CANARY, CapacitySize(PERCENT, 10), 1, [0, 0.1, 1]),  # exact, though one instance has no tenth
        (Strategy.CANARY, CapacitySize(COUNT, 1), 4, [0, 0.25, 1]),
        (Strategy.LINEAR, CapacitySize(PERCENT, 33), 3, [0, 0.33, 0.66, 0.99, 1]),
        (Strategy.LINEAR, CapacitySize(COUNT, 2), 5, [0, 0.4, 0.8, 1]),
        (Strategy.ROLLING, CapacitySize(COUNT, 2), 5, [0, 0.4, 0.8, 1]),
        (Strategy.ROLLING, CapacitySize(PERCENT, 50), 5, [0, 0.4, 0.8, 1]),  # two and a half: the size is a maximum
        (Strategy.ROLLING, CapacitySize(PERCENT, 5), 2, [0, 0.5, 1]),
    ],
)
def test_each_strategy_takes_its_steps(
    strategy: Strategy, size: CapacitySize, green: int, expected: list[float]
) -> None:
    assert [share.fraction for share in shares(RolloutPolicy(strategy, size), green)] == expected


def test_the_last_wait_is_the_one_before_the_old_fleet_ends() -> None:
    linear = RolloutPolicy(Strategy.LINEAR, CapacitySize(PERCENT, 50), wait_s=60, termination_wait_s=300)
    assert [linear.wait_after(step, 2) for step in (1, 2)] == [60, 300]


def test_each_batch_of_a_rolling_update_bakes() -> None:
    rolling = RolloutPolicy(Strategy.ROLLING, CapacitySize(COUNT, 1), wait_s=60, termination_wait_s=300)
    assert [rolling.wait_after(step, 2) for step in (1, 2)] == [60, 60]


@given(st.sampled_from(Strategy), st.sampled_from(SizeType), st.integers(1, 50), st.integers(0, 40))
def test_no_step_takes_traffic_back_and_the_last_has_all(
    strategy: Strategy, type_: SizeType, value: int, green: int
) -> None:
    taken = shares(RolloutPolicy(strategy, CapacitySize(type_, value)), green)
    assert taken[0].part == 0
    assert taken[-1].is_all
    fractions = [share.fraction for share in taken]
    assert fractions == sorted(fractions)
