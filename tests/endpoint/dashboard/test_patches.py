"""The feed's differences bring a page from one snapshot to the next."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.dashboard.patches import Document, difference

LEAVES = st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=3)
DOCUMENTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from("abcd"),
    st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=4), max_leaves=8),
    max_size=4,
)


def patched(document: Document, patch: Document) -> dict[str, Any]:
    """The document after a merge patch, as the page computes it."""
    result = dict(document)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            before = result.get(name)
            result[name] = patched(before if isinstance(before, Mapping) else {}, value)
        else:
            result[name] = value
    return result


@given(DOCUMENTS, DOCUMENTS)
def test_a_difference_leads_from_the_old_document_to_the_new_one(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert patched(old, difference(old, new)) == new


@given(DOCUMENTS)
def test_equal_documents_have_no_difference(document: dict[str, Any]) -> None:
    assert difference(document, document) == {}


def test_only_what_changed_is_sent() -> None:
    old = {"models": {"a": [1, 2], "b": [3, 4], "c": [5, 6]}, "instances": {"i": {"phase": "ready"}}}
    new = {"models": {"a": [1, 2], "b": [3, 5]}, "instances": {"i": {"phase": "ready"}}}
    assert difference(old, new) == {"models": {"c": None, "b": [3, 5]}}
