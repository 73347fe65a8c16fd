"""Warm requests come in the seconds in which they arrived, while their model is in memory."""

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from torpor.workloads.trace_formats.marked_seconds import placed_in_seconds, placed_in_span
from torpor.workloads.trace_formats.stays import Stay, WarmStretch
from torpor_endpoint.core.ledger import Span, arrival_moments, arrival_seconds

MINUTE_S = 1_800_000_000.0
ARRIVALS = st.lists(st.floats(0, 59.99), min_size=1, max_size=40).map(
    lambda found: sorted(MINUTE_S + at_s for at_s in found)
)


def placed(arrivals_s: list[float], seed: int = 0, **more: Any) -> list[float]:
    called = WarmStretch(len(arrivals_s), arrivals_s[0], arrivals_s[-1], seen=True)
    found = placed_in_seconds(np.random.default_rng(seed), called, arrival_seconds(arrivals_s), **more)
    return [float(at_s) for at_s in found]


@given(ARRIVALS, st.integers(0, 9))
def test_each_second_has_its_requests_and_the_first_and_the_last_are_exact(arrivals_s: list[float], seed: int) -> None:
    found = placed(arrivals_s, seed)
    assert len(found) == len(arrivals_s)
    assert found == sorted(found)
    assert (found[0], found[-1]) == (arrivals_s[0], arrivals_s[-1])
    assert arrival_seconds(found) == arrival_seconds(arrivals_s)


def test_in_the_second_of_a_load_a_warm_request_comes_after_it() -> None:
    arrivals_s = [MINUTE_S + 3.9, MINUTE_S + 9.8, MINUTE_S + 9.9, MINUTE_S + 20.0]
    stays = [Stay(MINUTE_S - 5, MINUTE_S + 3.9, 1), Stay(MINUTE_S + 9.7)]
    for seed in range(20):
        found = placed(arrivals_s, seed, stays=stays)
        assert all(at_s >= MINUTE_S + 9.7 for at_s in found if at_s // 1 == MINUTE_S + 9)


def test_the_last_use_of_a_stay_is_where_it_was() -> None:
    arrivals_s = [MINUTE_S + 1.0, MINUTE_S + 5.2, MINUTE_S + 5.4, MINUTE_S + 30.0]
    stays = [Stay(MINUTE_S - 5, MINUTE_S + 5.4, 3), Stay(MINUTE_S + 29.0)]
    for seed in range(20):
        found = placed(arrivals_s, seed, stays=stays)
        assert MINUTE_S + 5.4 in found
        assert not any(MINUTE_S + 5.4 < at_s < MINUTE_S + 29 for at_s in found)


def test_fewer_requests_than_seconds_are_in_some_of_them() -> None:
    called = WarmStretch(2, MINUTE_S, MINUTE_S + 8, seen=True)
    found = placed_in_seconds(np.random.default_rng(0), called, 0b100010001)
    assert [at_s - MINUTE_S for at_s in found] == [0.0, 8.0]


# -- with the moments of some requests ---------------------------------------------------------------------------------
def span(arrivals_s: list[float], kept: int | None = None) -> Span:
    moments = "".join(arrival_moments([at_s]) for at_s in arrivals_s[:kept])
    return Span(arrivals_s[0], arrivals_s[-1], arrival_seconds(arrivals_s), moments)


@given(ARRIVALS)
def test_requests_whose_moments_are_kept_come_at_them(arrivals_s: list[float]) -> None:
    found = placed_in_span(np.random.default_rng(0), span(arrivals_s), len(arrivals_s))
    assert np.abs(found - np.array(arrivals_s)).max() <= 0.001


@given(ARRIVALS, st.integers(0, 39))
@example([MINUTE_S, MINUTE_S + 1, MINUTE_S + 2], 1)  # the second of the last known one needs no other
def test_the_others_come_later_in_seconds_that_are_known(arrivals_s: list[float], kept: int) -> None:
    found = placed_in_span(np.random.default_rng(0), span(arrivals_s, kept), len(arrivals_s))
    assert len(found) == len(arrivals_s)
    assert found.tolist() == sorted(found)
    assert np.abs(found[:kept] - np.array(arrivals_s[:kept])).max(initial=0.0) <= 0.001
    assert (found[-1], arrival_seconds(found)) == (arrivals_s[-1], arrival_seconds(arrivals_s))


def test_a_request_that_failed_has_a_moment_and_is_not_played() -> None:
    arrivals_s = [MINUTE_S + 1.0, MINUTE_S + 5.2, MINUTE_S + 5.4]
    found = placed_in_span(np.random.default_rng(0), span(arrivals_s), 2)
    assert len(found) == 2
    assert all(min(abs(one - at_s) for at_s in arrivals_s) <= 0.001 for one in found)
