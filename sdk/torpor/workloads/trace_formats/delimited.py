"""Traces in CSV, plain or gzipped: a header, then a row for each request. Times are seconds, or in ISO 8601."""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np

from torpor.workloads.trace import CHUNK_REQUESTS, BadTrace, Chunk, Trace, TraceFile
from torpor.workloads.trace_formats.usual_columns import BYTES, MODEL, NAMES, TIME, TraceColumns, found, no_size

Row = list[str]


@dataclass(frozen=True, eq=False)
class Delimited(TraceFile):
    """A CSV file. `columns` names the columns to read, if their own names are unknown."""

    columns: Mapping[str, str] | None = None

    def _chunks(self) -> Iterator[Chunk]:
        with opened(self.path, "rt") as file:
            rows = filter(None, csv.reader(file))
            header = next(rows, None)
            if header is None:
                raise BadTrace(f"{self.path} is empty")
            columns = found(str(self.path), header, self.columns)
            read = 0
            while batch := list(islice(rows, CHUNK_REQUESTS)):
                same_width(self.path, batch, len(header), read + 1)
                yield self._chunk(batch, columns, read)
                read += len(batch)

    def _chunk(self, rows: list[Row], columns: TraceColumns, read: int) -> Chunk:
        times = self._column(rows, columns.time, _time(columns.unit), read, float)
        models = self._column(rows, columns.model, self._names.__getitem__, read)
        sizes = None if columns.bytes is None else self._column(rows, columns.bytes, _bytes, read)
        return Chunk(
            columns.seconds(str(self.path), np.array(times, dtype=np.float64), read),
            np.array(models, dtype=np.int32),
            None if sizes is None else np.array(sizes, dtype=np.int64),
        )

    def _column(
        self,
        rows: list[Row],
        place: int,
        parse: Callable[[str], Any],
        read: int,
        quick: Callable[[str], Any] | None = None,
    ) -> list[Any]:
        """The values of a column, all parsed at once by `quick`. If that fails, each is parsed alone, to find the bad
        row."""
        with suppress(ValueError):
            return list(map(quick or parse, map(itemgetter(place), rows)))
        values = []
        for number, row in enumerate(rows, read + 1):
            try:
                values.append(parse(row[place]))
            except ValueError as error:
                raise BadTrace(f"{self.path}: row {number}: {error}") from None
        return values


def same_width(path: Path | str, rows: Sequence[Row], width: int, first: int) -> None:
    """Raises BadTrace for a row with another number of columns than the header. `first` is the number of the first
    row."""
    if {width}.issuperset(map(len, rows)):
        return
    number, row = next(one for one in enumerate(rows, first) if len(one[1]) != width)
    hint = ": quote a name that has a comma in it" if len(row) > width else ""
    raise BadTrace(f"{path}: row {number} has {len(row)} columns, and the header {width}{hint}")


def write(trace: Trace, path: Path) -> None:
    """Write a trace. Reading it back gives the same to the last bit."""
    with opened(path, "wt") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, chunk in enumerate(trace.chunks()):
            sizes = chunk.request_bytes
            if not number:
                writer.writerow([NAMES[what][0] for what in ((TIME, MODEL) if sizes is None else (TIME, MODEL, BYTES))])
            columns = [chunk.times_s.tolist(), map(trace.names.__getitem__, chunk.models.tolist())]
            writer.writerows(zip(*columns, *([] if sizes is None else [sizes.tolist()]), strict=True))


@contextmanager
def opened(path: Path | str, mode: Literal["rt", "wt"]) -> Iterator[TextIO]:
    """An open file as text, unpacked if its name ends in `.gz`. Errors while it is open become BadTrace."""
    path = Path(path)
    encoding = "utf-8-sig" if mode == "rt" else "utf-8"  # spreadsheets write a byte order mark
    try:
        if path.suffix == ".gz":
            with gzip.open(path, mode, encoding=encoding, newline="") as unpacked:
                yield unpacked
        else:
            with path.open(mode, encoding=encoding, newline="") as file:
                yield file
    except (OSError, EOFError, UnicodeError, csv.Error, zlib.error) as error:
        raise BadTrace(f"{path}: {error}") from error


def _bytes(text: str) -> int:
    try:
        size = int(text)
    except ValueError:
        raise ValueError(no_size(repr(text))) from None
    if not -(2**63) <= size < 2**63:
        raise ValueError(no_size(repr(text)))
    return size


def _time(unit: str) -> Callable[[str], float]:
    """A parser of times in this unit, which raises ValueError. It also accepts ISO 8601 for seconds; UTC is the
    default."""

    def parsed(text: str) -> float:
        with suppress(ValueError):
            return float(text)
        if unit != "seconds":
            raise ValueError(f"time {text!r} is not a number of {unit}")
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(f"time {text!r} is neither a number of seconds nor a time in ISO 8601") from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

    return parsed
