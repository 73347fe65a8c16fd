"""Each condition operator by itself: which values of a request it holds for."""

from collections.abc import Sequence

import pytest

from torpor_account.core.access.conditions import BadPolicy, condition_test
from torpor_account.core.access.text_patterns import UNKNOWN

DAYS = ("2025-12-31T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
ROLES = ("arn:aws:iam::1:role/a", "arn:aws:iam::1:role/b", "arn:aws:iam::2:role/a")


def holds(operator: str, wanted: str | Sequence[str], given: Sequence[str] | None, **others: Sequence[str]) -> bool:
    """Whether a condition on the key `k` holds for these values. `others` are the values of other keys."""
    values = [wanted] if isinstance(wanted, str) else wanted
    known = others if given is None else {**others, "k": given}
    return condition_test(operator, "K", values, variables=True).holds(known.get)


@pytest.mark.parametrize(
    ("operator", "wanted", "given", "found"),
    [
        ("StringEquals", "a*", ("a*", "ab", "A*"), (True, False, False)),
        ("StringNotEquals", "a*", ("a*", "ab", "A*"), (False, True, True)),
        ("StringEqualsIgnoreCase", "aB*", ("Ab*", "abc", "b"), (True, False, False)),
        ("StringNotEqualsIgnoreCase", "aB*", ("Ab*", "abc", "b"), (False, True, True)),
        ("StringLike", "a?c*", ("abc", "abcd", "ac"), (True, True, False)),
        ("StringNotLike", "a?c*", ("abc", "abcd", "ac"), (False, False, True)),
        ("NumericEquals", "5", ("4", "5.0", "6"), (False, True, False)),
        ("NumericNotEquals", "5", ("4", "5.0", "6"), (True, False, True)),
        ("NumericLessThan", "5", ("4", "5.0", "6"), (True, False, False)),
        ("NumericLessThanEquals", "5", ("4", "5.0", "6"), (True, True, False)),
        ("NumericGreaterThan", "5", ("4", "5.0", "6"), (False, False, True)),
        ("NumericGreaterThanEquals", "5", ("4", "5.0", "6"), (False, True, True)),
        ("DateEquals", DAYS[1], DAYS, (False, True, False)),
        ("DateNotEquals", DAYS[1], DAYS, (True, False, True)),
        ("DateLessThan", DAYS[1], DAYS, (True, False, False)),
        ("DateLessThanEquals", DAYS[1], DAYS, (True, True, False)),
        ("DateGreaterThan", DAYS[1], DAYS, (False, False, True)),
        ("DateGreaterThanEquals", DAYS[1], DAYS, (False, True, True)),
        ("DateEquals", DAYS[1], ("1767225600", "2026-01-01", "2026-01-01T01:00:00+01:00"), (True, True, True)),
        ("Bool", "True", ("true", "TRUE", "false"), (True, True, False)),
        ("Bool", "false", ("true", "no", "False"), (False, False, True)),
        ("BinaryEquals", "YWI=", ("YWI=", "YWM=", "ab"), (True, False, False)),
        ("IpAddress", "10.1.0.0/16", ("10.1.2.3", "10.2.0.0", "::1"), (True, False, False)),
        ("NotIpAddress", "10.1.0.0/16", ("10.1.2.3", "10.2.0.0", "::1"), (False, True, True)),
        ("IpAddress", "2001:db8::/32", ("2001:db8::1", "2001:db9::1", "10.0.0.1"), (True, False, False)),
        ("IpAddress", "10.1.2.3/16", ("10.1.9.9", "10.2.0.0", "::1"), (True, False, False)),
        ("IpAddress", "10.1.2.3", ("10.1.2.3", "10.1.2.4", "10.1.2.0/24"), (True, False, False)),
        ("ArnEquals", "arn:aws:iam::1:role/?", ROLES, (True, True, False)),
        ("ArnNotEquals", "arn:aws:iam::1:role/?", ROLES, (False, False, True)),
        ("ArnLike", "arn:aws:iam::*:role/a", ROLES, (True, False, True)),
        ("ArnNotLike", "arn:aws:iam::*:role/a", ROLES, (False, True, False)),
    ],
)
def test_an_operator_holds_for_these_values(
    operator: str, wanted: str, given: Sequence[str], found: Sequence[bool]
) -> None:
    assert tuple(holds(operator, wanted, [one]) for one in given) == tuple(found)


@pytest.mark.parametrize("operator", ["NumericEquals", "DateLessThan", "IpAddress"])
def test_a_value_of_the_request_that_cannot_be_read_matches_nothing(operator: str) -> None:
    wanted = {"NumericEquals": "5", "DateLessThan": DAYS[0], "IpAddress": "0.0.0.0/0"}[operator]
    assert not holds(operator, wanted, ["unreadable"])


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-Infinity", "1_0", " 10", "10\n", "\u0661\u0660", "0x0a", "1e", ".", ""]
)
def test_what_only_python_takes_for_a_number_is_none(text: str) -> None:
    for kind in ("Numeric", "Date"):
        assert not any(holds(f"{kind}{order}", "10", [text]) for order in ("Equals", "LessThan", "GreaterThanEquals"))
        assert holds(f"{kind}NotEquals", "10", [text])
        with pytest.raises(BadPolicy, match="is not a"):
            condition_test(f"{kind}Equals", "k", [text], variables=True)


