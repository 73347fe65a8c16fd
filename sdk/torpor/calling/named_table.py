"""Reads rows with named columns from data frames, records, structured arrays and Arrow tables.

It recognises them by their methods, and imports none of their packages.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import isnan
from typing import Any

NUMBERS = (int, float)


@dataclass(frozen=True)
class NamedTable:
    """Rows of plain Python values; a missing one is None."""

    names: list[str]
    rows: list[list[Any]]

    @property
    def numeric(self) -> bool:
        """Whether CSV can hold each cell without loss: each is a number, or missing."""
        return all(cell is None or type(cell) in NUMBERS for row in self.rows for cell in row)


def named_table(payload: Any) -> NamedTable | None:
    """The rows and their names; None without names, such as for a frame whose columns pandas has numbered. Raises
    ValueError for records that do not all have the same names."""
    if are_records(payload):
        return _of_records(payload)
    if (names := getattr(getattr(payload, "dtype", None), "names", None)) is not None:  # a structured array
        rows = payload.reshape(-1).tolist()
        return NamedTable(list(names), [list(map(_cell, row)) for row in rows])
    if hasattr(payload, "column_names") and hasattr(payload, "to_pylist"):  # an Arrow table or batch
        return _of_columns(payload.column_names, [column.to_pylist() for column in payload.columns])
    if hasattr(payload, "columns") and hasattr(payload, "to_numpy"):  # pandas's frame, or polars's
        names = list(payload.columns)
        columns = [_column(payload, place) for place in range(len(names))]
        return None if _are_counted(names) else _of_columns(names, columns)
    return _of_labelled_row(payload)


def are_records(payload: Any) -> bool:
    """Whether these are mappings, one for each row."""
    return isinstance(payload, list | tuple) and bool(payload) and all(isinstance(row, Mapping) for row in payload)


def _of_records(records: Sequence[Mapping[Any, Any]]) -> NamedTable | None:
    """The records as a table; None for the instances of SageMaker's own format, whose values are lists."""
    if any(isinstance(cell, list | tuple | Mapping) or getattr(cell, "ndim", 0) for cell in records[0].values()):
        return None
    names = list(records[0])
    for number, record in enumerate(records[1:], start=2):
        if record.keys() != records[0].keys():
            raise ValueError(f"records 1 and {number} do not have the same names: {', '.join(map(str, names))}")
    return NamedTable(list(map(str, names)), [[_cell(record[name]) for name in names] for record in records])


def _of_labelled_row(payload: Any) -> NamedTable | None:
    """One row of a frame: a pandas Series whose labels are the names of the columns."""
    labels = list(payload.index) if hasattr(payload, "to_numpy") and hasattr(payload, "index") else []
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    return NamedTable(labels, [list(map(_cell, payload.tolist()))])


def _of_columns(names: Iterable[Any], columns: Sequence[Iterable[Any]]) -> NamedTable:
    cells = [list(map(_cell, column)) for column in columns]
    return NamedTable(list(map(_name, names)), [list(row) for row in zip(*cells, strict=True)])


def _column(frame: Any, place: int) -> Any:
    """A column as Python values. A frame as one array would turn its whole numbers into floats."""
    column = frame.iloc[:, place] if hasattr(frame, "iloc") else frame[frame.columns[place]]
    return column.tolist() if hasattr(column, "tolist") else column.to_list()


def _are_counted(names: Sequence[Any]) -> bool:
    return names == list(range(len(names)))


def _name(name: Any) -> str:
    """The name of a column; one of several levels as XGBoost writes it."""
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _cell(value: Any) -> Any:
    if hasattr(value, "item") and not getattr(value, "ndim", 0):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (type(value) is float and isnan(value)):
        return None
    return value.isoformat() if isinstance(value, date | datetime) else value
