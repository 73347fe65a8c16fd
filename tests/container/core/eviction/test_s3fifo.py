"""S3-FIFO: which models are on trial, have passed it, or are remembered as failed."""

import pytest

from tests.container.core.eviction.test_orders import anybody, filled, leavers
from torpor_container.core.eviction import S3FIFO, Policy
from torpor_container.core.eviction.s3fifo import Shares


def test_a_model_that_returns_soon_after_its_trial_joins_the_main_queue() -> None:
    chosen = filled(S3FIFO(), "abcd")
    assert chosen.victim(anybody) == "a"  # on trial; the others came while there was room, and are in the main queue
    chosen.removed("a")
    chosen.added("a", 100, 1.0)
    chosen.added("e", 100, 1.0)
    assert leavers(chosen) == "ebcda"


def evicted(chosen: Policy, *names: str) -> Policy:
    """The policy once these have left, as it chose itself."""
    for name in names:
        assert chosen.victim(anybody) == name
        chosen.removed(name)
    return chosen


def test_one_use_is_too_few_to_pass_the_trial_and_two_are_enough() -> None:
    for uses, order in ((1, "abcd"), (2, "bcda")):
        chosen = filled(S3FIFO(), "abcd")
        for _ in range(uses):
            chosen.touched("a")
        assert leavers(chosen) == order


def test_a_model_goes_round_three_times_at_most_however_often_it_was_used() -> None:
    chosen = evicted(filled(S3FIFO(), "abc"), "a")
    for name in "bbbbbbbbbccc":
        chosen.touched(name)
    assert leavers(chosen) == "bc"


def test_all_rounds_are_made_at_once_where_the_small_queue_has_busy_models_alone() -> None:
    chosen = filled(S3FIFO(), "abc")
    for name in "bbbccc":
        chosen.touched(name)
    assert chosen.victim(lambda name: name != "a") == "b"


def test_counted_in_bytes_the_small_queue_holds_as_much_as_the_largest_model() -> None:
    chosen = S3FIFO(room_bytes=1000, few=0)
    for name, size_bytes in (("a", 100), ("L", 500), ("b", 100)):
        chosen.added(name, size_bytes, 1.0)
    assert leavers(chosen) == "abL"


def test_once_a_model_had_to_leave_all_newcomers_are_on_trial() -> None:
    assert leavers(filled(evicted(filled(S3FIFO(), "abcd"), "a"), "ef")) == "efbcd"


def test_a_busy_model_on_trial_is_passed_over_for_the_next_one_on_trial() -> None:
    chosen = filled(evicted(filled(S3FIFO(), "abcd"), "a"), "ef")
    assert chosen.victim(lambda name: name != "e") == "f"


def test_a_model_is_on_trial_again_after_it_was_in_the_main_queue() -> None:
    chosen = filled(evicted(filled(S3FIFO(), "abcd"), "a"), "a")
    chosen.removed("a")
    assert filled(chosen, "a").victim(anybody) == "a"


@pytest.mark.parametrize(
    ("begin", "failed", "then", "order"),
    [
        ("abcd", "a", "ea", "ebcda"),  # the first one that failed comes back to the main queue
        ("ab", "a", "ca", "cba"),  # as many are remembered as the main queue has room for, and one at least
        ("ab", "ac", "da", "dab"),  # it was forgotten for the second one that failed
    ],
)
def test_as_many_failed_models_are_remembered_as_the_main_queue_has_room_for(
    begin: str, failed: str, then: str, order: str
) -> None:
    chosen = filled(S3FIFO(), begin)
    for name in failed:
        if name not in begin:
            chosen.added(name, 100, 1.0)
        evicted(chosen, name)
    assert leavers(filled(chosen, then)) == order


def test_a_model_larger_than_a_tenth_is_given_its_trial() -> None:
    chosen = S3FIFO(room_bytes=1000, few=0)
    chosen.added("big", 500, 1.0)
    for number in range(5):
        chosen.added(f"small {number}", 100, 1.0)
    for _ in range(2):
        chosen.touched("big")
    assert chosen.victim(anybody) == "small 0"


@pytest.mark.parametrize(
    ("shares", "most", "small_is_full", "main_is_over"),
    [
        (Shares(small=10, main=90, room=109, largest=5), (10, 99), True, False),
        (Shares(small=9, main=91, room=100, largest=5), (10, 90), False, True),
        (Shares(small=29, main=70, room=100, largest=30), (30, 70), False, False),
        (Shares(small=30, main=71, room=100, largest=30), (30, 70), True, True),
    ],
)
def test_the_small_queue_has_a_tenth_of_the_room_or_holds_the_largest_model(
    shares: Shares, most: tuple[int, int], small_is_full: bool, main_is_over: bool
) -> None:
    assert (shares.small_max, shares.main_max) == most
    assert (shares.small_is_full, shares.main_is_over) == (small_is_full, main_is_over)
