"""Encodes Python values into request bodies, and decodes answers: lists and arrays here, media types on the wire.

Rows are written by the container's own codec (`torpor_container.content`), which knows what the container reads.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

SHOWN_BYTES = 60
CSV, JSON, JSONLINES, NPY = "text/csv", "application/json", "application/jsonlines", "application/x-npy"


def encode(payload: Any, content_type: str | None = None) -> tuple[bytes, str]:
    """The body and its content type. Text and bytes stay as they are, by default as CSV.

    Rows and objects become JSON by default: a data frame keeps the names of its columns and their order, records keep
    their names. A sparse matrix becomes scipy's .npz. `text/csv; header=absent` leaves names out. Raises TypeError, and
    ValueError for cells that the type cannot hold.
    """
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload), content_type or CSV
    if isinstance(payload, str):
        return payload.encode(), content_type or CSV
    from torpor_container.content.writers import write  # it needs numpy, which this package imports where it is used

    return write(payload, content_type)


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


def _read_csv(body: bytes) -> list[Any]:
    """A list of numbers for a column, otherwise a list of rows. One line without an end is a column too: so AWS's
    multi-model XGBoost container writes one number for each row."""
    text = body.decode()
    if text.startswith("[") and (lists := _bracketed(text)) is not None:
        return lists
    rows = [[_number(cell) for cell in row] for row in csv.reader(io.StringIO(text)) if row]
    if len(rows) == 1 and not text.endswith("\n"):
        return rows[0]
    return [row[0] for row in rows] if all(len(row) == 1 for row in rows) else rows


def _bracketed(text: str) -> list[Any] | None:
    """The rows of `[0.1, 0.9],[0.7, 0.3]`, as AWS's multi-model XGBoost container writes several classes in CSV; None
    for any other text."""
    try:
        rows = json.loads(f"[{text}]")
    except (ValueError, RecursionError):
        return None
    return list(rows)


def _number(cell: str) -> float | str | None:
    """The number or the text of a cell; None for an empty one, which is a missing value."""
    try:
        return float(cell)
    except ValueError:
        return cell or None


def _read_jsonlines(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines() if line.strip()]


def _read_npy(body: bytes) -> Any:
    import numpy as np

    return np.load(io.BytesIO(body), allow_pickle=False)


_DECODERS: Mapping[str, Callable[[bytes], Any]] = {
    JSON: json.loads,
    CSV: _read_csv,
    JSONLINES: _read_jsonlines,
    NPY: _read_npy,
}
