"""Defines a table of rows with the names of their columns, and finds it in data frames, records and structured arrays.

It recognises these by their methods, and imports none of their packages.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Table(NamedTuple):
    """Nested lists, and the names of the columns if there are any."""

    values: Any
    names: Sequence[object] | None = None
    in_order: bool = True
    """Whether the order of the columns is defined; that of an object's members is not (RFC 8259)."""
    text: bool = False
    """Whether each cell is text that may mean another value, as in CSV."""


def table_of(payload: Any) -> Table | None:
    """The rows of a Python object and their names, as texts; None if it has no names, such as a frame whose columns
    pandas has numbered."""
    if (fields := getattr(getattr(payload, "dtype", None), "names", None)) is not None:  # a structured array
        return Table([list(row) for row in payload.reshape(-1).tolist()], list(fields))
    if hasattr(payload, "column_names") and hasattr(payload, "to_pylist"):  # an Arrow table or batch
        return _of_columns(payload.column_names, [column.to_pylist() for column in payload.columns])
    if hasattr(payload, "columns") and hasattr(payload, "to_numpy"):  # pandas's frame, or polars's
        names = list(payload.columns)
        counted = names == list(range(len(names)))
        return None if counted else _of_columns(names, [_column(payload, place) for place in range(len(names))])
    return _of_labelled_row(payload)


def are_records(payload: Any) -> bool:
    """Whether these are mappings, one for each row."""
    return isinstance(payload, list | tuple) and bool(payload) and all(isinstance(row, Mapping) for row in payload)


def _of_labelled_row(payload: Any) -> Table | None:
    """One row of a frame: a pandas Series whose labels are the names of the columns."""
    labels = list(payload.index) if hasattr(payload, "to_numpy") and hasattr(payload, "index") else []
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    return Table([payload.tolist()], labels)


def _of_columns(names: Iterable[Any], columns: Sequence[Iterable[Any]]) -> Table:
    return Table([list(row) for row in zip(*columns, strict=True)], list(map(_name, names)))


def _column(frame: Any, place: int) -> Any:
    """A column as Python values. A frame as one array would turn its whole numbers into floats."""
    column = frame.iloc[:, place] if hasattr(frame, "iloc") else frame[frame.columns[place]]
    return column.tolist() if hasattr(column, "tolist") else column.to_list()


def _name(name: Any) -> str:
    """The name of a column; one of several levels as XGBoost writes it."""
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)
