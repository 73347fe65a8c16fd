"""The model is read from a body, and nothing else; what is not clear is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.faces.openai.named_model import BadBody, model_of

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(st.text().filter(lambda name: name != "model"), ANYTHING), TEXT, st.booleans())
def test_the_model_is_found_whatever_else_is_there(others: dict[str, object], model: str, is_ascii: bool) -> None:
    body = json.dumps({**others, "model": model}, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    assert model_of(body) == model


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"model": "a", "model": "b"}', "more than one member model"),
        (rb'{"model": "a", "mod\u0065l": "a"}', "more than one member model"),
        (b'{"messages": []}', "no member model"),
        (b'{"model": 5}', "model is the name of a model, as text"),
        (b'{"model": null}', "as text"),
        (b'{"model": ""}', "model is empty"),
        (b'{"model": "\xff"}', "Invalid UTF-8"),
        (rb'{"model": "\ud800"}', "not JSON"),
        (b"", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b'["model"]', "a JSON object with the member model"),
        (b'{"model": "a"} {}', "not JSON"),
        (b'{"model": "a", "x": }', "not JSON"),
    ],
)
def test_a_body_that_names_no_model_or_several_is_refused(body: bytes, text: str) -> None:
    with pytest.raises(BadBody, match=text):
        model_of(body)


@pytest.mark.parametrize("beginning", [b'{"model": "a", "x": ', b'{"x": '])
@pytest.mark.parametrize("nested", [b"[", b'{"x": '])
def test_a_body_that_is_nested_without_end_is_refused(beginning: bytes, nested: bytes) -> None:
    with pytest.raises(BadBody, match="nested too deeply"):
        model_of(beginning + nested * 1_000_000)


def test_a_model_that_is_no_text_is_not_read() -> None:
    with pytest.raises(BadBody, match="as text"):
        model_of(b'{"model": ' + b"[" * 1_000_000)


def test_a_model_of_a_nested_object_is_none_of_the_request() -> None:
    assert model_of(b'{"tools": [{"model": "tool"}], "model": "own"}') == "own"
    with pytest.raises(BadBody, match="no member model"):
        model_of(b'{"tools": [{"model": "tool"}]}')
