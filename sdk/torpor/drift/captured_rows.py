"""Reads captured requests as rows of texts, each with its target model: from files, or from objects in S3."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from torpor.calling.connection import EndpointConnection
from torpor.errors import TorporError

ENDING = ".jsonl"
SCHEME = "s3://"
PIECE_BYTES = 64 * 1024
SIDES = ("endpointInput", "endpointOutput")


class CapturedSide(StrEnum):
    """Which columns a row has: those of the request, those of the answer, or both, the request's first."""

    INPUT = "input"
    OUTPUT = "output"
    BOTH = "both"

    @property
    def members(self) -> tuple[str, ...]:
        return SIDES if self is CapturedSide.BOTH else SIDES[:1] if self is CapturedSide.INPUT else SIDES[1:]


class CapturedRow(NamedTuple):
    """`model` is the target model, "" of an endpoint of one model. `at_s` is when the request came: epoch seconds."""

    model: str
    at_s: float
    values: tuple[str, ...]


@dataclass
class CapturedRows:
    """Reads rows, and counts the records that are no rows: other encodings than CSV and JSON, or other forms.
    With `answer_first`, the columns of the answer come before those of the request."""

    side: CapturedSide
    answer_first: bool = False
    skipped: dict[str, int] = field(default_factory=dict)

    def of(self, place: str, connection: EndpointConnection | None) -> Iterator[CapturedRow]:
        """The rows below `s3://bucket/prefix`, or of a folder or a file. Raises TorporError, OSError, ClientError."""
        for name, lines in _objects(place, connection):
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield from self._rows(f"{name}, line {number}", line)

    def _rows(self, where: str, line: str) -> Iterator[CapturedRow]:
        try:
            record = json.loads(line)
            metadata, captured = record["eventMetadata"], record["captureData"]
            at_s = datetime.fromisoformat(metadata["inferenceTime"]).timestamp()
            model = str(metadata.get("torporTargetModel", ""))
            sides = [_values(captured[member]) for member in self.side.members if member in captured]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TorporError(f"{where} is no captured record: {error}") from None
        if len(sides) < len(self.side.members) or None in sides:
            self.skipped[model] = self.skipped.get(model, 0) + 1
            return
        read = [side for side in (reversed(sides) if self.answer_first else sides) if side is not None]
        if len({len(side) for side in read}) > 1:  # an answer of another number of rows than its request
            self.skipped[model] = self.skipped.get(model, 0) + 1
            return
        for parts in zip(*read, strict=True):
            yield CapturedRow(model, at_s, tuple(value for part in parts for value in part))


def csv_rows(text: str) -> tuple[list[str], list[list[str]]]:
    """The header of a CSV text, and its rows. Raises TorporError."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if len(rows) < 2:
        raise TorporError("the baseline must have a header, and rows below it")
    header, found = rows[0], rows[1:]
    if len(set(header)) < len(header):
        raise TorporError("the header of the baseline has a name twice")
    for number, row in enumerate(found, 1):
        if len(row) != len(header):
            raise TorporError(f"row {number} of the baseline has {len(row)} values, and its header has {len(header)}")
    return header, found


def _values(side: dict[str, Any]) -> list[list[str]] | None:
    """The rows of one side; None if it is encoded otherwise, or has another form."""
    if side["encoding"] == "CSV":
        return [row for row in csv.reader(io.StringIO(side["data"])) if row]
    if side["encoding"] != "JSON":
        return None
    found = json.loads(side["data"])
    if isinstance(found, dict):
        found = next((one for one in found.values() if isinstance(one, list)), None)
    if not isinstance(found, list):
        return None
    return [list(map(text_of, row)) if isinstance(row, list) else [text_of(row)] for row in found]


def text_of(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _objects(place: str, connection: EndpointConnection | None) -> Iterator[tuple[str, Iterable[str]]]:
    """The lines of each object, of which one at a time is in memory."""
    if not place.startswith(SCHEME):
        yield from _files(Path(place))
        return
    assert connection is not None, "objects are in S3"
    bucket, _, prefix = place.removeprefix(SCHEME).partition("/")
    with closing(connection.client("s3")) as s3:
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for one in page.get("Contents", ()):
                if one["Key"].endswith(ENDING):
                    with closing(s3.get_object(Bucket=bucket, Key=one["Key"])["Body"]) as body:
                        lines = (line.decode(errors="replace") for line in body.iter_lines(PIECE_BYTES))
                        yield f"s3://{bucket}/{one['Key']}", lines


def _files(place: Path) -> Iterator[tuple[str, Iterable[str]]]:
    if not place.exists():
        raise TorporError(f"{place}: there is no such folder")
    for file in sorted(place.rglob(f"*{ENDING}")) if place.is_dir() else [place]:
        with file.open(errors="replace") as lines:
            yield str(file), lines
