from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.core.alarms import COMPARISONS, AlarmRule, Datapoints, Missing, State, judged

MEANING: dict[str, float | None] = {"0": 0.0, "X": 9.0, "-": None}
ORDER = (Missing.MISSING, Missing.IGNORE, Missing.BREACHING, Missing.NOT_BREACHING)
NOW = State.INSUFFICIENT_DATA
"""The present state in AWS's tables: one that neither column answers by itself."""


def row(text: str) -> Datapoints:
    return [MEANING[mark] for mark in text.split()]


def rule(periods: int, to_alarm: int, missing: Missing = Missing.MISSING) -> AlarmRule:
    return AlarmRule("GreaterThanThreshold", 1.0, periods, to_alarm, missing)


@pytest.mark.parametrize(
    ("datapoints", "to_alarm", "expected"),
    [
        # AWS's first table: 3 out of 3 datapoints.
        ("0 - X - X", 3, "OK OK OK OK"),
        ("0 - - - -", 3, "OK OK OK OK"),
        ("- - - - -", 3, "INSUFFICIENT_DATA now ALARM OK"),
        ("0 X X - X", 3, "ALARM ALARM ALARM ALARM"),
        ("- - X - -", 3, "ALARM now ALARM OK"),
        # And the second: 2 out of 3.
        ("0 - X - X", 2, "ALARM ALARM ALARM ALARM"),
        ("0 0 X 0 X", 2, "ALARM ALARM ALARM ALARM"),
        ("0 - X - -", 2, "OK OK ALARM OK"),
        ("- - - - 0", 2, "OK OK ALARM OK"),
        ("- - - X -", 2, "ALARM now ALARM OK"),
    ],
)
def test_the_tables_of_aws_on_missing_data(datapoints: str, to_alarm: int, expected: str) -> None:
    states = [NOW if word == "now" else State(word) for word in expected.split()]
    assert [judged(rule(3, to_alarm, missing), row(datapoints), NOW) for missing in ORDER] == states


def test_a_breach_just_before_the_range_does_not_complete_an_alarm_of_two() -> None:
    assert judged(rule(2, 2), row("- - - X"), State.OK) is State.OK
    assert judged(rule(2, 2), row("- - X -"), State.OK) is State.ALARM


@pytest.mark.parametrize(
    ("comparison", "breaching"),
    [
        ("GreaterThanThreshold", [2.0]),
        ("GreaterThanOrEqualToThreshold", [1.0, 2.0]),
        ("LessThanThreshold", [0.0]),
        ("LessThanOrEqualToThreshold", [0.0, 1.0]),
    ],
)
def test_each_comparison(comparison: str, breaching: list[float]) -> None:
    asked = AlarmRule(comparison, 1.0, 1, 1)
    assert [value for value in (0.0, 1.0, 2.0) if judged(asked, [value], State.OK) is State.ALARM] == breaching


values = st.one_of(st.none(), st.floats(allow_nan=False))
states = st.sampled_from(State)


@st.composite
def judgements(draw: Any) -> tuple[AlarmRule, Datapoints]:
    periods = draw(st.integers(1, 6))
    asked = AlarmRule(
        draw(st.sampled_from(sorted(COMPARISONS))),
        draw(st.floats(allow_nan=False)),
        periods,
        draw(st.integers(1, periods)),
        draw(st.sampled_from(Missing)),
    )
    return asked, draw(st.lists(values, min_size=asked.looks_back, max_size=asked.looks_back))


@given(judgements(), states, states)
def test_only_ignore_and_only_gaps_let_the_present_state_matter(
    judgement: tuple[AlarmRule, Datapoints], one: State, other: State
) -> None:
    asked, datapoints = judgement
    if judged(asked, datapoints, one) is not judged(asked, datapoints, other):
        assert asked.missing is Missing.IGNORE
        assert None in datapoints


@given(judgements(), states)
def test_insufficient_data_means_that_no_datapoint_exists(
    judgement: tuple[AlarmRule, Datapoints], state: State
) -> None:
    asked, datapoints = judgement
    if asked.missing is not Missing.IGNORE and judged(asked, datapoints, state) is State.INSUFFICIENT_DATA:
        assert set(datapoints) == {None}


@given(judgements(), states)
def test_the_treatment_of_missing_datapoints_is_irrelevant_with_enough_datapoints(
    judgement: tuple[AlarmRule, Datapoints], state: State
) -> None:
    asked, datapoints = judgement
    if len(datapoints) - datapoints.count(None) >= asked.periods:
        rules = [AlarmRule(asked.comparison, asked.threshold, asked.periods, asked.to_alarm, one) for one in Missing]
        assert len({judged(one, datapoints, state) for one in rules}) == 1


@given(judgements(), states, st.data())
def test_asking_for_more_breaches_never_raises_an_alarm(
    judgement: tuple[AlarmRule, Datapoints], state: State, data: st.DataObject
) -> None:
    asked, datapoints = judgement
    stricter = data.draw(st.integers(asked.to_alarm, asked.periods))
    strict = AlarmRule(asked.comparison, asked.threshold, asked.periods, stricter, asked.missing)
    if judged(strict, datapoints, State.OK) is State.ALARM:
        assert judged(asked, datapoints, State.OK) is State.ALARM


def test_an_alarm_looks_back_two_periods_further_than_it_counts() -> None:
    assert AlarmRule("GreaterThanThreshold", 1.0, 3, 2).looks_back == 5


def test_missing_data_is_treated_by_aws_s_words() -> None:
    assert [how.value for how in Missing] == ["missing", "ignore", "breaching", "notBreaching"]
