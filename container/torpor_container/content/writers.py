"""Writes Python values as request bodies, for clients: `reading` reads the same rows from each.

| a value | is written by default as |
|---|---|
| lists, arrays, objects; frames and structured arrays, with the order of their columns | JSON |
| records, whose columns have no order | JSON, and never CSV |
| a sparse matrix | npz, and nothing else: some models take an absent cell for a missing value |

A missing value, and NaN, is null in JSON and an empty cell in CSV.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping
from math import isfinite, isnan
from typing import Any

from torpor_container.content.answers import npy
from torpor_container.content.media import CSV, JSON, JSONLINES, NPY, NPZ, media_type
from torpor_container.content.plain import Unwritable, listed, opened, plain
from torpor_container.content.reading.csv_rows import csv_has_header
from torpor_container.content.table import Table, are_records, table_of
from torpor_container.errors import BadInput

HEADED = f"{CSV}; header=present"
CELLS = "rows hold numbers, text, true, false and nothing"


def write(payload: Any, content_type: str | None = None) -> tuple[bytes, str]:
    """The body and its content type. Raises TypeError for a value that the type has no form for, and ValueError for one
    with cells that it cannot hold."""
    if hasattr(payload, "tocsr"):
        return _sparse(payload, content_type)
    kind = media_type(content_type or JSON)
    if kind not in WRITERS:
        raise TypeError(f"rows can be {', '.join(WRITERS)}; for {kind} pass text or bytes")
    table = _with_header(payload, content_type) if kind == CSV and content_type else table_of(payload)
    try:
        body = WRITERS[kind](payload, table)
    except Unwritable as error:
        said = f"{error.of} cannot be written as {kind}: {CELLS}" if error.of else str(error)
        raise TypeError(said) from None
    return body, HEADED if kind == CSV and table is not None else content_type or kind


def _with_header(payload: Any, content_type: str) -> Table | None:
    """The payload's table, if CSV of this type names the columns. Raises TypeError for a header without names."""
    try:
        present = csv_has_header(content_type)
    except BadInput as error:
        raise ValueError(str(error)) from None
    table = None if "header" in content_type and not present else table_of(payload)
    if present and table is None and not are_records(payload):
        raise TypeError(f"{type(payload).__name__} has no names for its columns, which a header needs")
    return table


def _no_rows(payload: Any) -> TypeError:
    return TypeError(f"rows are lists, arrays or data frames, not {type(payload).__name__}")


# -- JSON --------------------------------------------------------------------------------------------------------------
def _json(payload: Any, table: Table | None) -> bytes:
    """A table in the form `split` of pandas, which has an order of columns for models that know no names."""
    value = payload if table is None else {"columns": table.names, "data": table.values}
    while not isinstance(value, list | tuple | Mapping):
        if isinstance(value, str | bytes | int | float | None):
            raise _no_rows(payload)
        value = opened(value, JSON, named=True)
    return _dumped(value).encode()


def _jsonlines(payload: Any, table: Table | None) -> bytes:
    rows: Any = _records(table) if table else payload if are_records(payload) else _rows(payload, JSONLINES)
    return b"".join(_dumped(row).encode() + b"\n" for row in rows)


def _records(table: Table) -> list[dict[Any, Any]]:
    return [dict(zip(table.names or (), row, strict=True)) for row in table.values]


def _dumped(value: Any) -> str:
    text = json.dumps(value, default=_within)
    if "NaN" in text or "Infinity" in text:  # Python's words for numbers that JSON does not have, or words of a cell
        return json.dumps(_with_null(json.loads(text)))
    return text


def _within(value: Any) -> Any:
    """The content of an object within lists and mappings; rows with named columns become records."""
    if hasattr(value, "tocsr"):
        raise TypeError(SPARSE.format(JSON))
    table = table_of(value)
    return opened(value, JSON, named=True) if table is None else _records(table)


def _with_null(value: Any) -> Any:
    """The value with null for each NaN. Raises ValueError for infinity, which JSON does not have."""
    if isinstance(value, float) and not isfinite(value):
        if isnan(value):
            return None
        raise ValueError(f"JSON has no infinite numbers: send rows as {NPY} or {CSV}")
    if isinstance(value, list):
        return [_with_null(one) for one in value]
    return {key: _with_null(one) for key, one in value.items()} if isinstance(value, dict) else value


# -- CSV ---------------------------------------------------------------------------------------------------------------
def _csv(payload: Any, table: Table | None) -> bytes:
    if are_records(payload):
        raise TypeError(
            f"records have no order of columns, which {CSV} needs: send {JSON} or {JSONLINES}, or a data frame"
        )
    rows = _rows(payload, CSV) if table is None else plain(table.values, CSV)
    if any(isinstance(cell, list | dict) for row in rows for cell in row):
        raise ValueError(f"rows are 1- or 2-dimensional, and these have more: give content_type={JSON!r} or {NPY!r}")
    text = io.StringIO()
    written = csv.writer(text, lineterminator="\n")
    if table is not None:
        written.writerow(table.names or ())
    written.writerows([None if isinstance(cell, float) and isnan(cell) else cell for cell in row] for row in rows)
    return text.getvalue().encode()


def _rows(payload: Any, kind: str) -> list[list[Any]]:
    """Lists of cells, one a row: a flat list is one row. Raises TypeError; ValueError for a flat list of texts."""
    if isinstance(payload, str | bytes | int | float | Mapping | None):
        raise _no_rows(payload)
    rows = listed(payload, kind)
    if not isinstance(rows, list) or any(isinstance(row, dict) for row in rows):
        raise _no_rows(payload)
    if any(isinstance(row, list) for row in rows):
        return [row if isinstance(row, list) else [row] for row in rows]
    if len(rows) > 1 and all(isinstance(cell, str) for cell in rows):
        raise ValueError(
            "a flat list of texts may be one row, [[…, …]], or one text a row, [[…], […]]: send one of these, or send "
            f"{JSON}, where the model decides"
        )
    return [rows]


# -- arrays ------------------------------------------------------------------------------------------------------------
def _npy(payload: Any, table: Table | None) -> bytes:
    if isinstance(payload, str | bytes | int | float | Mapping | None):
        raise _no_rows(payload)
    if are_records(payload) or (table is not None and not hasattr(payload, "dtype")):
        raise TypeError(
            f"rows with named columns can be {CSV}, {JSON}, {JSONLINES}; for {NPY} pass rows without names, such as "
            "frame.to_numpy()"
        )
    return npy(payload)


SPARSE = "a sparse matrix cannot be written as {}, which has all cells: send application/x-npz, or matrix.toarray()"


def _sparse(payload: Any, content_type: str | None) -> tuple[bytes, str]:
    from scipy import sparse

    if media_type(content_type or NPZ) != NPZ:
        raise TypeError(SPARSE.format(content_type))
    stream = io.BytesIO()
    sparse.save_npz(stream, payload)
    return stream.getvalue(), NPZ


WRITERS: Mapping[str, Callable[[Any, Table | None], bytes]] = {
    CSV: _csv,
    JSON: _json,
    JSONLINES: _jsonlines,
    NPY: _npy,
}
"""By the media type: a writer of a payload, which gets its table if it has one."""
