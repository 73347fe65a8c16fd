"""Encodes Python values into request bodies, and decodes answers: lists and arrays here, media types on the wire."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from torpor.calling.named_table import NamedTable, are_records, named_table

SHOWN_BYTES = 60
CSV, JSON, JSONLINES, NPY = "text/csv", "application/json", "application/jsonlines", "application/x-npy"
NPZ = "application/x-npz"
HEADER, NO_HEADER = f"{CSV}; header=present", f"{CSV}; header=absent"
"""RFC 4180, section 3: whether the first line names the columns."""


def encode(payload: Any, content_type: str | None = None) -> tuple[bytes, str]:
    """The body and its media type. Text and bytes stay as they are; an object becomes JSON; rows become CSV by default.

    Rows with named columns (a data frame, records, a structured array) keep the names: if all cells are numbers, as CSV
    with `header=present`, else as JSON. `text/csv; header=absent` leaves the names out. A sparse matrix becomes scipy's
    .npz. Raises TypeError, and ValueError for a payload that the type cannot hold.
    """
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload), content_type or CSV
    if isinstance(payload, str):
        return payload.encode(), content_type or CSV
    if hasattr(payload, "tocsr") and content_type in (None, NPZ):
        return _write_npz(payload), NPZ
    kind = CSV if content_type in (HEADER, NO_HEADER) else content_type
    if content_type != NO_HEADER and (table := named_table(payload)) is not None:
        return _encode_named(table, kind)
    if content_type == HEADER:
        raise TypeError(f"{type(payload).__name__} has no names for its columns, which a header needs")
    kind = kind or (JSON if isinstance(payload, Mapping) or are_records(payload) else CSV)
    if kind not in _ENCODERS:
        raise TypeError(f"rows can be {', '.join(_ENCODERS)}; for {kind} pass text or bytes")
    return _ENCODERS[kind](payload), content_type or kind


def _encode_named(table: NamedTable, kind: str | None) -> tuple[bytes, str]:
    if kind is None:
        kind = CSV if table.numeric else JSON
    if kind not in _NAMED:
        raise TypeError(
            f"rows with named columns can be {', '.join(_NAMED)}; for {kind} pass text or bytes, or rows "
            "without names, such as frame.to_numpy()"
        )
    encoder, content_type = _NAMED[kind]
    return encoder(table), content_type


def decode(body: bytes, content_type: str, bytes_are: str = "`invoke_raw` returns its bytes") -> Any:
    """The value of a body: of JSON its value, of CSV numbers, of JSON Lines a list, of npy an array; of others the
    bytes.

    Raises ValueError for a body that is not what its type says; `bytes_are` says where a person finds it.
    """
    kind = content_type.partition(";")[0].strip().lower()
    try:
        return _DECODERS.get(kind, bytes)(body)
    except ValueError as error:
        text = f"the answer's type is {kind}, but it cannot be read as that: {error}: {body[:SHOWN_BYTES]!r}"
        raise ValueError(f"{text}; {bytes_are}") from error


def _plain(payload: Any) -> Any:
    """A data frame, an array or lists as lists of Python values."""
    if hasattr(payload, "to_numpy"):
        payload = payload.to_numpy()
    return payload.tolist() if hasattr(payload, "tolist") else payload


def _table(payload: Any) -> list[list[Any]]:
    rows = _plain(payload)
    if not isinstance(rows, list | tuple) or are_records(rows):
        raise TypeError(f"rows are lists, arrays or data frames, not {type(payload).__name__}")
    flat = not any(isinstance(row, list | tuple) or hasattr(row, "tolist") for row in rows)
    return [list(rows)] if flat else [list(_plain(row)) for row in rows]


def _write_csv(payload: Any) -> bytes:
    table, text = _table(payload), io.StringIO()
    if any(isinstance(cell, list | tuple) or getattr(cell, "ndim", 0) for row in table[:1] for cell in row):
        raise ValueError(f"rows are 1- or 2-dimensional, and these have more: give content_type={JSON!r} or {NPY!r}")
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue().encode()


def _write_json(payload: Any) -> bytes:
    return json.dumps(_plain(payload), default=_within).encode()


def _write_jsonlines(payload: Any) -> bytes:
    return b"".join(json.dumps(row, default=_plain).encode() + b"\n" for row in _table(payload))


def _within(value: Any) -> Any:
    """Rows inside a JSON object: those with named columns become records."""
    table = named_table(value)
    return _plain(value) if table is None else [dict(zip(table.names, row, strict=True)) for row in table.rows]


def _named_csv(table: NamedTable) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.names, *table.rows])
    return text.getvalue().encode()


def _named_json(table: NamedTable) -> bytes:
    """The `split` format of pandas, which keeps the order of the columns for models that ignore names."""
    return json.dumps({"columns": table.names, "data": table.rows}, default=_plain).encode()


def _named_jsonlines(table: NamedTable) -> bytes:
    records = (dict(zip(table.names, row, strict=True)) for row in table.rows)
    return b"".join(json.dumps(record, default=_plain).encode() + b"\n" for record in records)


def _write_npz(payload: Any) -> bytes:
    from scipy import sparse

    stream = io.BytesIO()
    sparse.save_npz(stream, payload)
    return stream.getvalue()


def _write_npy(payload: Any) -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.save(stream, np.asarray(_plain(payload)), allow_pickle=False)
    return stream.getvalue()


def _read_csv(body: bytes) -> list[Any]:
    """A list of numbers for a single line or a single column, otherwise a list of rows."""
    rows = [[_number(cell) for cell in row] for row in csv.reader(io.StringIO(body.decode())) if row]
    if len(rows) == 1:
        return rows[0]
    return [row[0] for row in rows] if all(len(row) == 1 for row in rows) else rows


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _read_jsonlines(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines() if line.strip()]


def _read_npy(body: bytes) -> Any:
    import numpy as np

    return np.load(io.BytesIO(body), allow_pickle=False)


_ENCODERS: Mapping[str, Callable[[Any], bytes]] = {
    CSV: _write_csv,
    JSON: _write_json,
    JSONLINES: _write_jsonlines,
    NPY: _write_npy,
}
_NAMED: Mapping[str, tuple[Callable[[NamedTable], bytes], str]] = {
    CSV: (_named_csv, HEADER),
    JSON: (_named_json, JSON),
    JSONLINES: (_named_jsonlines, JSONLINES),
}
"""By the requested type: the writer of rows with names, and the media type of its output."""
_DECODERS: Mapping[str, Callable[[bytes], Any]] = {
    JSON: json.loads,
    CSV: _read_csv,
    JSONLINES: _read_jsonlines,
    NPY: _read_npy,
}
