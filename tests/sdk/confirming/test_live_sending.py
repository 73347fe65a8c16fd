"""What is read from the answers of a live endpoint."""

import numpy as np
import pytest

from torpor.confirming.live_sending import wakes
from torpor.confirming.queued_requests import QueuedOutcomes
from torpor.pages.data_frames import STEPS
from torpor.replay.replay_result import Replayed
from torpor_endpoint.core.pages.async_requests import AsyncRequestRow


def replayed(*requests: tuple[float, float, float]) -> Replayed:
    """Requests by the second of sending, that of the answer, and how long each was held."""
    sent_s, done_s, held_s = map(np.array, zip(*requests, strict=True))
    steps_s = np.zeros((len(requests), len(STEPS)), np.float32)
    steps_s[:, STEPS.index("hold")] = held_s
    none = np.zeros(len(requests), np.int32)
    ok = np.full(len(requests), 200, np.int16)
    return Replayed(
        ["a"],
        ["200"],
        0.0,
        False,
        0,
        sent_s,
        sent_s,
        done_s,
        none,
        none.astype(np.int16),
        ok,
        none.astype(np.int8),
        steps_s,
    )


@pytest.mark.parametrize(
    ("requests", "found"),
    [
        pytest.param([(0.0, 0.1, 0.0)], 0, id="nobody waited"),
        pytest.param([(0.0, 0.9, 0.5), (0.1, 0.9, 0.4)], 1, id="together"),
        pytest.param([(0.0, 0.9, 0.5), (0.6, 0.9, 0.01)], 1, id="it came late to the endpoint, and waited a little"),
        pytest.param([(0.0, 0.9, 0.5), (60.0, 60.9, 0.5)], 2, id="one after the other"),
    ],
)
def test_requests_that_wait_at_the_same_time_wait_for_one_wake(
    requests: list[tuple[float, float, float]], found: int
) -> None:
    assert wakes(replayed(*requests)) == found


def test_a_queued_request_takes_as_long_as_from_its_arrival_to_its_end() -> None:
    rows = [
        AsyncRequestRow(1, "a", "e", "v", "Completed", 100.0, 900.0, "s3://b/a", ended_s=100.5),
        AsyncRequestRow(2, "b", "e", "v", "Failed", 101.0, 900.0, "s3://b/b", ended_s=104.0),
    ]
    found = QueuedOutcomes.of(rows)
    assert (found.taken_s.tolist(), found.good.tolist()) == ([0.5, 3.0], [True, False])
