"""Which requests of a trace are sent, and which quiet is skipped."""

from itertools import pairwise

import numpy as np
import pytest

from torpor.confirming.core.sent_part import SendingBudget, chosen, stretches

SPARSE = np.array([0.0, 1.0, 500.0, 501.0, 501.5, 502.0, 900.0])


def test_a_trace_within_the_budget_is_sent_whole() -> None:
    part = chosen(SPARSE, SendingBudget(wall_max_s=1000.0, requests_max=100))
    assert (part.whole, part.requests, part.lasts_s, part.quiet_s) == (True, 7, 900.0, 0.0)


def test_quiet_that_can_be_skipped_costs_next_to_nothing() -> None:
    part = chosen(SPARSE, SendingBudget(wall_max_s=10.0, requests_max=100, gap_s=3.0))
    assert (part.whole, part.quiet_s) == (True, 499.0 + 398.0)


def test_of_a_longer_trace_the_busiest_part_is_sent() -> None:
    part = chosen(SPARSE, SendingBudget(wall_max_s=10.0, requests_max=100))
    assert (part.since, part.until, part.since_s, part.whole) == (2, 6, 500.0, False)
    bounded = chosen(SPARSE, SendingBudget(wall_max_s=10.0, requests_max=3))
    assert (bounded.since, bounded.until) == (2, 5)


def test_a_single_request_is_always_sent() -> None:
    assert chosen(np.array([0.0, 100.0]), SendingBudget(wall_max_s=1.0, requests_max=9)).requests == 1


def test_twice_as_fast_takes_half_the_time() -> None:
    assert chosen(SPARSE, SendingBudget(wall_max_s=450.0, requests_max=100, speed=2.0)).whole
    assert not chosen(SPARSE, SendingBudget(wall_max_s=449.0, requests_max=100, speed=2.0)).whole


@pytest.mark.parametrize(("gap_s", "found"), [(3.0, [0, 2, 6, 7]), (499.0, [0, 7]), (0.9, [0, 1, 2, 3, 6, 7])])
def test_a_trace_falls_into_stretches_between_quiet_times(gap_s: float, found: list[int]) -> None:
    parts = [(part.start, part.stop) for part in stretches(SPARSE, gap_s)]
    assert parts == list(pairwise(found))
