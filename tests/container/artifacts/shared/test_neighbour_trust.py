"""Whom an instance asks: each neighbour that failed is passed over, for longer after each failure in a row."""

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.artifacts.shared.neighbour_trust import ASKED_MAX, PASSED_OVER_MAX, REMEMBERED_MAX, NeighbourTrust

NAMES = st.sampled_from("abcde")


def passed_over(trust: NeighbourTrust[str], one: str) -> int:
    """How often it is passed over before it is asked again."""
    return next(times for times in range(PASSED_OVER_MAX + 2) if trust.to_ask([one]))


def test_each_further_failure_passes_a_neighbour_over_for_twice_as_long() -> None:
    trust = NeighbourTrust[str]()
    waits = []
    for _ in range(13):
        trust.failed("a")
        waits.append(passed_over(trust, "a"))
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024]
    trust.served("a")
    trust.failed("a")
    assert passed_over(trust, "a") == 1


@given(st.lists(st.tuples(NAMES, st.booleans())), st.lists(NAMES))
def test_those_that_are_asked_are_named_ones_each_once_and_in_their_order(
    past: list[tuple[str, bool]], named: list[str]
) -> None:
    trust = NeighbourTrust[str]()
    for one, well in past:
        (trust.served if well else trust.failed)(one)
    asked = trust.to_ask(named)
    assert len(asked) == len(set(asked)) <= ASKED_MAX
    assert asked == [one for one in dict.fromkeys(named) if one in asked]
    last = dict(past)
    assert all(last.get(one, True) for one in asked)


def test_what_is_remembered_of_failures_is_bounded() -> None:
    trust = NeighbourTrust[int]()
    for one in range(REMEMBERED_MAX + 1):
        trust.failed(one)
    assert trust.to_ask([0]) == [0]
    assert trust.to_ask([REMEMBERED_MAX]) == []
