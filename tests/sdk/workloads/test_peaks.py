"""The busiest stretch of a trace, and its least time awake: both equal a reading of the whole trace at once."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor.simulator.simulation_run import simulate
from torpor.workloads import Chunk, Peak, Recorded, TimedTrace, awake_s, busiest, recorded
from torpor.workloads.profile import ModelProfile

TIMES = st.lists(st.integers(0, 500), min_size=1, max_size=60).map(sorted)


def chunked(times_s: list[int], models: list[int], size: int) -> Recorded:
    chunks = [
        Chunk(np.array(times_s[at : at + size], np.float64), np.array(models[at : at + size], np.int32))
        for at in range(0, len(times_s), size)
    ]
    return Recorded(list("abcd"), chunks)


@given(times_s=TIMES, size=st.integers(1, 20), requests=st.integers(1, 70))
def test_the_busiest_stretch_is_the_shortest_of_its_requests(times_s: list[int], size: int, requests: int) -> None:
    found = busiest(chunked(times_s, [0] * len(times_s), size), requests)
    assert found.of == len(times_s)
    assert found.whole == (requests >= len(times_s))
    spans_s = [last - first for first, last in zip(times_s, times_s[found.requests - 1 :], strict=False)]
    assert (found.lasts_s, found.since) == (min(spans_s), int(np.argmin(spans_s)))
    assert found.since_s == times_s[found.since] - times_s[0]


@given(times_s=TIMES, size=st.integers(1, 20), since=st.integers(0, 59), requests=st.integers(1, 60))
def test_a_peak_is_cut_with_as_many_requests_before_it(
    times_s: list[int], size: int, since: int, requests: int
) -> None:
    since, models = since % len(times_s), [at % 4 for at in range(len(times_s))]
    requests = min(requests, len(times_s) - since)
    cut = Peak(since, requests, 0.0, 0.0, len(times_s)).cut(chunked(times_s, models, size))
    lead = min(since, requests)
    assert [time_s for part in cut.trace.parts for time_s in part.times_s] == times_s[since - lead : since + requests]
    assert cut.lead_s == times_s[since] - times_s[since - lead]
    assert cut.new == len({*models[since : since + requests]} - {*models[since - lead : since]})


@given(times_s=TIMES, size=st.integers(1, 20), idle_s=st.integers(1, 200))
def test_the_time_awake_is_each_gap_up_to_the_idle_limit(times_s: list[int], size: int, idle_s: int) -> None:
    awake, lasts_s = awake_s(chunked(times_s, [0] * len(times_s), size), idle_s)
    assert awake == sum(min(after - before, idle_s) for before, after in pairwise(times_s)) + idle_s
    assert lasts_s == times_s[-1] - times_s[0] + idle_s


def test_a_simulation_is_not_awake_for_less() -> None:
    trace = TimedTrace(recorded([(10.0, "a"), (40.0, "a"), (2000.0, "a")]), 4000.0)
    asleep = simulate(trace, {"a": ModelProfile("a", 1, 1)}, instances_min=0, instances_max=1, idle_s=60.0)
    awake, lasts_s = awake_s(trace, 60.0)
    assert (awake, lasts_s) == (150.0, 4000.0)
    assert awake <= asleep.instance_s == pytest.approx(awake, rel=0.05)