@pytest.mark.parametrize("text", ["10", "+10", "10.", "10.0", "1e1", "1.0E+1", "100e-1"])
def test_a_number_has_many_spellings(text: str) -> None:
    assert holds("NumericEquals", "10", [text])
    assert holds("NumericEquals", text, ["10"])
    assert holds("NumericLessThan", "0", ["-.5"])


@pytest.mark.parametrize(
    ("operator", "value", "why"),
    [
        ("NumericLessThan", "five", "'five' is not a number"),
        ("DateEquals", "tomorrow", "'tomorrow' is not a date in ISO 8601"),
        ("Bool", "yes", "'yes' is neither true nor false"),
        ("Null", "yes", "'yes' is neither true nor false"),
        ("BinaryEquals", "a", "'a' is not base64"),
        ("BinaryEquals", "YW*I=", "'YW*I=' is not base64"),
        ("NumericEquals", "5*", "'5*' is not a number"),
        ("IpAddress", "10.0.0.0/33", "'10.0.0.0/33' is not an IP address or range"),
        ("ForAnyValue:Null", "true", "there is no condition operator ForAnyValue:Null"),
        ("NullIfExists", "true", "there is no condition operator NullIfExists"),
        ("StringIs", "a", "there is no condition operator StringIs"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(operator: str, value: str, why: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        condition_test(operator, "k", [value], variables=True)
    assert str(refused.value) == why


def test_a_variable_stands_for_its_value_in_every_kind_of_comparison() -> None:
    assert holds("NumericEquals", "${l}", ["5"], l=["5.0"])
    assert not holds("NumericEquals", "${l}", ["5"]), "it has no value"
    assert not holds("NumericEquals", "${l}", ["5"], l=["unreadable"])
    assert holds("StringEqualsIgnoreCase", "${L}", ["Abc"], l=["aBC"])
    assert not holds("StringEqualsIgnoreCase", "${l}", ["Abc"])
    assert not holds("StringEqualsIgnoreCase", "${l}", [UNKNOWN[0]], l=UNKNOWN)
    assert not condition_test("StringEquals", "k", ["${l}"], variables=False).holds({"k": ["b"], "l": ["b"]}.get)


@pytest.mark.parametrize(
    ("operator", "given", "found"),
    [
        ("StringEquals", None, False),
        ("StringEquals", [], False),
        ("StringNotEquals", None, True),
        ("StringNotEquals", [], True),
        ("StringEqualsIfExists", None, True),
        ("StringEquals", ["c", "a"], True),
        ("StringNotEquals", ["c", "a"], False),
        ("ForAnyValue:StringEquals", None, False),
        ("ForAnyValue:StringEquals", [], False),
        ("ForAnyValue:StringEquals", ["c", "a"], True),
        ("ForAnyValue:StringNotEquals", None, False),
        ("ForAnyValue:StringNotEquals", ["c", "a"], True),
        ("ForAnyValue:StringNotEquals", ["a", "b"], False),
        ("ForAnyValue:StringEqualsIfExists", None, True),
        ("ForAllValues:StringEquals", None, True),
        ("ForAllValues:StringEquals", [], True),
        ("ForAllValues:StringEquals", ["a", "b"], True),
        ("ForAllValues:StringEquals", ["c", "a"], False),
        ("ForAllValues:StringNotEquals", ["c", "d"], True),
        ("ForAllValues:StringNotEquals", ["c", "a"], False),
    ],
)
def test_several_values_and_none(operator: str, given: Sequence[str] | None, found: bool) -> None:
    assert holds(operator, ["a", "b"], given) is found


@pytest.mark.parametrize(
    ("wanted", "given", "found"), [("true", None, True), ("true", ["a"], False), ("FALSE", ["a"], True)]
)
def test_null_asks_whether_there_is_a_value(wanted: str, given: Sequence[str] | None, found: bool) -> None:
    assert holds("Null", wanted, given) is found


@pytest.mark.parametrize("operator", ["StringEquals", "StringNotEquals", "StringEqualsIfExists", "Null"])
def test_where_nobody_knows_the_values_the_caller_says_what_holds(operator: str) -> None:
    condition = condition_test(operator, "k", ["true"], variables=True)
    for unknown in (True, False):
        assert condition.holds(lambda key: UNKNOWN, unknown=unknown) is unknown
    assert not condition.holds(lambda key: UNKNOWN)


def test_a_target_model_may_be_spelled_with_the_slash_that_aws_drops() -> None:
    wanted = condition_test("StringEquals", "sagemaker:TargetModel", ["/a/m.tar.gz"], variables=True)
    assert wanted.holds({"sagemaker:targetmodel": ["a/m.tar.gz"]}.get)
    assert not holds("StringEquals", "/a", ["a"]), "of another key the slash counts"
