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
    outlook_of,
    outlooks_of,
    queued_ms,
    told_choice,
    told_need,
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
    alone = {"small": ModelState(ModelTier.S3)}
    assert choose_model(GROUP, StatedNeed(), alone, 1).outlook == outlooks_of(GROUP, alone, 1)[0]
    assert outlooks_of(GROUP, alone, 1)[0].effort_ms == 81.0, "one call, unless more are expected"
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


def test_a_call_waits_for_those_that_a_processor_does_before_it() -> None:
    assert [queued_ms(busy, 2, 10.0) for busy in (0, 1, 2, 3)] == [0.0, 0.0, 5.0, 10.0]
    assert queued_ms(1, 1, 10.0) == 10.0
    assert queued_ms(9, 1, None) == 0.0, "nobody knows how long they take"


def test_a_load_from_disk_that_nobody_measured_takes_as_long_as_one_from_s3_and_a_wake_is_nobody_s() -> None:
    assert [SMALL.loaded_within_ms(tier) for tier in ModelTier] == [0.0, 20.0, 80.0, None]
    assert [LARGE.loaded_within_ms(tier) for tier in ModelTier] == [0.0, 300.0, 300.0, None]
    asleep = replace(SMALL, load_ms={ModelTier.S3: 80.0, ModelTier.ASLEEP: 900.0})
    woken = outlook_of(asleep, ModelState(ModelTier.ASLEEP, queued_ms=5.0), 1, 1.0)
    assert (woken.latency_ms, woken.effort_ms) == (906.0, 81.0)
    shared = outlook_of(SMALL, ModelState(ModelTier.DISK, queued_ms=5.0), 1, 4.0)
    assert (shared.latency_ms, shared.effort_ms) == (26.0, 6.0)
    assert outlook_of(SMALL, ModelState(ModelTier.DISK), 1, 0.5).effort_ms == 21.0, "it serves this call"


@pytest.mark.parametrize(
    ("points", "rows", "found"),
    [
        (((4, 8.0), (8, 16.0), (16, 20.0)), 1, 8.0),
        (((4, 8.0), (8, 16.0), (16, 20.0)), 6, 12.0),
        (((4, 8.0), (8, 16.0), (16, 20.0)), 8, 16.0),
        (((4, 8.0), (8, 16.0), (16, 20.0)), 12, 18.0),
        (((4, 8.0), (8, 16.0), (16, 20.0)), 32, 28.0),
        (((1, 8.0), (2, 4.0)), 9, 4.0),  # more rows take no less time
        (((2, 8.0),), 1, 8.0),
        (((2, 8.0),), 4, 16.0),
        ((), 1, None),
    ],
)
def test_the_time_of_a_prediction_follows_its_rows(
    points: tuple[tuple[int, float], ...], rows: int, found: float | None
) -> None:
    assert GroupedModel("m", latency_ms=points).predict_ms(rows) == found


def test_of_models_that_cost_the_same_the_faster_answers_then_the_more_accurate_then_the_first_by_name() -> None:
    one = GroupedModel("m", 0.5, ((1, 2.0),), {ModelTier.S3: 80.0}, None, 1.0)

    def chosen(*models: GroupedModel, where: ModelState = IN_MEMORY, last: ModelState = IN_MEMORY) -> str:
        states = {model.model: where for model in models} | {models[-1].model: last}
        return choose_model(ChoiceGroup("g", models), StatedNeed(), states, 1).model

    other = replace(one, model="z")
    assert chosen(one, other, where=ModelState(ModelTier.MEMORY, 1.0)) == "z"
    assert chosen(one, replace(other, accuracy=0.6)) == "z"
    assert chosen(replace(other, accuracy=None), replace(one, accuracy=0.1)) == "m"
    assert chosen(replace(other, accuracy=0.0), replace(one, accuracy=None)) == "m"
    assert chosen(other, one) == "m"
    assert chosen(one, replace(other, usd_per_hour=0.5)) == "z"
    assert chosen(replace(one, usd_per_hour=None), replace(other, usd_per_hour=None, latency_ms=((1, 1.0),))) == "z"
    unmeasured = replace(one, model="a", latency_ms=())
    assert chosen(unmeasured, other) == "z"
    free = replace(unmeasured, usd_per_hour=0.0)
    assert chosen(free, other) == "z", "what nobody measured is not free"
    never_loaded = replace(one, model="a", load_ms={})
    assert chosen(never_loaded, other, where=ModelState(ModelTier.S3)) == "z"


