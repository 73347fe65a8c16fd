"""The soak's checker finds each fault; and, if asked for, the soak itself: `TORPOR_SOAK_MINUTES=10` and this file."""

import os
from math import inf
from pathlib import Path

import pytest

from benchmarks.soak.answers import Call, History, Kill, Known, Verdict, judged
from benchmarks.soak.leftovers import Leftovers, leaks
from benchmarks.soak.soaking import soak

MINUTES = float(os.environ.get("TORPOR_SOAK_MINUTES", "0"))
CACHING = Known(asleep_s=0.0, revalidates=False)
ASKING = Known(asleep_s=0.0, revalidates=True)
BROKEN = "ModelError the instance ended"


@pytest.fixture
def history() -> History:
    """1 from second 10 to 20, 2 from 20 to 30, then nothing; each change took a second."""
    history = History()
    for number, at_s in ((1, 10.0), (2, 20.0), (None, 30.0)):
        history.change_begins(number, at_s)
        history.change_is_done(at_s + 1.0)
    return history


def call(began_s: float, number: float | None = None, error: str = "", *steps: str) -> Call:
    """A call of one second."""
    return Call("shop", "m", began_s, began_s, began_s + 1.0, number, error, dict.fromkeys(steps, 1.0))


@pytest.mark.parametrize(
    ("ended", "known", "verdict"),
    [
        (call(25.0, 2.0), CACHING, Verdict.RIGHT),
        (call(25.0, 1.0), CACHING, Verdict.RIGHT),  # from memory, or from disk
        (call(25.0, 1.0, "", "load"), CACHING, Verdict.RIGHT),
        (call(25.0, 1.0, "", "load"), ASKING, Verdict.WRONG),
        (call(25.0, 1.0, "", "load", "download"), CACHING, Verdict.WRONG),
        (call(25.0, 1.0), Known(asleep_s=22.0, revalidates=False), Verdict.WRONG),  # of an instance that is no more
        (call(20.5, 1.0, "", "load"), ASKING, Verdict.RIGHT),  # as it is overwritten, both are
        (call(20.5, 2.0, "", "load"), ASKING, Verdict.RIGHT),
        (call(15.0, 2.0), CACHING, Verdict.WRONG),  # it is not there yet
        (call(25.0, 3.0), CACHING, Verdict.WRONG),  # another model's
    ],
)
def test_an_answer_is_right_if_s3_had_it_when_it_may_have_been_read(
    history: History, ended: Call, known: Known, verdict: Verdict
) -> None:
    assert judged(ended, history, known, []) is verdict


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        (call(35.0, None, "ValidationError Failed to download model data"), Verdict.ABSENT),
        (call(25.0, None, "ValidationError Failed to download model data"), Verdict.LOST),
        (call(24.0, None, BROKEN), Verdict.KILLED),
        (call(26.0, None, BROKEN), Verdict.LOST),
        (call(24.0, None, "no answer"), Verdict.LOST),  # an endpoint answers, whatever becomes of an instance
        (call(24.0, None, "ThrottlingException"), Verdict.LOST),
    ],
)
def test_an_error_is_excused_only_by_a_deletion_or_a_kill_during_the_call(
    history: History, ended: Call, verdict: Verdict
) -> None:
    kills = [Kill("shop", 24.5, 25.0), Kill("another", 0.0, inf)]
    assert judged(ended, history, CACHING, kills) is verdict


def test_a_leak_is_named_by_its_kind() -> None:
    clean = Leftovers("at the start", 0.0, 0, 31, {"socket:": 3}, 0, [], 0, 100.0, 4)
    assert leaks([clean, clean, clean]) == []
    dirty = Leftovers("at the end", 9.0, 1, 32, {"socket:": 4}, 2, ["file"], 0, 150.0, 9)
    assert [fault.partition(":")[0] for fault in leaks([clean, clean, dirty])] == [
        "processes",
        "sockets",
        "temporary",
        "descriptors",
        "memory",
    ]


@pytest.mark.slow
@pytest.mark.skipif(not MINUTES, reason="a soak takes minutes: TORPOR_SOAK_MINUTES=10 runs one")
def test_no_answer_is_wrong_no_request_is_lost_and_nothing_is_left(tmp_path: Path) -> None:
    soaked = soak(tmp_path, seed=4, lasts_s=60.0 * MINUTES)
    assert soaked.faults == []
    assert soaked.truth.count(Verdict.RIGHT) > 1000 * MINUTES
