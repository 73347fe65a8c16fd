"""The time to stay awake: fixed, or learned from the gaps between uses."""

import random
from math import ceil
from statistics import fmean, pvariance

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.keepalive import POLICIES, Fixed, Histogram, KeepAlive, Nap, keep_alive, once

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


def test_a_nap_is_awake_until_its_sleep_and_from_its_wake_until_its_end() -> None:
    nap, plain = Nap(10.0, 20.0, 30.0), once(10.0)
    assert [nap.awake(idle_s) for idle_s in (9.0, 10.0, 19.0, 20.0, 29.0, 30.0)] == [
        True,
        False,
        False,
        True,
        True,
        False,
    ]
    assert [nap.due(idle_s) for idle_s in (9.0, 19.0, 20.0, 29.0, 30.0)] == [False, False, True, True, False]
    assert [plain.due(idle_s) for idle_s in (9.0, 10.0, 11.0)] == [False] * 3


def by_definition(gaps_s: list[float], fallback_s: float) -> Nap:
    """The rule of `Histogram`, from all gaps at once."""
    bins = sorted(int(gap_s / 60.0) for gap_s in gaps_s if gap_s < 240 * 60.0)
    if len(bins) < 10 or len(gaps_s) - len(bins) > 0.5 * len(gaps_s):
        return once(fallback_s)
    if fmean(bins) >= 1 and pvariance(bins) > 2 * fmean(bins):
        return once(fallback_s)
    head, tail = (bins[ceil(quantile * len(bins)) - 1] for quantile in (0.05, 0.99))
    head_s, tail_s = head * 60.0 * 0.9, (tail + 1) * 60.0 * 1.1
    return Nap(0.0, head_s, tail_s) if head >= 2 else once(tail_s)


@given(
    middle=st.integers(0, 239),
    steps=st.lists(st.sampled_from([-2, -1, 0, 0, 0, 1, 2, 5, 240]), min_size=8, max_size=130),
)
def test_a_histogram_is_the_rule_applied_to_all_gaps_after_each_of_them(middle: int, steps: list[int]) -> None:
    policy, gaps_s = Histogram(600.0), list[float]()
    for step in steps:
        gaps_s.append(60.0 * max(0, middle + step))
        policy.used_after(gaps_s[-1])
        bins = [gap_s / 60.0 for gap_s in gaps_s if gap_s < 240 * 60.0]
        if not bins or abs(pvariance(bins) - 2 * fmean(bins)) > 1e-6:  # its sums are rounded
            assert policy.nap() == by_definition(gaps_s, 600.0)


@pytest.mark.parametrize(
    ("bins", "learns"),
    [
        ([5] * 10, True),
        ([5] * 9, False),
        ([5] * 10 + [240] * 10, True),
        ([5] * 10 + [240] * 11, False),
        ([239] * 10, True),
        ([240] * 30, False),
        ([0, 4] * 8, True),  # the variance is twice the mean
        ([0, 5] * 8, False),
        ([0] * 95 + [9] * 5, True),  # the mean is below one
        ([0] * 9 + [10], False),  # it is one
    ],
)
def test_gaps_teach_if_they_are_enough_within_the_bins_and_regular(bins: list[int], learns: bool) -> None:
    nap = learned([60.0 * number for number in bins], fallback_s=601.0).nap()
    assert (nap != once(601.0)) is learns


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


def test_policies_have_these_names() -> None:
    assert {name: type(make(1.0)).__name__ for name, make in POLICIES.items()} == {
        "fixed": "Fixed",
        "histogram": "Histogram",
    }
