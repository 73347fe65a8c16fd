"""Whom an instance asks for an artifact: those that are known to have it first, then the model's own order."""

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.routing.artifact_neighbours import NAMED_MAX, TOLD_MAX, ToldOnce, whom_to_ask

INSTANCES = [object() for _ in range(6)]
SOME = st.lists(st.sampled_from(INSTANCES))


@given(st.sampled_from(INSTANCES), SOME, SOME)
def test_those_that_are_known_to_have_it_come_first_and_nobody_is_asked_twice(
    asking: object, known: list[object], order: list[object]
) -> None:
    asked = whom_to_ask(asking, known, order)
    assert asking not in asked
    assert len(asked) == len(set(asked)) <= NAMED_MAX
    others = set(known) - {asking}
    assert set(asked[: len(others)]) <= others
    assert len(asked) == min(NAMED_MAX, len({*known, *order} - {asking}))
    ranks = [order.index(one) for one in asked if one not in known]
    assert ranks == sorted(ranks)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3))))
def test_each_instance_hears_once_of_each_model(calls: list[tuple[str, int]]) -> None:
    told = ToldOnce[int]()
    heard = [pair for pair in calls if told.is_first(*pair)]
    assert heard == list(dict.fromkeys(calls))


def test_what_is_remembered_is_bounded() -> None:
    told = ToldOnce[int]()
    for number in range(TOLD_MAX):
        assert told.is_first("a", number)
    assert not told.is_first("a", 0)
    assert told.is_first("b", 0)
    assert told.is_first("a", 0)  # all are forgotten, and told once more
