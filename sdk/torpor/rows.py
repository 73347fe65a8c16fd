"""What a call sends and what it got, in the caller's own terms: lists and arrays here, media types on the wire."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

SHOWN_BYTES = 60
CSV, JSON, JSONLINES, NPY = "text/csv", "application/json", "application/jsonlines", "application/x-npy"


def encode(payload: Any, content_type: str | None = None) -> tuple[bytes, str]:
    """The body and its media type. Text and bytes go as they are; an object goes as JSON; rows as CSV unless told."""
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload), content_type or CSV
    if isinstance(payload, str):
        return payload.encode(), content_type or CSV
    kind = content_type or (JSON if isinstance(payload, Mapping) else CSV)
    if kind not in _ENCODERS:
        raise TypeError(f"rows go as {', '.join(_ENCODERS)}; for {kind} pass text or bytes")
    return _ENCODERS[kind](payload), kind


def decode(body: bytes, content_type: str) -> Any:
    """JSON as its value, CSV as numbers, JSON Lines as a list, npy as an array; anything else as bytes.

    Raises ValueError for a body that is not what its type says.
    """
    kind = content_type.partition(";")[0].strip().lower()
    try:
        return _DECODERS.get(kind, bytes)(body)
    except ValueError as error:
        said = f"the answer is called {kind} and cannot be read as that: {error}: {body[:SHOWN_BYTES]!r}"
        raise ValueError(f"{said}; `invoke_raw` has its bytes") from error


def _plain(payload: Any) -> Any:
    """Lists of Python values, out of a data frame, an array or lists."""
    if hasattr(payload, "to_numpy"):
        payload = payload.to_numpy()
    return payload.tolist() if hasattr(payload, "tolist") else payload


def _table(payload: Any) -> list[list[Any]]:
    rows = _plain(payload)
    if not isinstance(rows, list | tuple):
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
    return json.dumps(_plain(payload), default=_plain).encode()


def _write_jsonlines(payload: Any) -> bytes:
    return b"".join(json.dumps(row, default=_plain).encode() + b"\n" for row in _table(payload))


def _write_npy(payload: Any) -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.save(stream, np.asarray(_plain(payload)), allow_pickle=False)
    return stream.getvalue()


def _read_csv(body: bytes) -> list[Any]:
    """One cell a line, or one line: a list of numbers. Otherwise a list of rows."""
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
_DECODERS: Mapping[str, Callable[[bytes], Any]] = {
    JSON: json.loads,
    CSV: _read_csv,
    JSONLINES: _read_jsonlines,
    NPY: _read_npy,
}
