"""Replays of the stretches of one trace, joined to one."""

from typing import Any

import numpy as np
import pytest

from torpor.pages.data_frames import STEPS
from torpor.replay.joined_replays import ReplayedStretch, joined
from torpor.replay.replay_result import Replayed


def stretch(outcomes: list[str], sent_s: list[float], **more: Any) -> Replayed:
    """All are due at 0, and take 0.1 s."""
    count, names = len(outcomes), list(dict.fromkeys(outcomes))
    sent = np.array(sent_s)
    return Replayed(
        ("a", "b"),
        names,
        1000.0,
        False,
        0,
        np.zeros(count),
        sent,
        sent + 0.1,
        np.zeros(count, np.int32),
        np.array([names.index(one) for one in outcomes], np.int16),
        np.array([int(one[:3]) for one in outcomes], np.int16),
        np.ones(count, np.int8),
        np.zeros((count, len(STEPS)), np.float32),
        **more,
    )


def test_times_and_outcomes_of_the_stretches_follow_each_other() -> None:
    first = stretch(["200", "500 Other"], [0.0, 0.5], messages={"500 Other": "first"})
    second = stretch(["500 Other", "200", "507"], [0.0, 0.25, 0.5], messages={"500 Other": "second"})
    found = joined([ReplayedStretch(0.0, 0.0, first), ReplayedStretch(100.0, 100.5, second)])
    assert found.counts == {"200": 2, "500 Other": 2, "507": 1}
    assert found.planned_s.tolist() == [0.0, 0.0, 100.0, 100.0, 100.0]
    assert found.sent_s.tolist() == [0.0, 0.5, 100.5, 100.75, 101.0]
    assert found.late_s(1.0) == 1.0
    assert found.messages == {"500 Other": "first"}
    assert found.latency_s(0.5) == pytest.approx(0.1)
