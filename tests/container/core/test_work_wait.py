"""The rules of waiting for a piece of work: a busy machine makes it late, and is no reason to give it up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.work_wait import WALL_MULTIPLE, GaveUp, QuietTime, WorkLook, WorkWait

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


def test_quiet_time_goes_on_with_the_clock_and_a_twelfth_as_fast_on_a_busy_machine() -> None:
    quiet = QuietTime(100.0, 7.0)
    looks = {
        (112.0, 7.0): 12.0,  # quiet all the time
        (124.0, 19.0): 13.0,  # busy all the time
        (136.0, 25.0): 19.0,  # busy for half of it
        (148.0, 99.0): 20.0,  # several waited for a processor
        (160.0, 90.0): 32.0,  # the count began again
        (172.0, 90.0): 44.0,
    }
    assert [quiet.so_far_s(*look) for look in looks] == list(looks.values())


def test_a_wait_ends_by_the_clock_after_twelve_times_its_limit() -> None:
    assert WorkWait(5.0, WorkLook(0.0, 0.0, 0.0, False)).wall_s == 60.0


def begun() -> WorkWait:
    """A wait of five seconds for work that had begun before, as of second 100."""
    return WorkWait(5.0, WorkLook(100.0, 50.0, 70.0, True))


def test_the_limits_count_from_the_first_look_and_may_be_reached() -> None:
    waiting = begun()
    assert waiting.gave_up(WorkLook(160.0, 55.0, 75.0, False)) is None
    assert waiting.gave_up(WorkLook(160.1, 55.0, 75.0, False)) is GaveUp.CLOCK
    assert begun().gave_up(WorkLook(101.0, 55.1, 75.1, False)) is GaveUp.WORK


def test_work_may_rest_for_its_limit_without_a_pause_and_a_late_look_tells_of_one_second() -> None:
    for gap_s in (1.0, 2.0):
        waiting = begun()
        found = [waiting.gave_up(WorkLook(100.0 + look * gap_s, 50.0, 70.0, True)) for look in range(1, 7)]
        assert found == [None] * 5 + [GaveUp.REST]


def test_a_rest_begins_anew_once_a_processor_was_used_and_is_one_between_two_looks_at_rest() -> None:
    waiting = begun()
    used_s = [70.0] * 3 + [70.5] * 6
    found = [waiting.gave_up(WorkLook(101.0 + at, 50.0, all_s, True)) for at, all_s in enumerate(used_s)]
    assert found == [None] * 9
    assert waiting.gave_up(WorkLook(110.0, 50.0, 70.5, True)) is GaveUp.REST
    waiting = begun()
    assert {waiting.gave_up(WorkLook(101.0 + at, 50.0, 70.0, at % 2 == 1)) for at in range(20)} == {None}


@pytest.mark.parametrize(("used_s", "starved"), [(1.9, True), (2.0, False)])
def test_work_that_got_less_than_half_of_what_it_wanted_was_starved(used_s: float, starved: bool) -> None:
    waiting = begun()
    for second in range(1, 5):
        waiting.gave_up(WorkLook(100.0 + second, 50.0, 70.0, True))
    waiting.gave_up(WorkLook(108.0, 50.0, 70.0 + used_s, False))
    assert waiting.starved is starved


@pytest.mark.parametrize(("used_s", "starved"), [(2.1, True), (2.3, False)])
def test_what_it_used_while_it_rested_was_no_rest(used_s: float, starved: bool) -> None:
    waiting = begun()
    for second in range(1, 5):
        waiting.gave_up(WorkLook(100.0 + second, 50.0, 70.0 + second / 10, True))
    waiting.gave_up(WorkLook(108.0, 50.0, 70.0 + used_s, False))
    assert waiting.starved is starved
