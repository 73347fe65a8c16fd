"""Latencies in bins: within half a percent of numpy's for any requests, and they add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from torpor.simulator.engine.latency_histogram import Latencies

SHARES = (0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0)
seconds = st.lists(st.floats(1e-5, 1e5), min_size=1, max_size=200).map(np.array)


def of(*parts: NDArray[np.float64]) -> Latencies:
    """The latencies, added in parts."""
    found = Latencies()
    for part in parts:
        found.add(part)
    return found


@given(seconds)
def test_quantiles_are_half_a_percent_from_numpys(taken_s: NDArray[np.float64]) -> None:
    found = of(taken_s)
    for share in SHARES:
        assert found.quantile(share) == pytest.approx(np.quantile(taken_s, share, method="inverted_cdf"), rel=0.005)


def test_quantiles_of_many_are_numpys_by_any_method() -> None:
    taken_s = np.random.default_rng(5).lognormal(-3, 1.2, 50_000)
    found = of(taken_s[:10], taken_s[10:])
    for share in (0.5, 0.95, 0.99):
        assert found.quantile(share) == pytest.approx(np.quantile(taken_s, share), rel=0.006)
    assert found.mean_s == pytest.approx(taken_s.mean())


@given(seconds, seconds)
def test_latencies_add_up(some_s: NDArray[np.float64], others_s: NDArray[np.float64]) -> None:
    both, together = of(some_s) + of(others_s), of(np.concatenate((others_s, some_s)))
    assert (both.count, both.least_s, both.most_s) == (together.count, together.least_s, together.most_s)
    assert both.mean_s == pytest.approx(together.mean_s)
    assert [both.quantile(share) for share in SHARES] == [together.quantile(share) for share in SHARES]


@given(seconds, st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=10).map(sorted))
def test_a_longer_time_serves_no_fewer(taken_s: NDArray[np.float64], limits_s: list[float]) -> None:
    found = of(taken_s)
    shares = [found.share_within(limit_s) for limit_s in limits_s]
    assert shares == sorted(shares)
    for limit_s, share in zip(limits_s, shares, strict=True):
        assert (taken_s <= limit_s).mean() <= share <= (taken_s <= limit_s * 1.00502).mean()


@given(seconds)
def test_the_curve_ends_at_1_and_agrees_with_the_shares(taken_s: NDArray[np.float64]) -> None:
    found = of(taken_s)
    at_s, shares = found.cdf()
    assert shares[-1] == pytest.approx(1.0)
    assert (np.diff(at_s) >= 0).all()
    assert [found.share_within(time_s) for time_s in at_s.tolist()] == pytest.approx(shares.tolist())


def test_a_rank_is_not_one_too_high_for_what_binary_fractions_are_off_by() -> None:
    taken_s = np.arange(1.0, 101.0)
    assert 0.07 * 100 > 7
    assert of(taken_s).quantile(0.07) == pytest.approx(7, rel=0.005)


def test_a_latency_beyond_the_bins_counts_as_the_last_bin_and_keeps_its_extremes() -> None:
    found = of(np.array([0.0, 1e-9, 1.0, 1e7]))
    assert (found.least_s, found.most_s, found.quantile(1)) == (0.0, 1e7, 1e7)
    assert found.share_within(1e-6) == 0.5


def test_no_requests_have_no_latency_and_miss_no_goal() -> None:
    found = of(np.zeros(0))
    assert (found.count, found.mean_s, found.quantile(0.99), found.share_within(0.1)) == (0, 0.0, 0.0, 1.0)
    assert [part.tolist() for part in found.cdf()] == [[], []]


@pytest.mark.parametrize("share", [-0.01, 1.01, 99.0, float("nan")])
def test_a_quantile_that_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="a quantile is from 0 to 1"):
        of(np.ones(3)).quantile(share)
