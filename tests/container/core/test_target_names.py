"""A target model has one name, however its header spells it; what no reader would take as it is, is no name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.target_names import BadTarget, is_target, name_of, spelling_of

SPELLED = st.text(max_size=40) | st.text("./a %\\é\u0301\u00a0", max_size=12)


@given(SPELLED)
def test_two_spellings_of_a_name_differ_by_one_slash_and_no_more(text: str) -> None:
    if not is_target(text):
        with pytest.raises(BadTarget):
            name_of(text)
        return
    name = name_of(text)
    assert text in (name, f"/{name}")
    assert name_of(f"/{name}") == name == name_of(spelling_of(name).strip(" "))


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("a/m.tar.gz", "a/m.tar.gz"),
        ("/a", "a"),
        ("//a", "/a"),
        ("/ a", " a"),
        ("a b", "a b"),
        ("a..b/.c/d.", "a..b/.c/d."),
        ("a//b", "a//b"),
        ("a" * 1024, "a" * 1024),
        ("é" * 512, "é" * 512),
    ],
)
def test_aws_drops_one_leading_slash_and_nothing_else(target: str, name: str) -> None:
    assert (is_target(target), name_of(target)) == (True, name)


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("", "is empty"),
        ("/", "is empty"),
        (" a", "starts with white space"),
        ("\u00a0a", "starts with white space"),
        ("a ", "ends with white space"),
        ("a" * 1025, "is longer than 1024 bytes"),
        ("é" * 513, "is longer than 1024 bytes"),
        ("\ud800" * 342, "is longer than 1024 bytes"),
        ("\ud800", "holds a character that cannot be printed"),
        ("a\nb", "holds a character that cannot be printed"),
        (".", "has a '.' or '..' segment"),
        ("..", "has a '.' or '..' segment"),
        ("a/../b", "has a '.' or '..' segment"),
        ("a/./b", "has a '.' or '..' segment"),
        ("/..", "has a '.' or '..' segment"),
    ],
)
def test_a_text_that_names_no_model_says_which_rule_it_breaks(target: str, rule: str) -> None:
    assert not is_target(target)
    with pytest.raises(BadTarget) as refused:
        name_of(target)
    assert str(refused.value) == f"Target model {target[:256]!r} {rule}. Name an object below the model prefix."
