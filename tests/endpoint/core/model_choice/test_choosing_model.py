"""The chosen model meets the need if one does, and costs no more than the others; asking for less costs no more."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.model_choice.choosing_model import (
    IN_MEMORY,
    ModelState,
    NeedNotMet,
    choose_model,
    outlooks_of,
    told_choice,
)
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier
from torpor_endpoint.core.model_choice.stated_need import StatedNeed

amounts = st.floats(0.001, 1e4)
shares = st.floats(0.0, 1.0)
points = st.dictionaries(st.integers(1, 512), amounts, max_size=4).map(lambda found: tuple(sorted(found.items())))
loads = st.dictionaries(st.sampled_from([ModelTier.DISK, ModelTier.S3, ModelTier.ASLEEP]), amounts)
prices = st.one_of(st.none(), st.floats(0.0, 10.0))
accuracies = st.one_of(st.none(), shares)
tiers = st.builds(ModelState, st.sampled_from(ModelTier), st.floats(0.0, 1e3))
needs = st.builds(
    StatedNeed,
    latency_ms=st.one_of(st.none(), amounts),
    min_accuracy=st.one_of(st.none(), shares),
    max_cost=st.one_of(st.none(), st.floats(1e-9, 1e-2)),
)
rows = st.integers(1, 1000)
expected = st.floats(1.0, 1000.0)


@st.composite
def groups(draw: st.DrawFn, priced: bool = False) -> ChoiceGroup:
    price = draw(st.floats(0.01, 10.0)) if priced else None
    models = [
        GroupedModel(
            f"m{number}.tar.gz",
            draw(accuracies),
            draw(points),
            draw(loads),
            None,
            price if priced else draw(prices),
        )
        for number in range(draw(st.integers(1, 5)))
    ]
    return ChoiceGroup("digits", tuple(models))


@st.composite
def states(draw: st.DrawFn, group: ChoiceGroup) -> dict[str, ModelState]:
    there = draw(st.sets(st.sampled_from([one.model for one in group.models])))
    return {model: draw(tiers) for model in sorted(there)}


@given(st.data(), groups(), needs, rows, expected)
def test_the_chosen_model_meets_the_need_if_one_does_and_is_the_cheapest_of_those(
    data: st.DataObject, group: ChoiceGroup, need: StatedNeed, number: int, calls: float
) -> None:
    where = data.draw(states(group))
    meeting = [one for one in outlooks_of(group, where, number, calls) if not one.misses(need)]
    try:
        chosen = choose_model(group, need, where, number, calls)
    except NeedNotMet:
        assert meeting == []
        return
    assert chosen.outlook in meeting
    assert all(chosen.outlook.rank <= one.rank for one in meeting)
    assert chosen.misses == ()
    assert chosen.model in where


@given(st.data(), groups(priced=True), needs, rows, expected)
def test_whoever_asks_for_less_gets_an_answer_at_no_more_cost(
    data: st.DataObject, group: ChoiceGroup, need: StatedNeed, number: int, calls: float
) -> None:
    where = data.draw(states(group))
    try:
        cost = choose_model(group, need, where, number, calls).outlook.rank[0]
    except NeedNotMet:
        return
    less = data.draw(
        st.sampled_from(
            [
                replace(need, latency_ms=None),
                replace(need, min_accuracy=None),
                replace(need, max_cost=None),
                replace(need, latency_ms=need.latency_ms and need.latency_ms * 2),
                replace(need, min_accuracy=need.min_accuracy and need.min_accuracy / 2),
            ]
        )
    )
    assert choose_model(group, less, where, number, calls).outlook.rank[0] <= cost


@given(st.data(), groups(), needs, rows)
def test_the_nearest_answers_where_none_meets_the_need_and_says_what_it_misses(
    data: st.DataObject, group: ChoiceGroup, need: StatedNeed, number: int
) -> None:
    where = data.draw(states(group))
    outlooks = outlooks_of(group, where, number)
    if not outlooks:
        with pytest.raises(NeedNotMet):
            choose_model(group, replace(need, nearest=True), where, number)
        return
    chosen = choose_model(group, replace(need, nearest=True), where, number)
    assert chosen.outlook.distance(need) == min(one.distance(need) for one in outlooks)
    assert bool(chosen.misses) == all(one.misses(need) for one in outlooks)


@given(groups(), rows, rows)
def test_an_idle_model_in_memory_takes_what_its_prediction_takes(group: ChoiceGroup, few: int, more: int) -> None:
    for one in outlooks_of(group, {model.model: IN_MEMORY for model in group.models}, few):
        assert one.latency_ms == one.effort_ms == one.model.predict_ms(few)


def test_the_nearest_answers_while_the_model_that_will_meet_the_need_is_loaded() -> None:
    where = {"small": IN_MEMORY, "large": ModelState(ModelTier.S3)}
    near = choose_model(GROUP, StatedNeed(latency_ms=100, min_accuracy=0.95, nearest=True), where, 1)
    assert (near.model, near.later) == ("small", "large")
    never = choose_model(GROUP, StatedNeed(latency_ms=5, min_accuracy=0.95, nearest=True), where, 1)
    assert (never.model, never.later) == ("small", None)
    assert choose_model(GROUP, StatedNeed(min_accuracy=0.9, nearest=True), where, 1).later is None


SMALL = GroupedModel("small", 0.9, ((1, 1.0), (101, 11.0)), {ModelTier.DISK: 20.0, ModelTier.S3: 80.0}, None, 3.6)
LARGE = GroupedModel("large", 0.97, ((1, 10.0),), {ModelTier.S3: 300.0}, None, 3.6)
GROUP = ChoiceGroup("digits", (SMALL, LARGE))
WARM = {"small": IN_MEMORY, "large": IN_MEMORY}


def test_a_prediction_is_on_the_line_between_two_measurements_and_goes_on_beyond_them() -> None:
    assert [SMALL.predict_ms(number) for number in (1, 51, 101, 201)] == [1.0, 6.0, 11.0, 21.0]
    assert LARGE.predict_ms(3) == 30.0


def test_the_cheapest_answers_and_the_accurate_one_only_who_needs_it() -> None:
    assert choose_model(GROUP, StatedNeed(), WARM, 1).model == "small"
    assert choose_model(GROUP, StatedNeed(min_accuracy=0.95), WARM, 1).model == "large"


def test_a_load_is_paid_for_once_by_all_calls_that_it_will_serve() -> None:
    where = {"small": ModelState(ModelTier.S3), "large": IN_MEMORY}
    assert choose_model(GROUP, StatedNeed(), where, 1, calls_expected=1.0).model == "large"
    assert choose_model(GROUP, StatedNeed(), where, 1, calls_expected=100.0).model == "small"
    assert choose_model(GROUP, StatedNeed(latency_ms=50), where, 1, calls_expected=100.0).model == "large"


def test_what_is_queued_counts_for_the_latency() -> None:
    where = {"small": ModelState(ModelTier.MEMORY, queued_ms=40.0), "large": IN_MEMORY}
    assert choose_model(GROUP, StatedNeed(latency_ms=20), where, 1).model == "large"


def test_what_no_model_meets_is_told_for_each_and_what_will_be_met_once_it_is_loaded() -> None:
    cold = dict.fromkeys(WARM, ModelState(ModelTier.S3))
    with pytest.raises(NeedNotMet, match=r"meets latency_ms=20, min_accuracy=0.95: small: it takes 81 ms") as never:
        choose_model(GROUP, StatedNeed(latency_ms=20, min_accuracy=0.95), cold, 1)
    assert never.value.later == "large"
    with pytest.raises(NeedNotMet) as never:
        choose_model(GROUP, StatedNeed(latency_ms=5, min_accuracy=0.95), cold, 1)
    assert never.value.later is None


def test_what_nobody_measured_meets_no_need_for_it() -> None:
    unknown = ChoiceGroup("digits", (GroupedModel("new"),))
    for need in (StatedNeed(latency_ms=1e9), StatedNeed(min_accuracy=0.0), StatedNeed(max_cost=1e9)):
        with pytest.raises(NeedNotMet, match="is not known"):
            choose_model(unknown, need, {"new": IN_MEMORY}, 1)
    assert choose_model(unknown, StatedNeed(), {"new": IN_MEMORY}, 1).model == "new"


def test_the_choice_is_told_on_one_line() -> None:
    told = told_choice(choose_model(GROUP, StatedNeed(min_accuracy=0.95), WARM, 1))
    assert told == (
        "group=digits; model=large; from=memory; rows=1; latency_ms=10; accuracy=0.97; cost_usd=1e-05; "
        "not small: its accuracy is 0.9"
    )
