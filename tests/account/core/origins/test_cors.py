"""Rules are evaluated as https://docs.aws.amazon.com/AmazonS3/latest/userguide/cors.html says."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.core.origins.cors import METHODS, CorsRule, PageRequest, header_names, matches, permission

PLAIN = st.text("ab.", max_size=3)
PATTERN = st.builds("".join, st.tuples(PLAIN, st.sampled_from(["", "*"]), PLAIN))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("http://www.example.com", "http://www.example.com", True),
        ("http://www.example.com", "https://www.example.com", False),
        ("http://www.example.com", "http://www.example.com:80", False),
        ("http://*.example.com", "http://a.b.example.com", True),
        ("http://*.example.com", "http://example.com", False),
        ("*", "null", True),
        ("start*end", "startend", True),
        ("ab*ba", "aba", False),
        ("*suffix", "foo.suffix.get", False),
        ("a.c", "abc", False),
    ],
)
def test_a_star_matches_any_characters(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected


@given(PATTERN, st.text("ab.", max_size=6))
def test_a_pattern_matches_as_a_regular_expression_would(pattern: str, text: str) -> None:
    assert matches(pattern, pattern.replace("*", text))
    assert matches(pattern, text) == bool(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), text))


def test_the_first_rule_that_matches_in_all_answers() -> None:
    rules = [
        CorsRule(("http://a.test",), ("PUT",), ("x-amz-*",)),
        CorsRule(("http://*.test",), ("GET", "PUT"), ("*",), ("ETag", "x-amz-id-2"), 60),
        CorsRule(("*",), ("GET",)),
    ]
    told = permission(rules, PageRequest("http://a.test", "PUT", ("Content-Type", "X-Amz-Date")))
    assert told == {
        "access-control-allow-origin": "http://a.test",
        "access-control-allow-methods": "GET, PUT",
        "access-control-allow-headers": "content-type, x-amz-date",
        "access-control-expose-headers": "ETag, x-amz-id-2",
        "access-control-max-age": "60",
        "access-control-allow-credentials": "true",
        "vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
    }
    everyone = permission(rules, PageRequest("null", "GET"))
    assert everyone is not None
    assert (everyone["access-control-allow-origin"], "access-control-allow-credentials" in everyone) == ("*", False)


@pytest.mark.parametrize(
    "asked",
    [
        PageRequest("http://b.test", "GET"),
        PageRequest("HTTP://A.test", "GET"),
        PageRequest("http://a.test", "HEAD"),
        PageRequest("http://a.test", "get"),
        PageRequest("http://a.test", "GET", ("x-amz-date", "authorization")),
    ],
)
def test_a_request_that_any_part_of_a_rule_forbids_is_refused(asked: PageRequest) -> None:
    assert permission([CorsRule(("http://a.test",), ("GET",), ("X-Amz-*",))], asked) is None
    assert permission([], asked) is None


def test_no_rule_is_for_a_request_that_names_no_origin() -> None:
    """Such as that of an image, which says that it crosses sites and not from where."""
    assert permission([CorsRule(("*",), ("GET",))], PageRequest("", "GET")) is None


@given(st.lists(st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD"]), min_size=1), st.sampled_from(["GET", "PUT"]))
def test_a_rule_for_all_origins_allows_its_methods_and_no_others(methods: list[str], method: str) -> None:
    told = permission([CorsRule(("*",), tuple(methods))], PageRequest("http://a.test", method))
    assert (told is not None) == (method in methods)


def test_header_names_are_listed_by_commas() -> None:
    assert header_names(" X-Amz-Date,content-type , ,") == ("x-amz-date", "content-type")


def test_a_rule_can_allow_the_methods_that_s3_names() -> None:
    """https://docs.aws.amazon.com/AmazonS3/latest/API/API_CORSRule.html"""
    assert METHODS == ("GET", "PUT", "POST", "DELETE", "HEAD")


def test_each_header_needs_one_pattern_and_an_answer_has_no_age_that_the_rule_does_not_say() -> None:
    rule = CorsRule(("http://a.test",), ("GET",), ("X-Amz-*", "content-type"))
    told = permission([rule], PageRequest("http://a.test", "GET", ("x-amz-date", "Content-Type")))
    assert told is not None
    assert told["access-control-allow-headers"] == "x-amz-date, content-type"
    assert {"access-control-max-age", "access-control-expose-headers"}.isdisjoint(told)