def test_the_nearest_is_the_one_that_misses_its_bounds_by_the_least_part() -> None:
    def nearest(need: StatedNeed, first: GroupedModel, second: GroupedModel) -> tuple[str, tuple[str, ...]]:
        group = ChoiceGroup("g", (first, second))
        found = choose_model(group, replace(need, nearest=True), {"a": IN_MEMORY, "b": IN_MEMORY}, 1)
        return found.model, found.misses

    a = GroupedModel("a", 0.5, ((1, 20.0),), {}, None, 3.6)
    b = GroupedModel("b", 0.8, ((1, 50.0),), {}, None, 3.6)
    assert nearest(StatedNeed(latency_ms=10), a, b) == ("a", ("it takes 20 ms from memory",))
    assert nearest(StatedNeed(min_accuracy=0.9), a, b) == ("b", ("its accuracy is 0.8",))
    assert nearest(StatedNeed(max_cost=1e-5), a, b) == ("a", ("it costs $2e-05",))
    assert nearest(StatedNeed(latency_ms=20), a, b) == ("a", ()), "a bound that is just met is met"
    assert nearest(StatedNeed(min_accuracy=0.8), a, b) == ("b", ())
    assert nearest(StatedNeed(max_cost=2e-5), a, b) == ("a", ())
    assert outlook_of(a, IN_MEMORY, 1, 1.0).distance(StatedNeed(latency_ms=20)) == 0.0
    # by the bound that it misses the most: 1 - 0.5 / 0.9, against 25 / 19 - 1
    both, quick = StatedNeed(latency_ms=19, min_accuracy=0.9), replace(b, latency_ms=((1, 25.0),))
    assert nearest(both, a, quick) == ("b", ("it takes 25 ms from memory", "its accuracy is 0.8"))
    assert nearest(StatedNeed(min_accuracy=0.9), replace(a, accuracy=None), b)[0] == "b"
    assert nearest(StatedNeed(latency_ms=10), replace(a, latency_ms=()), b)[0] == "b"
    assert nearest(StatedNeed(max_cost=1e-5), replace(a, usd_per_hour=None), b)[0] == "b"
    # 1 - 0.4 / 0.8 is a half, and so are 15 / 10 - 1 and 3e-5 / 2e-5 - 1: the cheaper one answers
    half = StatedNeed(latency_ms=10, min_accuracy=0.8)
    assert (
        nearest(half, replace(a, accuracy=0.4, latency_ms=((1, 9.0),)), replace(b, latency_ms=((1, 15.1),)))[0] == "a"
    )
    assert (
        nearest(half, replace(a, accuracy=0.39, latency_ms=((1, 9.0),)), replace(b, latency_ms=((1, 15.0),)))[0] == "b"
    )
    dear = StatedNeed(max_cost=2e-5, min_accuracy=0.8)
    assert (
        nearest(dear, replace(a, accuracy=0.4, latency_ms=((1, 9.0),)), replace(b, latency_ms=((1, 30.1),)))[0] == "a"
    )
    assert (
        nearest(dear, replace(a, accuracy=0.39, latency_ms=((1, 9.0),)), replace(b, latency_ms=((1, 30.0),)))[0] == "b"
    )


