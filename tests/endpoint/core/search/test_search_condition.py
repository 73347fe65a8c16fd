"""Conditions on records: what each operator means, what is refused, and the laws that hold for all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.core.search.record_property import PropertyType, RecordProperty, number_of, values_at
from torpor_endpoint.core.search.search_condition import (
    BadCondition,
    Condition,
    NestedCondition,
    SearchExpression,
    condition,
)

RECORD = {
    "Name": "iris-7",
    "Version": 7,
    "Made": 1_767_225_600.0,  # 2026-01-01T00:00:00Z
    "Isolated": False,
    "HyperParameters": {"rate": "0.25", "depth": "6.9", "kind": "linear", "a.b": "1"},
    "Channels": [{"Name": "train", "Uri": "s3://a/x"}, {"Name": "test", "Uri": "s3://b/y"}],
    "Empty": {},
}


def named(path: str, type: PropertyType) -> RecordProperty:
    return RecordProperty(path, tuple(path.split("/")), type)


TEXT, NUMBER = named("Name", PropertyType.TEXT), named("Version", PropertyType.NUMBER)
TIME, ISOLATED = named("Made", PropertyType.TIME), named("Isolated", PropertyType.BOOLEAN)
RATE = named("HyperParameters/rate", PropertyType.WRITTEN_NUMBER)
DEPTH = named("HyperParameters/depth", PropertyType.WRITTEN_NUMBER)
KIND = named("HyperParameters/kind", PropertyType.WRITTEN_NUMBER)
URI, GONE = named("Channels/Uri", PropertyType.TEXT), named("Gone", PropertyType.TEXT)
WHOLE, EMPTY = named("Channels", PropertyType.WHOLE), named("Empty", PropertyType.WHOLE)


@pytest.mark.parametrize(
    ("property", "operator", "value", "held"),
    [
        (TEXT, None, "iris-7", True),
        (TEXT, "Equals", "IRIS-7", False),
        (TEXT, "NotEquals", "rose", True),
        (TEXT, "Contains", "ris", True),
        (TEXT, "In", "rose, iris-7", True),
        (TEXT, "In", "iris", False),
        (KIND, "Contains", "line", True),
        (KIND, "In", "tree,linear", True),
        (NUMBER, "Equals", "7.0", True),
        (NUMBER, "GreaterThan", "7", False),
        (NUMBER, "GreaterThanOrEqualTo", "7", True),
        (NUMBER, "GreaterThanOrEqualTo", "6", True),
        (NUMBER, "LessThan", "7.5", True),
        (TIME, "GreaterThan", "2025-12-31T23:59:59", True),
        (TIME, "LessThanOrEqualTo", "2026-01-01T01:00:00+01:00", True),
        (TIME, "LessThan", "2026-01-01T01:00:00+01:00", False),
        (ISOLATED, "Equals", "False", True),
        (ISOLATED, "Equals", "TRUE", False),
        (ISOLATED, "NotEquals", "true", True),
        (RATE, "LessThan", "0.5", True),
        (RATE, "Equals", "0.250", True),
        (DEPTH, "Equals", "6", True),  # a decimal is treated as an integer beside one
        (DEPTH, "Equals", "6.0", False),
        (KIND, "Equals", "linear", True),
        (KIND, "LessThan", "5", False),
        (KIND, "NotEquals", "5", True),
        (URI, "Equals", "s3://b/y", True),
        (URI, "NotEquals", "s3://b/y", False),
        (URI, "Contains", "//a", True),
        (URI, "In", "s3://b/y,s3://c/z", True),
        (GONE, "NotEquals", "x", True),
        (GONE, "Equals", "x", False),
        (GONE, "NotExists", None, True),
        (WHOLE, "Exists", None, True),
        (EMPTY, "Exists", None, False),
        (EMPTY, "NotExists", None, True),
        (WHOLE, "NotExists", None, False),
    ],
)
def test_each_operator_compares_as_the_property_s_type_says(
    property: RecordProperty, operator: str | None, value: str | None, held: bool
) -> None:
    assert condition(property, operator, value).holds(RECORD) is held


@pytest.mark.parametrize(
    ("property", "operator", "value", "why"),
    [
        (TEXT, "GreaterThan", "a", "'Name' is neither"),
        (TEXT, "Equals", None, "needs a Value"),
        (TEXT, None, None, "operator Equals needs a Value"),
        (NUMBER, "Equals", "seven", "'Version' is a number, and Value 'seven' is none"),
        (NUMBER, "Equals", "nan", "is none"),
        (NUMBER, "Contains", "7", "for text properties, and 'Version' is none"),
        (TIME, "LessThan", "yesterday", "'Made' is a time, and Value 'yesterday'"),
        (ISOLATED, "Equals", "no", "'Isolated' is true or false"),
        (ISOLATED, "LessThan", "true", "'Isolated' is neither"),
        (TIME, "In", "2026-01-01", "for text properties, and 'Made' is none"),
        (KIND, "Contains", None, "operator Contains needs a Value"),
        (RATE, "LessThan", "much", "needs a number as Value, and 'much'"),
        (WHOLE, "Equals", "train", "'Channels' has properties of its own"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_property_s_name(
    property: RecordProperty, operator: str | None, value: str | None, why: str
) -> None:
    with pytest.raises(BadCondition, match=why):
        condition(property, operator, value)


def test_a_nested_condition_holds_for_one_item_as_a_whole() -> None:
    def channel(name: str, part: str) -> NestedCondition:
        of = condition(named("Name", PropertyType.TEXT), "Equals", name)
        at = condition(named("Uri", PropertyType.TEXT), "Contains", part)
        return NestedCondition(("Channels",), (of, at))

    assert channel("train", "//a").holds(RECORD)
    assert not channel("train", "//b").holds(RECORD), "the other channel lies there"


KEYS = st.sampled_from("abc")
TREES = st.recursive(
    st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
CONDITIONS = st.builds(
    lambda steps, operator, value: Condition(RecordProperty("p", steps, PropertyType.NUMBER), operator, value),
    st.lists(KEYS, max_size=2).map(tuple),
    st.sampled_from(("Equals", "NotEquals", "Exists", "NotExists")),
    st.integers(0, 3),
)


@given(TREES, CONDITIONS)
def test_each_operator_with_not_is_the_opposite_of_the_one_without(tree: Any, one: Condition) -> None:
    other = one.operator.removeprefix("Not") if one.operator.startswith("Not") else f"Not{one.operator}"
    assert one.holds(tree) is not Condition(one.property, other, one.value).holds(tree)


@given(TREES, st.lists(CONDITIONS, min_size=1, max_size=4).map(tuple))
def test_an_expression_holds_as_all_or_any_of_its_parts_in_any_nesting(tree: Any, parts: tuple[Condition, ...]) -> None:
    held = [one.holds(tree) for one in parts]
    for all_of, expected in ((True, all(held)), (False, any(held))):
        flat = SearchExpression(parts, all_of)
        nested = SearchExpression((SearchExpression(parts[:1], all_of), *parts[1:]), all_of)
        assert flat.holds(tree) is nested.holds(tree) is expected
    assert SearchExpression(parts).holds(tree) is all(held), "all, unless it says otherwise"


@given(st.lists(st.floats(-3, 3), max_size=4), st.floats(-3, 3))
def test_a_number_is_less_equal_or_greater(values: list[float], at: float) -> None:
    of = RecordProperty("p", (), PropertyType.NUMBER)
    held = {name: condition(of, name, repr(at)).holds(values) for name in ("LessThan", "Equals", "GreaterThan")}
    assert held == {
        "LessThan": any(value < at for value in values),
        "Equals": at in values,
        "GreaterThan": any(value > at for value in values),
    }
    assert condition(of, "LessThanOrEqualTo", repr(at)).holds(values) is (held["LessThan"] or held["Equals"])


def test_values_are_found_through_lists_and_keys_with_dots() -> None:
    assert list(values_at(RECORD, ("HyperParameters", "a.b"))) == ["1"]
    assert list(values_at(RECORD, ("Channels", "Name"))) == ["train", "test"]
    assert list(values_at({"a": [[1, None], []]}, ("a",))) == [1]
    assert [number_of(text) for text in ("3", "0.5", "1e400", "x", "1_0", "1_0.5")] == [3, 0.5, *[None] * 4]
