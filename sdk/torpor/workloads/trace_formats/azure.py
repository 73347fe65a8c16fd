"""Reads the two public traces of Azure Functions: counts by the minute (2019), and single invocations (2021).

They are at https://github.com/Azure/AzurePublicDataset; the user downloads the files.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from torpor.time_units import DAY_S, MINUTE_S
from torpor.value_rules import ValueRule, check, several
from torpor.workloads.trace import CHUNK_REQUESTS, BadTrace, Chunk, ModelNumbers, Sizes, TraceFile, checked
from torpor.workloads.trace_formats.delimited import opened
from torpor.workloads.trace_formats.minute_counts import MinuteCounts, merge, to_chunks

MINUTES = [str(minute) for minute in range(1, 1441)]
FUNCTION = ["HashOwner", "HashApp", "HashFunction", "Trigger"]
SINGLE = ["app", "func", "end_timestamp", "duration"]
DAYS = (
    *several("[Path('invocations_per_function_md.anon.d01.csv')]"),
    ValueRule("is at least one file", lambda days: len(days) > 0),
)


@dataclass(frozen=True, eq=False)
class Azure2019:
    """`invocations_per_function_md.anon.dNN.csv`, one file per day, in their order. A model is a function.

    A minute's calls are spread over it at random, with the seed. Memory holds one day's counts that are not zero.
    """

    days: Sequence[Path]
    seed: int = 0
    _names: ModelNumbers = field(default_factory=ModelNumbers, repr=False)

    def __post_init__(self) -> None:
        check(BadTrace, {"days": DAYS}, self.__dict__)

    @property
    def names(self) -> Sequence[str]:
        return self._names.met

    @property
    def lasts_s(self) -> float:
        return len(self.days) * DAY_S

    def chunks(self) -> Iterator[Chunk]:
        return checked(", ".join(str(day) for day in self.days), self._chunks())

    def _chunks(self) -> Iterator[Chunk]:
        rng = np.random.default_rng(self.seed)
        for number, day in enumerate(self.days):
            yield from to_chunks(self._counts(day, number * DAY_S), rng)

    def _counts(self, day: Path, midnight_s: float) -> MinuteCounts:
        parts = []
        with opened(day, "rt") as file:
            rows = filter(None, csv.reader(file))
            _check_header(day, next(rows, []), FUNCTION + MINUTES)
            for number, row in enumerate(rows, 1):
                counts = _integers(day, number, row)
                minutes = np.flatnonzero(counts)
                model = np.full(len(minutes), self._names["/".join(row[:3])], np.int32)
                parts.append(MinuteCounts((midnight_s + MINUTE_S * minutes).astype(np.float64), model, counts[minutes]))
        return merge(parts)


@dataclass(frozen=True, eq=False)
class Azure2021(TraceFile):
    """`AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt`, a row for each invocation. A model is a function.

    The rows are in order of their ends, and an arrival is `end_timestamp` less `duration`. So all rows are kept in
    memory to be sorted: 12 bytes for each of two million.
    """

    def _chunks(self) -> Iterator[Chunk]:
        rows = np.fromiter(self._rows(), dtype=[("time_s", np.float64), ("model", np.int32)])
        order = np.argsort(rows["time_s"], kind="stable")
        for start in range(0, len(order), CHUNK_REQUESTS):
            part = rows[order[start : start + CHUNK_REQUESTS]]
            yield Chunk(part["time_s"].copy(), part["model"].copy())

    def _rows(self) -> Iterator[tuple[float, int]]:
        with opened(self.path, "rt") as file:
            rows = filter(None, csv.reader(file))
            _check_header(self.path, next(rows, []), SINGLE)
            for number, row in enumerate(rows, 1):
                if len(row) != len(SINGLE):
                    raise BadTrace(f"{self.path}: row {number} has {len(row)} columns, not {len(SINGLE)}")
                app, function, end_s, took_s = row
                try:
                    # A call in progress when the recording began gets time 0.
                    arrived_s = _seconds(SINGLE[2], end_s) - _seconds(SINGLE[3], took_s)
                    yield max(0.0, arrived_s), self._names[f"{app}/{function}"]
                except ValueError as error:
                    raise BadTrace(f"{self.path}: row {number}: {error}") from error


def recognised(path: Path, header: Sequence[str]) -> Azure2019 | Azure2021 | None:
    """The reader for a file with this header. It also takes other files of the same data set, and then refuses their
    columns."""
    match [name.strip() for name in header[:2]]:
        case ["HashOwner", "HashApp"]:
            return Azure2019([path])
        case ["app", "func"]:
            return Azure2021(path)
    return None


def _check_header(path: Path, header: Sequence[str], expected: Sequence[str]) -> None:
    for place, name in enumerate(expected):
        if place >= len(header) or header[place].strip() != name:
            there = repr(header[place]) if place < len(header) else "nothing"
            raise BadTrace(f"{path}: column {place + 1} is {there}, but should be {name!r}")


def _seconds(column: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = np.nan
    if not 0 <= seconds < np.inf:
        raise ValueError(f"{column} {text!r} is not a number of seconds of 0 or more")
    return seconds


def _integers(day: Path, number: int, row: Sequence[str]) -> Sizes:
    texts = row[len(FUNCTION) :]
    if len(texts) != len(MINUTES):
        raise BadTrace(f"{day}: row {number} has {len(texts)} minutes, not {len(MINUTES)}")
    try:
        counts = np.array(texts, dtype=np.int64)
    except (ValueError, OverflowError):
        minute, text = next((name, one) for name, one in zip(MINUTES, texts, strict=True) if not _is_count(one))
        raise BadTrace(f"{day}: row {number}: minute {minute} is {text!r}, which is not a count") from None
    if (counts < 0).any():
        raise BadTrace(f"{day}: row {number}: minute {int((counts < 0).argmax()) + 1} has a negative count")
    return counts


def _is_count(text: str) -> bool:
    with suppress(ValueError):
        return abs(int(text)) < 2**63
    return False
