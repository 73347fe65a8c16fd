"""Patterns of policies: what their wildcards and variables stand for."""

from collections.abc import Mapping, Sequence

import pytest

from torpor_account.core.access.text_patterns import UNKNOWN, TextPattern

NO_VALUES: Mapping[str, Sequence[str]] = {}


def has(pattern: str, text: str, values: Mapping[str, Sequence[str]] = NO_VALUES, *, wildcards: bool = True) -> bool:
    return TextPattern.parsed(pattern, variables=True, wildcards=wildcards).has(text, values.get)


@pytest.mark.parametrize(
    ("pattern", "has_it", "has_it_not"),
    [
        ("", [""], ["a"]),
        ("*", ["", "a", "a:b/c"], []),
        ("a", ["a"], ["", "ab", "A"]),
        ("a*", ["a", "ab"], ["", "ba"]),
        ("*a", ["a", "ba", "aba"], ["", "ab"]),
        ("a*c", ["ac", "abc", "acc"], ["a", "ab", "acb"]),
        ("*a*", ["a", "bab"], ["", "b"]),
        ("a**", ["a", "ab"], ["b"]),
        ("?", ["a", "*"], ["", "ab"]),
        ("a?", ["ab"], ["a", "abc", "b?"]),
        ("?*", ["a", "ab"], [""]),
        ("a?*b", ["axb", "axxb"], ["ab"]),
        ("a.c", ["a.c"], ["abc"]),
        ("aX*", ["aX", "aXb"], ["a", "ab"]),
        ("\0*", ["\0", "\0a"], ["a", "*"]),
        ("${*}${?}${$}", ["*?$"], ["ab$"]),
    ],
)
def test_wildcards_stand_for_any_characters_and_for_one(
    pattern: str, has_it: Sequence[str], has_it_not: Sequence[str]
) -> None:
    for text, found in (*((text, True) for text in has_it), *((text, False) for text in has_it_not)):
        assert has(pattern, text) is found


def test_without_wildcards_or_variables_their_signs_are_characters() -> None:
    assert has("a*?", "a*?", wildcards=False)
    assert not has("a*?", "abc", wildcards=False)
    plain = TextPattern.parsed("${a}*", variables=False)
    assert plain.has("${a}b", {"a": ["x"]}.get)
    assert not plain.has("xb", {"a": ["x"]}.get)


@pytest.mark.parametrize(
    ("pattern", "values", "text"),
    [
        ("${a}", {"a": ["x"]}, "x"),
        ("${ A }", {"a": ["x"]}, "x"),
        ("p/${a}/${b}", {"a": ["x"], "b": ["y"]}, "p/x/y"),
        ("${a, 'd e'}", {}, "d e"),
        ("${a,'d'}", {"a": ["x"]}, "x"),
        ("${a, 'd'}", {"a": ["x", "y"]}, "d"),
        ("${a, ''}b", {}, "b"),
        ("${a}*", {"a": ["x"]}, "xyz"),
        ("${a}", {"a": ["*"]}, "*"),
    ],
)
def test_a_variable_stands_for_the_one_value_of_its_key(
    pattern: str, values: Mapping[str, Sequence[str]], text: str
) -> None:
    assert has(pattern, text, values)
    assert not has(pattern, f"-{text}", values)


@pytest.mark.parametrize("values", [{}, {"a": []}, {"a": ["x", "y"]}, {"a": UNKNOWN}])
def test_a_pattern_with_a_variable_without_a_value_matches_nothing(values: Mapping[str, Sequence[str]]) -> None:
    for text in ("", "x", "${a}", UNKNOWN[0]):
        assert not has("${a}", text, values)
    assert not TextPattern.parsed("${a}", variables=True).has_arn("x", values.get)


@pytest.mark.parametrize(
    ("pattern", "arn", "found"),
    [
        ("arn:aws:iam::1:role/*", "arn:aws:iam::1:role/a/b", True),
        ("arn:aws:*:*:*:*", "arn:aws:logs:r:1:log-group:g:*", True),
        ("arn:aws:logs:r:1:log-group:*:s", "arn:aws:logs:r:1:log-group:g:s", True),
        ("arn:aws:logs:r:1:log-group:*:s", "arn:aws:logs:r:1:log-group:g:t", False),
        ("arn:aws:iam:*:role/a", "arn:aws:iam::1:role/a", False),
        ("arn:*", "arn:aws:iam::1:role/a", False),
        ("arn:aws:iam::1:role/a", "arn:aws:iam::1", False),
        ("arn:aws:iam::1", "arn:aws:iam::1", True),
    ],
)
def test_an_arn_matches_part_by_part(pattern: str, arn: str, found: bool) -> None:
    assert TextPattern.parsed(pattern, variables=True).has_arn(arn, lambda key: None) is found
