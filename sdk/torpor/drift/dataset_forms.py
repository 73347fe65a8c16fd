"""The forms of data that the analyzer reads: CSV, JSON, Parquet, and captured records, as `dataset_format` names them.

The forms and their settings are those of SageMaker's SDK (DatasetFormat of its model_monitor) and
of AWS's contract for containers of Model Monitor. A setting that is none of a form's is refused by its name.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torpor.drift.captured_rows import SIDES, CapturedRow, CapturedRows, CapturedSide, text_of
from torpor.errors import TorporError
from torpor.extras import require

BATCH_ROWS = 4096
SIDE_OF = {SIDES: CapturedSide.BOTH, SIDES[:1]: CapturedSide.INPUT, SIDES[1:]: CapturedSide.OUTPUT}
POSITION = "output_columns_position"
START, END = "START", "END"


class DatasetRows(Protocol):
    """The rows of a job. `names` are those of their columns, empty if they are not known; `skipped` is how many records
    were no rows, once they are read."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def skipped(self) -> int: ...

    def read(self) -> Iterator[CapturedRow]: ...


@dataclass(frozen=True)
class DatasetForm:
    """A form with its settings."""

    name: str
    settings: Mapping[str, Any]

    def rows(self, source: Path) -> DatasetRows:
        """The rows of a file, or of the files below a folder. Raises TorporError, OSError."""
        return FORMS[self.name](source, self.settings)


def dataset_form(found: object) -> DatasetForm:
    """The form that the JSON of `dataset_format` names. Raises TorporError."""
    if isinstance(found, dict) and len(found) == 1:
        [(name, settings)] = found.items()
        if name in FORMS and isinstance(settings, dict):
            for given in settings:
                if given not in SETTINGS[name]:
                    known = ", ".join(SETTINGS[name]) or "no settings"
                    raise TorporError(f"dataset_format: {name} has no {given}: it takes {known}")
            return DatasetForm(name, settings)
    raise TorporError(f"the variable dataset_format must be a JSON object with one of {', '.join(FORMS)}")


