"""Differences between two JSON objects, as JSON Merge Patches (RFC 7396). The page applies them to what it has."""

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
"""A JSON object without null: in a merge patch, null removes a member."""


def difference(old: Document, new: Document) -> dict[str, Any]:
    """The merge patch that turns `old` into `new`; empty if they are equal. Arrays are replaced as a whole."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if before == value:
            continue
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        patch[name] = difference(before, value) if both else value  # type: ignore[arg-type]  # both are mappings
    return patch