def test_a_choice_says_why_each_other_model_does_not_answer() -> None:
    named = [GroupedModel(name, 0.9, ((1, 2.0),), {}, None, 3.6) for name in "abcd"]
    a, b, c, d = named
    group = ChoiceGroup("g", (a, replace(b, latency_ms=((1, 3.0),)), c, replace(d, latency_ms=())))
    where = {"a": IN_MEMORY, "b": IN_MEMORY, "c": IN_MEMORY, "d": IN_MEMORY}
    choice = choose_model(group, StatedNeed(), where, 1)
    assert (choice.group, choice.rows, choice.model) == ("g", 1, "a")
    assert choice.others == {"b": "it costs $3e-06", "c": "it is no cheaper", "d": "its load was not measured"}
    free = ChoiceGroup("g", tuple(replace(one, usd_per_hour=None) for one in group.models))
    assert (choose_model(free, StatedNeed(), where, 1).others or {})["b"] == "it costs more"
    near = choose_model(group, StatedNeed(latency_ms=1, max_cost=1e-6, nearest=True), where, 1)
    assert (near.others or {})["b"] == "it takes 3 ms from memory; it costs $3e-06"


def test_a_choice_is_told_with_what_it_waits_for_and_misses_and_no_more_than_eight_others() -> None:
    models = [GroupedModel(f"m{number:02}", None, ((1, 2.0 + number),), {}) for number in range(11)]
    where = {one.model: ModelState(ModelTier.MEMORY, queued_ms=40.0) for one in models}

    def told(count: int) -> str:
        need = StatedNeed(latency_ms=20, min_accuracy=0.5, nearest=True)
        return told_choice(choose_model(ChoiceGroup("g", tuple(models[:count])), need, where, 7))

    one = "group=g; model=m00; from=memory; rows=7; latency_ms=54; queued_ms=40; "
    misses = "it takes {} ms from memory{} its accuracy is not known"
    assert told(1) == f"{one}misses={misses.format('54', ' and')}"
    lines = [f"; not m{number:02}: {misses.format(40 + 14 + 7 * number, ';')}" for number in range(1, 11)]
    assert told(2) == told(1) + lines[0]
    assert told(9) == told(1) + "".join(lines[:8])
    assert told(10) == told(9) + "; nor 1 more"
    assert told(11) == told(9) + "; nor 2 more"


def test_a_need_is_told_in_the_words_of_its_request() -> None:
    assert told_need(StatedNeed()) == ""
    assert told_need(StatedNeed(20.0, 0.95, 1e-4, 3)) == "latency_ms=20, min_accuracy=0.95, max_cost=0.0001"


def test_no_more_than_eight_models_are_told_of_that_miss_a_need() -> None:
    def refusal(count: int) -> str:
        models = tuple(GroupedModel(f"m{number}") for number in range(count))
        with pytest.raises(NeedNotMet) as never:
            choose_model(ChoiceGroup("g", models), StatedNeed(5, 0.5), {one.model: IN_MEMORY for one in models}, 1)
        return str(never.value)

    each = [f"m{number}: its latency from memory is not known and its accuracy is not known" for number in range(10)]
    begin = "No model of group g meets latency_ms=5, min_accuracy=0.5: "
    assert refusal(1) == begin + each[0]
    assert refusal(8) == begin + "; ".join(each[:8])
    assert refusal(10) == begin + "; ".join(each[:8]) + "; and 2 more"
    assert refusal(0) == "No model of group g is there"


def test_what_will_meet_the_need_is_the_cheapest_of_those_that_do_in_memory() -> None:
    cold = dict.fromkeys(WARM, ModelState(ModelTier.S3))
    with pytest.raises(NeedNotMet) as never:
        choose_model(GROUP, StatedNeed(latency_ms=20), cold, 1)
    assert never.value.later == "small"
    with pytest.raises(NeedNotMet) as never:
        choose_model(GROUP, StatedNeed(latency_ms=20), {"large": ModelState(ModelTier.S3)}, 1)
    assert never.value.later == "large", "the other one is not there"