class NamedRows:
    """Rows without a model, of files that all have the same columns."""

    skipped = 0

    def __init__(self, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        self.names = names
        self._rows = rows

    def read(self) -> Iterator[CapturedRow]:
        for row in self._rows:
            yield CapturedRow("", 0.0, tuple(row))


class CapturedRecords:
    """The rows of captured records, each with its target model."""

    names = ()

    def __init__(self, source: Path, settings: Mapping[str, Any]) -> None:
        given = settings.get("captureIndexNames", [SIDES[0]])
        side = next((side for names, side in SIDE_OF.items() if [*names] == given), None)
        if side is None:
            raise TorporError(f"dataset_format: captureIndexNames must be of {', '.join(SIDES)}, in this order")
        self._source = source
        self._reading = CapturedRows(side, answer_first=_position(settings, END) == START)

    @property
    def skipped(self) -> int:
        return sum(self._reading.skipped.values())

    def read(self) -> Iterator[CapturedRow]:
        return self._reading.of(str(self._source), None)


def header(source: Path) -> list[str]:
    """The names of the columns. Raises TorporError for files that name them differently, or one twice."""
    found: list[str] | None = None
    for file in _files(source):
        with file.open(encoding="utf-8-sig", newline="") as lines:
            names = next(csv.reader(lines), [])
        if len(set(names)) < len(names):
            raise TorporError(f"the header of {file.name} has a name twice")
        if found not in (None, names):
            raise TorporError(f"{file.name} has another header than the file before it")
        found = names
    return found or []


def _csv(source: Path, settings: Mapping[str, Any]) -> DatasetRows:
    headed = _flag(settings, "header")
    _position(settings, START)  # every column is described alike, wherever the answers are
    return NamedRows(header(source) if headed else (), _csv_rows(source, headed))


def _csv_rows(source: Path, headed: bool) -> Iterator[Sequence[str]]:
    for file in _files(source):
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(lines)
            if headed:
                next(rows, None)
            yield from filter(None, rows)


def _json(source: Path, settings: Mapping[str, Any]) -> DatasetRows:
    if "line" in settings and "lines" in settings:
        raise TorporError("dataset_format: line and lines mean the same: give one of them")
    lines = _flag(settings, "line" if "line" in settings else "lines")
    first = next(_records(source, lines), (None, None))[1]
    names = [*first] if isinstance(first, dict) else []
    return NamedRows(names, _json_rows(_records(source, lines), names))


def _records(source: Path, lines: bool) -> Iterator[tuple[str, Any]]:
    """Each record, and where it stands: one a line, or those of one array in a file."""
    for file in _files(source):
        try:
            if not lines:
                found = json.loads(file.read_text(encoding="utf-8-sig"))
                if not isinstance(found, list):
                    raise TorporError(f"{file.name} must be an array of records, or dataset_format json say lines")
                yield from ((f"{file.name}, record {number}", one) for number, one in enumerate(found, 1))
                continue
            with file.open(encoding="utf-8-sig") as text:
                for number, line in enumerate(text, 1):
                    if line.strip():
                        yield f"{file.name}, line {number}", json.loads(line)
        except (ValueError, RecursionError) as error:
            if isinstance(error, TorporError):
                raise
            raise TorporError(f"{file.name} is no JSON: {error}") from None


def _json_rows(records: Iterable[tuple[str, Any]], names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The values of each record: an object's in the order of `names`, or an array's. A value that an object lacks is
    missing."""
    known = set(names)
    for where, one in records:
        if names and isinstance(one, dict):
            if further := [key for key in one if key not in known]:
                raise TorporError(f"{where} has {further[0]!r}, and the first record has not")
            yield [text_of(one.get(name)) for name in names]
        elif not names and isinstance(one, list):
            yield [text_of(value) for value in one]
        else:
            raise TorporError(f"{where} must be {'an object' if names else 'an array'}, as the first record is")


def _parquet(source: Path, settings: Mapping[str, Any]) -> DatasetRows:
    require("dataset_format parquet", "parquet")
    files = [*_files(source)]
    names = [_parquet_names(file) for file in files]
    for file, one in zip(files, names, strict=True):
        if one != names[0]:
            raise TorporError(f"{file.name} has other columns than {files[0].name}")
    return NamedRows(names[0] if names else (), _parquet_rows(files))


def _parquet_names(file: Path) -> list[str]:
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    try:
        return [*read_schema(file).names]
    except (ArrowException, OSError) as error:
        raise TorporError(f"{file.name} is no Parquet file: {error}") from None


def _parquet_rows(files: Iterable[Path]) -> Iterator[Sequence[str]]:
    from pyarrow.parquet import ParquetFile

    for file in files:
        with ParquetFile(file) as opened:
            for batch in opened.iter_batches(BATCH_ROWS):
                columns = [column.to_pylist() for column in batch.columns]
                for values in zip(*columns, strict=True):
                    yield [text_of(value) for value in values]


def _files(source: Path) -> list[Path]:
    return sorted(one for one in source.rglob("*") if one.is_file()) if source.is_dir() else [source]


def _flag(settings: Mapping[str, Any], name: str) -> bool:
    value = settings.get(name, False)
    if not isinstance(value, bool):
        raise TorporError(f"dataset_format: {name} must be true or false")
    return value


def _position(settings: Mapping[str, Any], default: str) -> str:
    """Where the columns of answers are among those of requests."""
    value = settings.get(POSITION, default)
    if value not in (START, END):
        raise TorporError(f"dataset_format: {POSITION} must be {START} or {END}")
    return str(value)


FORMS: Mapping[str, Callable[[Path, Mapping[str, Any]], DatasetRows]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "sagemakerCaptureJson": CapturedRecords,
}
SETTINGS: Mapping[str, Sequence[str]] = {
    "csv": ("header", POSITION),
    "json": ("line", "lines"),
    "parquet": (),
    "sagemakerCaptureJson": ("captureIndexNames", POSITION),
}
"""What each form takes."""
