"""How the records of a content type are read from a body, joined to their answers, and written into one.

A record of CSV is a line; joined to it are the columns of its answer. To a record of JSON that is an object, its answer
is joined as the member `SageMakerOutput`; any other one becomes `{"SageMakerInput": …, "SageMakerOutput": …}`.

Records are read and written one after another, or some at a time: to hold all those of a large body takes ten times its
memory, and to cut it whole keeps all other threads waiting.
"""

import csv
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO, StringIO
from itertools import islice
from math import isinf
from typing import Any

from torpor_container.frozen_class import frozen

INPUT, OUTPUT = "SageMakerInput", "SageMakerOutput"
IN_QUOTES = frozenset('",\r\n')
EMPTY = '""'
PIECE = 128 * 1024
"""Characters."""
BATCH = 2000
"""Rows."""


@frozen
class RecordFormat:
    """One content type. `read` raises ValueError, csv.Error and RecursionError, also in the midst of its records.

    `stamped` adds an id and a time to a record. `join_lines` joins two bodies without reading their records, which is
    quicker. None if the bodies do not allow it.
    """

    read: Callable[[bytes], Iterator[Any]]
    write: Callable[[Iterable[Any]], bytes]
    join: Callable[[Any, Any], Any]
    stamped: Callable[[Any, str, str], Any]
    join_lines: Callable[[bytes, bytes], bytes | None] = lambda payload, answer: None


# -- CSV ---------------------------------------------------------------------------------------------------------------
def _rows(body: bytes) -> Iterator[list[str]]:
    """A body without quotes is cut at its commas, which is quicker than the module `csv`."""
    text = body.decode("utf-8-sig")
    if '"' in text or "\r" in text:
        return _quoted_rows(text)
    return (line.split(",") for line in _lines(text) if line)


def _quoted_rows(text: str) -> Iterator[list[str]]:
    """Raises ValueError for quotes that go over the end of a line: payloads are cut at the ends of lines."""
    reader = csv.reader(StringIO(text, newline="\n"), strict=True)
    for line, row in enumerate(reader, 1):
        if reader.line_num != line:
            raise ValueError(f"line {line} has a quoted newline, and each line of CSV is one record")
        if row:
            yield row


def _lines(text: str) -> Iterator[str]:
    """The lines, without their ends."""
    start, end = 0, len(text) - text.endswith("\n")
    while start <= end:
        stop = text.find("\n", start + PIECE, end)
        stop = end if stop < 0 else stop
        yield from text[start:stop].split("\n")
        start = stop + 1


def _row_lines(rows: Iterable[Any]) -> bytes:
    left = (row if isinstance(row, list) else [row] for row in rows)
    written = []
    while batch := list(islice(left, BATCH)):
        written.append(_batch_lines(batch))
    return b"".join(written)


def _batch_lines(rows: list[list[str]]) -> bytes:
    """Each column is looked at only if one of the rows needs quotes."""
    text = "".join([f"{','.join(row)}\n" for row in rows])
    commas, newlines = sum(map(len, rows)) - sum(map(bool, rows)), len(rows)
    odd = '"' in text or "\r" in text or "\n\n" in text or text.startswith("\n")  # or a row is one empty column
    if odd or text.count(",") != commas or text.count("\n") != newlines:
        text = "".join([f"{','.join(map(_quoted, row)) or EMPTY}\n" for row in rows])
    return text.encode()


def _quoted(column: str) -> str:
    if IN_QUOTES.isdisjoint(column):
        return column
    return '"' + column.replace('"', '""') + '"'


def _joined_lines(payload: bytes, answer: bytes) -> bytes | None:
    """Each line with a comma and its answer's line, where a record is a line: not with quotes, nor with empty lines."""
    if any(mark in body for mark in (b'"', b"\r", b"\n\n", BOM_UTF8) for body in (payload, answer)):
        return None
    lines, answers = payload.decode(), answer.decode()
    if lines[:1] in ("", "\n") or answers[:1] in ("", "\n"):
        return None
    pairs, joined = zip(_lines(lines), _lines(answers), strict=True), []
    try:
        while batch := [f"{line},{one}\n" for line, one in islice(pairs, BATCH)]:
            joined.append("".join(batch).encode())
    except ValueError:  # their numbers differ
        return None
    return b"".join(joined)


def _row_joined(row: list[str], answer: list[str]) -> list[str]:
    return [*row, *answer]


def _row_stamped(row: Any, id: str, time: str) -> list[str]:
    return [*row, id, time] if isinstance(row, list) else [row, id, time]


# -- JSON --------------------------------------------------------------------------------------------------------------
def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(f"the number {text} is too large")
    return number


def _json_lines(body: bytes) -> Iterator[Any]:
    return (json.loads(line, parse_float=_finite) for line in BytesIO(body) if line.strip())


def _to_json_lines(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _json_document(body: bytes) -> Iterator[Any]:
    yield json.loads(body, parse_float=_finite)


def _to_json_document(records: Iterable[Any]) -> bytes:
    (record,) = records
    return json.dumps(record).encode()


def _json_joined(record: Any, answer: Any) -> Any:
    if isinstance(record, dict):
        return {**record, OUTPUT: answer}
    return {INPUT: record, OUTPUT: answer}


def _json_stamped(record: Any, id: str, time: str) -> Any:
    marks = {"SageMakerInferenceId": id, "SageMakerInferenceTime": time}
    return {**record, **marks} if isinstance(record, dict) else {OUTPUT: record, **marks}


ROWS = RecordFormat(_rows, _row_lines, _row_joined, _row_stamped, _joined_lines)
JSON_LINES = RecordFormat(_json_lines, _to_json_lines, _json_joined, _json_stamped)
JSON_DOCUMENT = RecordFormat(_json_document, _to_json_document, _json_joined, _json_stamped)
