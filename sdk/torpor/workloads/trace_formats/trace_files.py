"""Chooses the reader and the writer of a trace file by the end of its name; Azure's files by their header."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from torpor.workloads.trace import BadTrace, Trace
from torpor.workloads.trace_formats import delimited, parquet
from torpor.workloads.trace_formats.azure import recognised
from torpor.workloads.trace_formats.delimited import Delimited
from torpor.workloads.trace_formats.file_kinds import csv_or_refused
from torpor.workloads.trace_formats.ledger_trace import LedgerFile
from torpor.workloads.trace_formats.parquet import Parquet

Read = Callable[[Path, Mapping[str, str] | None], Trace]
Write = Callable[[Trace, Path], None]


def _text(path: Path, columns: Mapping[str, str] | None) -> Trace:
    """A CSV file, or Azure's, which is recognised if no columns are given."""
    csv_or_refused(path, ACCEPTED)
    if columns is None:
        with delimited.opened(path, "rt") as file:
            header = next(filter(None, csv.reader(file)), [])
        if (azure := recognised(path, header)) is not None:
            return azure
    return Delimited(path, columns)


READERS: Mapping[str, Read] = {
    ".csv": _text,
    ".csv.gz": _text,
    ".txt": _text,
    ".parquet": Parquet,
    ".sqlite": lambda path, columns: LedgerFile.so_far(path),
}
ACCEPTED = f"A trace with this suffix is CSV; other traces end in {', '.join(end for end in READERS if end[1] in 'ps')}"
WRITERS: Mapping[str, Write] = {".csv": delimited.write, ".csv.gz": delimited.write, ".parquet": parquet.write}


def read(path: Path | str, columns: Mapping[str, str] | None = None) -> Trace:
    """The trace in a file. `columns` names the columns to read, if their own names are unknown: {"time": "t0"}. A file
    of Azure's is a trace too; `Azure2019` joins several days of 2019. A ledger is read up to the last minute that is
    over. Raises BadTrace, here or while the trace is read."""
    return READERS[_kind(Path(path), READERS)](Path(path), columns)


def write(trace: Trace, path: Path | str) -> None:
    """Write a trace. It replaces an existing file, and leaves it unchanged if it fails. Raises BadTrace."""
    write_whole = WRITERS[_kind(Path(path), WRITERS)]
    part = Path(path).with_name(f".part-{Path(path).name}")
    try:
        write_whole(trace, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _kind(path: Path, kinds: Mapping[str, object]) -> str:
    for kind in kinds:
        if path.name.endswith(kind):
            return kind
    raise BadTrace(f"{path}: a trace is a file that ends in {', '.join(kinds)}")
