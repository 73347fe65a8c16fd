"""Turns in rounds: each queue has a turn, and waits for at most one turn of every other queue."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.rounds import Rounds


@given(st.lists(st.one_of(st.sampled_from("abcd"), st.none()), max_size=80))
def test_each_item_has_one_turn_in_order_and_waits_for_at_most_one_turn_of_each_other_queue(
    steps: list[str | None],
) -> None:
    """A letter comes, or (None) somebody has a turn; in the end all have theirs."""
    rounds, came, given_to = Rounds[tuple[str, int]](), defaultdict[str, int](int), defaultdict[str, int](int)
    others_first: dict[str, list[str]] = {}  # whose turns passed since the first of these has waited
    for step in [*steps, *([None] * len(steps))]:
        if step is not None:
            rounds.add(step, (step, came[step]))
            came[step] += 1
            others_first.setdefault(step, [])
        elif rounds:
            whose, number = next(rounds)
            assert number == given_to[whose]
            given_to[whose] += 1
            passed = others_first.pop(whose)
            assert len(passed) == len(set(passed))
            for others in others_first.values():
                others.append(whose)
            if came[whose] > given_to[whose]:
                others_first[whose] = []
    assert given_to == {whose: count for whose, count in came.items() if count}
    assert list(rounds) == []


def test_a_clear_removes_every_entry() -> None:
    rounds = Rounds[int]()
    rounds.add("a", 1)
    rounds.clear()
    assert not rounds
