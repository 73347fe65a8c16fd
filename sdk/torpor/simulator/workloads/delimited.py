"""Traces in CSV, plain or gzipped: a header, then a row per request. Times are seconds, or moments of ISO 8601."""

import csv
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from torpor.simulator.workloads.columns import BYTES, MODEL, NAMES, TIME, Columns, found
from torpor.simulator.workloads.trace import CHUNK_REQUESTS, BadTrace, Chunk, Names, Trace, checked

Row = list[str]


@dataclass(frozen=True, eq=False)
class Delimited:
    """A CSV file. `columns` says which columns to read where their names do not tell."""

    path: Path
    columns: Mapping[str, str] | None = None
    _names: Names = field(default_factory=Names, repr=False)

    @property
    def names(self) -> Sequence[str]:
        return self._names.met

    def chunks(self) -> Iterator[Chunk]:
        return checked(str(self.path), self._chunks())

    def _chunks(self) -> Iterator[Chunk]:
        with opened(self.path, "rt") as file:
            rows = csv.reader(file)
            header = next(rows, None)
            if header is None:
                raise BadTrace(f"{self.path} is empty")
            columns = found(str(self.path), header, self.columns)
            read = 0
            while batch := [row for row in islice(rows, CHUNK_REQUESTS) if row]:
                yield self._chunk(batch, columns, read)
                read += len(batch)

    def _chunk(self, rows: list[Row], columns: Columns, read: int) -> Chunk:
        times_s = self._column(rows, columns.time, _seconds, read)
        models = self._column(rows, columns.model, self._names.__getitem__, read)
        sizes = None if columns.bytes is None else self._column(rows, columns.bytes, int, read)
        return Chunk(
            np.array(times_s, dtype=np.float64) * columns.scale,
            np.array(models, dtype=np.int32),
            None if sizes is None else np.array(sizes, dtype=np.int64),
        )

    def _column(self, rows: list[Row], place: int, parse: Callable[[str], Any], read: int) -> list[Any]:
        """Everything at once; only when that fails is it looked for where."""
        quick: Callable[[str], Any] = float if parse is _seconds else parse
        with suppress(ValueError, IndexError):
            return list(map(quick, map(itemgetter(place), rows)))
        values = []
        for number, row in enumerate(rows, read + 1):
            try:
                values.append(parse(row[place]))
            except IndexError:
                raise BadTrace(f"{self.path}: row {number} has {len(row)} columns, too few") from None
            except ValueError as error:
                raise BadTrace(f"{self.path}: row {number}: {error}") from None
        return values


def write(trace: Trace, path: Path) -> None:
    """What is read back is the same to the last bit."""
    with opened(path, "wt") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, chunk in enumerate(trace.chunks()):
            sizes = chunk.request_bytes
            if not number:
                writer.writerow([NAMES[what][0] for what in ((TIME, MODEL) if sizes is None else (TIME, MODEL, BYTES))])
            columns = [chunk.times_s.tolist(), map(trace.names.__getitem__, chunk.models.tolist())]
            writer.writerows(zip(*columns, *([] if sizes is None else [sizes.tolist()]), strict=True))


def opened(path: Path, mode: str) -> TextIO:
    """As text, unpacked if its name ends in `.gz`."""
    try:
        if path.suffix == ".gz":
            return gzip.open(path, mode, encoding="utf-8", newline="")  # type: ignore[return-value]  # typed by mode
        return path.open(mode, encoding="utf-8", newline="")  # type: ignore[return-value]
    except OSError as error:
        raise BadTrace(f"{path} cannot be opened: {error.strerror}") from error


def _seconds(text: str) -> float:
    """Raises ValueError. A moment without a zone is in UTC."""
    with suppress(ValueError):
        return float(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"time {text!r} is no number of seconds and no moment of ISO 8601") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
