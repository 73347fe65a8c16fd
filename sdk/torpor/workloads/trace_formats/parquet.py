"""Traces in Parquet, read a batch of rows at a time. pyarrow is imported when a file is opened."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from torpor.extras import require
from torpor.workloads.trace import CHUNK_REQUESTS, BadTrace, Chunk, Trace, TraceFile
from torpor.workloads.trace_formats.usual_columns import BYTES, MODEL, NAMES, TIME, TraceColumns, found, no_size

PER_S = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of Arrow's units of time a second has."""


@dataclass(frozen=True, eq=False)
class Parquet(TraceFile):
    """A Parquet file. `columns` names the columns to read, if their own names are unknown."""

    columns: Mapping[str, str] | None = None

    def _chunks(self) -> Iterator[Chunk]:
        with _file(self.path) as file:
            header: list[str] = file.schema_arrow.names
            columns = found(str(self.path), header, self.columns)
            names = [header[place] for place in (columns.time, columns.model, columns.bytes) if place is not None]
            read = 0
            for batch in file.iter_batches(CHUNK_REQUESTS, columns=names):
                yield self._chunk({name: batch.column(name) for name in names}, header, columns, read)
                read += batch.num_rows

    def _chunk(self, arrays: Mapping[str, Any], header: Sequence[str], columns: TraceColumns, read: int) -> Chunk:
        for name, array in arrays.items():
            if array.null_count:
                row = array.is_null().to_pylist().index(True)
                raise BadTrace(f"{self.path}: row {read + row + 1}: column {name!r} has no value")
        sizes = None if columns.bytes is None else self._sizes(arrays, header[columns.bytes], read)
        return Chunk(
            self._times_s(arrays, columns, read),
            self._models(arrays[header[columns.model]], read),
            sizes,
        )

    def _times_s(self, arrays: Mapping[str, Any], columns: TraceColumns, read: int) -> Any:
        name = columns.time_name
        if str(arrays[name].type).startswith("timestamp"):
            return arrays[name].cast("int64").to_numpy(zero_copy_only=False) / PER_S[arrays[name].type.unit]
        return columns.seconds(str(self.path), self._numbers(arrays, name).astype(np.float64), read)

    def _sizes(self, arrays: Mapping[str, Any], name: str, read: int) -> Any:
        """The sizes in bytes. Some writers store whole numbers as floats if a value was missing."""
        values = self._numbers(arrays, name)
        wrong = ~((values >= -(2**63)) & (values < 2**63) & (values == np.floor(values)))
        if wrong.any():
            row = int(wrong.argmax())
            raise BadTrace(f"{self.path}: row {read + row + 1}: {no_size(values[row].item())}")
        return values.astype(np.int64)

    def _numbers(self, arrays: Mapping[str, Any], name: str) -> Any:
        values = arrays[name].to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "iuf":
            raise BadTrace(f"{self.path}: column {name!r} holds {arrays[name].type}, not numbers")
        return values

    def _models(self, array: Any, read: int) -> Any:
        """The models' numbers. Each name is looked up once in a batch; a dictionary may have unused names."""
        coded = array if hasattr(array, "dictionary") else array.dictionary_encode()
        texts = coded.dictionary.to_pylist()
        places = coded.indices.to_numpy(zero_copy_only=False)
        numbers = np.zeros(len(texts), np.int32)
        for place in np.unique(places).tolist():
            try:
                numbers[place] = self._names[_text(texts[place])]
            except ValueError as error:
                row = read + int((places == place).argmax()) + 1
                raise BadTrace(f"{self.path}: row {row}: {error}") from error
        return numbers[places]


def write(trace: Trace, path: Path) -> None:
    """Write a trace. Reading it back gives the same to the last bit."""
    arrow, parquet = _pyarrow()
    writer = None
    with ExitStack() as files:
        for chunk in trace.chunks():
            models = arrow.DictionaryArray.from_arrays(chunk.models, arrow.array(list(trace.names), arrow.string()))
            columns = {NAMES[TIME][0]: chunk.times_s, NAMES[MODEL][0]: models.cast(arrow.string())}
            if chunk.request_bytes is not None:
                columns[NAMES[BYTES][0]] = chunk.request_bytes
            table = arrow.table(columns)
            writer = writer or files.enter_context(parquet.ParquetWriter(path, table.schema))
            writer.write_table(table)


def _text(value: Any) -> str:
    """A model's name as text. Some writers store text as untyped bytes. Raises ValueError."""
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, bytes):
        raise ValueError(f"{value!r} is not a model's name: that is text, or a whole number")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{value!r} is not a model's name: that is text in UTF-8") from error


@contextmanager
def _file(path: Path) -> Iterator[Any]:
    """The open file. Errors while it is open become BadTrace."""
    arrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (OSError, arrow.ArrowException) as error:
        raise BadTrace(f"{path} cannot be read as Parquet: {error}") from error


def _pyarrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet. Raises MissingExtra."""
    require("a Parquet file", "parquet")
    return import_module("pyarrow"), import_module("pyarrow.parquet")
