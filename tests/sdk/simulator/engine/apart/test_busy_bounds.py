"""What is known of requests before they are played: which may find their instance busy, and after which nothing is."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from torpor.simulator.engine.apart.busy_bounds import BoundedRequests, BusyBounds
from torpor.simulator.engine.variant.variant_plan import Machine
from torpor.workloads.profile import ModelProfile

BUSY_MIN = 3
MACHINE = Machine(memory_bytes=100, disk_bytes=200, threads=3, loads_max=4, processors=3)
ONE = ModelProfile(
    "a", 20, 40, download_s=0.1, unpack_s=0.1, load_s=0.1, unload_s=0.1, predict_s=0.1, load_delay_s=0.1,
    predict_delay_s=0.1, unpack_delay_s=0.1,
)  # fmt: skip
"""A request takes 0.8 s at most, and as long as another model's unload besides."""


def places(
    times_s: list[float], lanes: list[int], unload_s: float = 0.2, **changes: Any
) -> tuple[list[int], list[int]]:
    known = bounds(times_s, lanes, unload_s, **changes)
    return known.maybe_busy, known.unsure


def bounds(times_s: list[float], lanes: list[int], unload_s: float = 0.2, **changes: Any) -> BoundedRequests:
    known = BusyBounds(MACHINE, {"a": replace(ONE, **changes)}, BUSY_MIN)
    assert known.known
    known.learn([0], ["a"])
    models = np.zeros(len(times_s), np.int32)
    there_s = np.full(max(lanes) + 1, unload_s)
    return known.of(np.array(times_s), models, np.array(lanes, np.int32), there_s)


def test_a_request_may_find_its_instance_busy_if_so_many_may_be_there() -> None:
    assert places([0.0, 0.3, 0.6, 0.9], [0, 0, 0, 0]) == ([3], [])
    assert places([0.0, 0.3, 0.6, 1.1], [0, 0, 0, 0]) == ([], [])


def test_requests_of_other_instances_do_not_count() -> None:
    assert places([0.0, 0.6, 0.3, 0.9], [0, 0, 1, 1]) == ([], [])


def test_each_request_finds_at_most_those_that_may_not_be_over() -> None:
    assert bounds([0.0, 0.3, 0.6, 1.1, 0.0, 5.0], [0, 0, 0, 0, 1, 1]).found.tolist() == [0, 1, 2, 2, 0, 0]


def test_the_longest_unload_of_another_model_counts() -> None:
    assert places([0.0, 0.3, 0.6, 1.1], [0, 0, 0, 0], unload_s=0.4) == ([3], [])
    assert places([0.0, 0.3, 0.6, 1.1], [0, 0, 0, 0], unload_s=0.0) == ([], [])


def test_nothing_is_sure_after_a_request_whose_model_may_wait_for_room() -> None:
    assert places([0.0, 0.1, 5.0, 9.0], [0, 0, 0, 0], memory_bytes=51) == ([], [1])
    assert places([0.0, 0.1, 5.0, 9.0], [0, 0, 0, 0], memory_bytes=50) == ([], [])
    assert places([0.0, 0.1, 5.0, 9.0], [0, 0, 0, 0], disk_bytes=101) == ([], [1])


def test_nothing_is_sure_after_a_request_that_may_wait_for_a_worker() -> None:
    assert places([0.0, 5.0], [0, 0], workers=1) == ([], [0, 1])


@pytest.mark.parametrize(
    "changes",
    [{"threads": 2}, {"loads_max": 2}, {"processors": 2}, {"cache": False}, {"batch_size": 2}, {"device_bytes": 1}],
    ids=str,
)
def test_nothing_is_known_of_an_instance_that_delays_requests_before_it_is_busy(changes: dict[str, Any]) -> None:
    assert not BusyBounds(replace(MACHINE, **changes), {}, BUSY_MIN).known
    assert BusyBounds(replace(MACHINE, processors=None), {}, BUSY_MIN).known
