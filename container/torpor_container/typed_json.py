"""Reads records from the values of JSON and writes them as such values: the one place that knows how a record looks.

A record is a frozen dataclass, a NamedTuple or a TypedDict, and its annotations say all there is to say. A dataclass is
an object by the names of its fields; a NamedTuple and a set are arrays. A reader checks each value
against its annotation, fills in defaults, and ignores fields that it does not know: a newer version may have written
them. This is pure: it converts values, and the decisions of `core` may use it. `msgspec` does the work; it is imported
with the first record, since what only starts reads none.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

R = TypeVar("R")


class UnreadableRecord(ValueError):
    """These values are no such record. The message names the record, the field and what is wrong with it."""


def read(kind: type[R], values: object) -> R:
    """The record of this kind, from values as `json.loads` gives them. Raises UnreadableRecord."""
    import msgspec

    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise UnreadableRecord(f"no {_name(kind)}: {error}") from None


def read_row(kind: type[R], values: Mapping[str, object]) -> R:
    """The dataclass of a row, from its columns by name. SQLite has 0 and 1 for booleans. Raises UnreadableRecord."""
    import msgspec

    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UnreadableRecord(f"no {_name(kind)}: {error}") from None


def written(record: object) -> Any:
    """The values of a record for `json.dumps`, which `read` takes."""
    import msgspec

    return msgspec.to_builtins(record, enc_hook=_further)


def _further(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _name(kind: object) -> str:
    return getattr(kind, "__name__", str(kind))
