"""A trace is checked where it is read, whatever its source."""

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from torpor.workloads import BadTrace, Chunk, Paced, Recorded, TraceRequest, recorded, requests


@pytest.mark.parametrize("row", [(0.0,), ("noon", "a"), (0.0, ""), (0.0, ["a"]), 7, (None, "a")])
def test_a_row_that_is_no_request_is_named(row: Any) -> None:
    with pytest.raises(BadTrace, match=r"the trace: row 2 is not \(time_s, model\): "):
        recorded([(0.0, "a"), row])


def test_a_small_trace_is_read_back_request_by_request() -> None:
    story = [TraceRequest(0.0, "a"), TraceRequest(0.5, "b"), TraceRequest(0.5, "a")]
    trace = recorded(story)
    assert list(requests(trace)) == story
    assert list(trace.names) == ["a", "b"]


@pytest.mark.parametrize(
    ("times_s", "complaint"),
    [
        ([1.0, 0.5], "row 2: time 0.5 is earlier than the row before it"),
        ([0.0, 1.0, -1.0], "row 3: time -1.0 is negative"),
        ([0.0, nan], "row 2: time nan is not a finite number"),
        ([inf], "row 1: time inf is not a finite number"),
        ([], "has no requests"),
    ],
)
def test_the_error_of_a_bad_time_names_the_row(times_s: list[float], complaint: str) -> None:
    with pytest.raises(BadTrace, match=complaint):
        list(requests(recorded((time_s, "a") for time_s in times_s)))


def test_order_and_rows_are_kept_from_chunk_to_chunk() -> None:
    parts = [Chunk(np.array([0.0, 2.0]), np.zeros(2, np.int32)), Chunk(np.array([1.0]), np.zeros(1, np.int32))]
    with pytest.raises(BadTrace, match=r"row 3: time 1\.0 is earlier"):
        list(Recorded(["a"], parts).chunks())


def test_the_error_of_a_negative_size_names_the_row() -> None:
    chunk = Chunk(np.array([0.0, 1.0]), np.zeros(2, np.int32), np.array([5, -7]))
    with pytest.raises(BadTrace, match="row 2: a size of -7 bytes is negative"):
        list(Recorded(["a"], [chunk]).chunks())


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="the model has no name"):
        recorded([(0.0, "")])


def test_a_paced_trace_begins_at_zero_and_runs_faster() -> None:
    trace = recorded([(1000.0, "a"), (1010.0, "b"), (1030.0, "a")])
    assert [request.time_s for request in requests(Paced(trace, speed=10))] == [0.0, 1.0, 3.0]


@pytest.mark.parametrize("speed", [0, -1, nan, inf])
def test_a_speed_that_is_none_is_refused(speed: float) -> None:
    with pytest.raises(BadTrace, match="speed is more than 0"):
        Paced(recorded([(0.0, "a")]), speed)
