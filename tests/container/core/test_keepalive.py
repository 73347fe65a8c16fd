"""The time to stay awake: fixed, or learned from the gaps between uses."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.keepalive import POLICIES, Fixed, Histogram, KeepAlive, keep_alive, once

gaps = st.lists(st.floats(0, 40_000), max_size=60)


@pytest.mark.parametrize("name", POLICIES)
@given(gaps=gaps, idle_s=st.floats(0, 50_000))
def test_every_policy_sleeps_in_the_end_and_is_awake_in_at_most_two_stretches(
    name: str, gaps: list[float], idle_s: float
) -> None:
    policy = keep_alive(name, 600.0)
    for gap_s in gaps:
        policy.used_after(gap_s)
    nap = policy.nap()
    assert 0 <= nap.sleep_s <= nap.wake_s <= nap.until_s
    assert not nap.awake(nap.until_s)
    assert not nap.due(idle_s) or nap.awake(idle_s)


def test_a_fixed_time_learns_nothing() -> None:
    policy = Fixed(20.0)
    policy.used_after(5.0)
    assert policy.nap() == once(20.0)
    assert [policy.nap().awake(idle_s) for idle_s in (0.0, 19.9, 20.0)] == [True, True, False]


def learned(gaps_s: list[float], fallback_s: float = 600.0) -> KeepAlive:
    policy = Histogram(fallback_s)
    for gap_s in gaps_s:
        policy.used_after(gap_s)
    return policy


def test_a_timer_is_slept_through_and_met_awake() -> None:
    nap = learned([3600.0 + random.Random(7).uniform(-20, 20) for _ in range(30)]).nap()
    assert not nap.awake(60.0)
    assert nap.due(3590.0)
    assert not nap.awake(2 * 3600.0)
    assert nap.wake_s > 3000.0


def test_short_gaps_keep_it_awake_without_a_sleep_between() -> None:
    nap = learned([5.0] * 30).nap()
    assert nap == once(66.0)  # one bin of a minute, and a tenth of it


@pytest.mark.parametrize(
    "gaps_s",
    [
        [600.0] * 9,  # too few
        [20_000.0] * 30,  # beyond the bins
        [60.0, 14_000.0] * 20,  # too irregular
    ],
)
def test_gaps_that_teach_nothing_fall_back_to_the_fixed_time(gaps_s: list[float]) -> None:
    assert learned(gaps_s, fallback_s=600.0).nap() == once(600.0)


def test_an_unknown_policy_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="must be one of fixed, histogram"):
        keep_alive("forever", 1.0)
