"""The rules of waiting for a piece of work: a busy machine makes it late, and is no reason to give it up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.work_wait import WALL_MULTIPLE, GaveUp, WorkLook, WorkWait

LIMIT_S = 5.0
LOOK_S = 0.1


def watched(share: float, resting: bool = False, limit_s: float = LIMIT_S) -> tuple[GaveUp, float, bool]:
    """Why work that gets this share of a processor and never ends is given up, when, and whether it was starved."""
    waiting = WorkWait(limit_s, WorkLook(0.0, 0.0, 0.0, resting))
    looks = 0
    while True:
        looks += 1
        at_s = looks * LOOK_S
        if gave_up := waiting.gave_up(WorkLook(at_s, at_s * share, at_s * share, resting)):
            return gave_up, at_s, waiting.starved


@pytest.mark.parametrize(
    ("share", "resting", "why", "after_s", "starved"),
    [
        (1.0, False, GaveUp.WORK, LIMIT_S, False),
        (0.25, False, GaveUp.WORK, LIMIT_S * 4, True),
        (0.0, True, GaveUp.REST, LIMIT_S, False),
        (0.0, False, GaveUp.CLOCK, LIMIT_S * WALL_MULTIPLE, True),
        (0.01, True, GaveUp.CLOCK, LIMIT_S * WALL_MULTIPLE, False),
    ],
    ids=["works", "works with a quarter", "sleeps", "gets nothing", "wakes for a moment again and again"],
)
def test_work_is_given_up_for_what_it_did_and_by_the_clock_only_at_last(
    share: float, resting: bool, why: GaveUp, after_s: float, starved: bool
) -> None:
    gave_up, at_s, was_starved = watched(share, resting)
    assert (gave_up, was_starved) == (why, starved)
    assert at_s == pytest.approx(after_s, abs=2 * LOOK_S)


@given(st.lists(st.tuples(st.floats(0.0, 30.0), st.floats(0.0, 1.0)), min_size=1, max_size=40))
def test_work_that_wants_a_processor_is_not_given_up_before_its_limit_of_processor_time_or_the_multiple_of_the_clock(
    stretches: list[tuple[float, float]],
) -> None:
    waiting = WorkWait(LIMIT_S, WorkLook(0.0, 0.0, 0.0, False))
    at_s = cpu_s = 0.0
    for lasts_s, share in stretches:
        at_s, cpu_s = at_s + lasts_s, cpu_s + lasts_s * share
        gave_up = waiting.gave_up(WorkLook(at_s, cpu_s, cpu_s, False))
        assert (gave_up is None) == (cpu_s <= LIMIT_S and at_s <= LIMIT_S * WALL_MULTIPLE)
        if gave_up:
            return


def test_a_look_that_comes_late_tells_of_no_long_rest() -> None:
    waiting = WorkWait(LIMIT_S, WorkLook(0.0, 0.0, 0.0, True))
    assert waiting.gave_up(WorkLook(LIMIT_S * 2, 0.0, 0.0, True)) is None


def test_processes_with_limits_of_their_own_take_nothing_of_the_limit_and_are_no_rest() -> None:
    waiting = WorkWait(LIMIT_S, WorkLook(0.0, 0.0, 0.0, False))
    for look in range(1, 11):
        assert waiting.gave_up(WorkLook(float(look), 0.0, float(look), False)) is None
    assert not waiting.starved
