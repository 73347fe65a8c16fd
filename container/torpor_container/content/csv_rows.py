"""Reads `text/csv`: no header, one row a line, an empty cell or `nan` is a missing value."""

import io
from math import nan

import numpy as np

from torpor_container.content.layout import Layout, Rows
from torpor_container.errors import BadInput

DELIMITERS = b",;\t| "
"""In order of preference. SageMaker's XGBoost container guesses the delimiter too."""
MANY_BYTES = 64 * 1024
"""numpy's reader has a price of its own, which a few rows do not earn back."""


def decode_csv(body: bytes, layout: Layout) -> Rows:
    """Raises BadInput, which names the row and column at fault, both counted from 1."""
    text = body.strip(b"\r\n")
    read = _numbers if len(text) <= MANY_BYTES else _many_numbers
    try:
        return read(text, layout)
    except ValueError:
        return _cells(text, layout)


def _numbers(text: bytes, layout: Layout) -> Rows:
    """The fast path: every cell a plain number. ValueError for anything else, whatever it is."""
    if b"_" in text:
        raise ValueError("Python reads 1_000 as a number, CSV does not")
    if b"\n" not in text:
        return layout.array([list(map(float, text.split(b",")))])
    lines = text.split(b"\n")
    commas = lines[0].count(b",")
    if any(line.count(b",") != commas for line in lines):
        raise ValueError("ragged rows")
    flat = list(map(float, b",".join(lines).split(b",")))
    return layout.array(flat).reshape(len(lines), commas + 1)


def _many_numbers(text: bytes, layout: Layout) -> Rows:
    """The same for large bodies: numpy reads them in half the time, with no object for each cell."""
    if b"\n\n" in text or b"\n\r" in text:
        raise ValueError("numpy passes over empty lines, which here are rows of one empty cell")
    return layout.array(np.loadtxt(io.BytesIO(text), delimiter=",", comments=None, ndmin=2))


def _cells(text: bytes, layout: Layout) -> Rows:
    """The careful path: empty cells, quotes, other delimiters, and the error that names the cell."""
    lines = text.split(b"\n")
    delimiter = next((bytes([byte]) for byte in DELIMITERS if byte in lines[0].strip()), b",")
    rows = [_row(number, line, delimiter) for number, line in enumerate(lines, start=1)]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise BadInput(f"row {number} has {len(row)} columns, and row 1 has {len(rows[0])}")
    try:
        return layout.array(rows)
    except (ValueError, OverflowError) as error:
        raise BadInput(str(error)) from error


def _row(number: int, line: bytes, delimiter: bytes) -> list[float]:
    return [_cell(number, column, cell) for column, cell in enumerate(line.split(delimiter), start=1)]


def _cell(row: int, column: int, cell: bytes) -> float:
    text = cell.strip().strip(b'"').strip()
    if not text:
        return nan
    try:
        if b"_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        shown = text[:40].decode("utf-8", "replace")
        raise BadInput(f"row {row}, column {column}: {shown!r} is not a number") from None
