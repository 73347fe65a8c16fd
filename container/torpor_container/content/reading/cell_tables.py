"""Reads a body to a table of unconverted cells, for models whose columns differ in type.

CSV cells are text, whatever they look like: what a column holds is the model's to say.
"""

import csv
import io
from collections.abc import Callable, Mapping

from torpor_container.content.media import CSV, JSON, JSONLINES, NPY, media_type
from torpor_container.content.reading.csv_rows import as_utf8, csv_has_header, split_header
from torpor_container.content.reading.json_rows import json_lines, table
from torpor_container.content.reading.json_values import parse
from torpor_container.content.reading.npy_rows import read_npy
from torpor_container.content.table import Table
from torpor_container.errors import BadInput, UnsupportedContentType


def read_table(body: bytes, content_type: str) -> Table:
    """Rows of equal length. Raises BadInput, and UnsupportedContentType for a type without tables."""
    return as_rows(read_cells(body, content_type))


def read_cells(body: bytes, content_type: str) -> Table:
    """The content of the body, rows or not. Raises BadInput and UnsupportedContentType."""
    kind = media_type(content_type) if content_type else CSV
    if kind not in READERS:
        raise UnsupportedContentType.of(content_type, READERS)
    if not body or body.isspace():
        raise BadInput("the request body is empty")
    return READERS[kind](as_utf8(body, content_type), content_type)


def as_rows(read: Table) -> Table:
    """The same with a list for each row, all of equal length. Raises BadInput."""
    rows = read.values
    if isinstance(rows, list) and rows and not any(isinstance(row, list) for row in rows):
        rows = [rows]
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise BadInput("send rows: lists of cells, or records")
    width = len(rows[0]) if read.names is None else len(read.names)
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            what = "row 1 has" if read.names is None else "the names are"
            raise BadInput(f"row {number} has {len(row)} columns, and {what} {width}")
    return Table(rows, read.names, read.in_order, read.text)


def _of_csv(body: bytes, content_type: str) -> Table:
    names, delimiter = None, ","
    if csv_has_header(content_type):
        names, body, delimiter = split_header(body)
    try:
        lines = csv.reader(
            io.StringIO(body.strip(b"\r\n").decode("utf-8-sig"), newline=""), delimiter=delimiter, strict=True
        )
        return Table([row or [""] for row in lines], names, text=True)
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"the body is not CSV in UTF-8: {error}") from None


def _of_npy(body: bytes, content_type: str) -> Table:
    array = read_npy(body)
    if array.dtype.names:
        columns = [array[name].reshape(-1).tolist() for name in array.dtype.names]
        return Table([list(row) for row in zip(*columns, strict=True)], list(array.dtype.names))
    return Table(array.tolist())


READERS: Mapping[str, Callable[[bytes, str], Table]] = {
    CSV: _of_csv,
    JSON: lambda body, content_type: table(parse(body, exactly=True)),
    JSONLINES: lambda body, content_type: json_lines(body, exactly=True),
    NPY: _of_npy,
}
