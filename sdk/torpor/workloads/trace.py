"""Traces: requests in order of time, streamed in chunks; their check; and traces in memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from torpor.errors import TorporError
from torpor.value_rules import MORE, check

CHUNK_REQUESTS = 65_536
"""The usual size of a chunk: large enough for numpy to be worth its cost, and a megabyte of memory."""

PIECE_REQUESTS = 4_096
"""The size of a chunk of `First`: small, so that its reader can stop soon."""

Times = NDArray[np.float64]
Ids = NDArray[np.int32]
Sizes = NDArray[np.int64]


class BadTrace(TorporError, ValueError):
    """A trace that cannot be used. The message names the file, and the row or the column. The first row after a header
    is row 1."""


class TraceRequest(NamedTuple):
    time_s: float
    model: str


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Successive requests, as columns of one length. Times ascend, also from chunk to chunk. Either all chunks of a
    trace have bytes, or none has."""

    times_s: Times
    models: Ids  # indexes into the trace's names
    request_bytes: Sizes | None = None

    def __len__(self) -> int:
        return len(self.times_s)


class Trace(Protocol):
    """A stream of requests that can be read any number of times. Its memory does not grow with its length."""

    @property
    def names(self) -> Sequence[str]:
        """The models. A reader adds them as it meets them, before it yields the chunk."""

    @property
    def lasts_s(self) -> float | None:
        """How many seconds it was recorded, with the quiet before its first request and after its last; None if not
        known. Read the trace first."""

    def chunks(self) -> Iterator[Chunk]:
        """All requests, from the first. Raises BadTrace at the first bad one."""


class ModelNumbers(dict[str, int]):
    """Numbers of models in order of their first appearance: `names[name]`."""

    def __init__(self) -> None:
        super().__init__()
        self.met: list[str] = []

    def __missing__(self, name: str) -> int:
        if not name:
            raise ValueError("the model has no name")
        self.met.append(name)
        self[name] = len(self)
        return self[name]


@dataclass(frozen=True, eq=False)
class TraceFile(ABC):
    """A trace in a file. It checks what its reader yields, and numbers the models."""

    path: Path
    _names: ModelNumbers = field(default_factory=ModelNumbers, init=False, repr=False)

    @property
    def names(self) -> Sequence[str]:
        return self._names.met

    @property
    def lasts_s(self) -> float | None:
        """Not known from a file of requests."""
        return None

    def chunks(self) -> Iterator[Chunk]:
        return checked(str(self.path), self._chunks())

    @abstractmethod
    def _chunks(self) -> Iterator[Chunk]:
        """All requests, as they are in the file."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A trace in memory."""

    names: Sequence[str] = field(repr=False)
    parts: Sequence[Chunk] = field(repr=False)
    lasts_s: float | None = None

    def chunks(self) -> Iterator[Chunk]:
        return checked("the trace", self.parts)


def recorded(requests: Iterable[TraceRequest | tuple[float, str]]) -> Recorded:
    """A small trace, from its requests. Raises BadTrace, which names the row."""
    names = ModelNumbers()
    rows = [_row(number, row, names) for number, row in enumerate(requests, 1)]
    times_s = np.array([time_s for time_s, _ in rows], dtype=np.float64)
    return Recorded(names.met, [Chunk(times_s, np.array([model for _, model in rows], dtype=np.int32))])


def requests(trace: Trace) -> Iterator[TraceRequest]:
    """The requests of a small trace, one by one."""
    for chunk in trace.chunks():
        for time_s, model in zip(chunk.times_s.tolist(), chunk.models.tolist(), strict=True):
            yield TraceRequest(time_s, trace.names[model])


@dataclass(frozen=True)
class Paced:
    """The same trace with its first request at time 0, and this many times as fast."""

    trace: Trace
    speed: float = 1.0

    def __post_init__(self) -> None:
        check(BadTrace, {"speed": MORE}, self.__dict__)

    @property
    def names(self) -> Sequence[str]:
        return self.trace.names

    @property
    def lasts_s(self) -> float | None:
        return None if self.trace.lasts_s is None else self.trace.lasts_s / self.speed

    def chunks(self) -> Iterator[Chunk]:
        began_s: float | None = None
        for chunk in self.trace.chunks():
            began_s = float(chunk.times_s[0]) if began_s is None else began_s
            yield Chunk((chunk.times_s - began_s) / self.speed, chunk.models, chunk.request_bytes)


@dataclass(frozen=True)
class TimedTrace:
    """The same trace, with the time that it was recorded. Raises BadTrace if its requests take longer."""

    trace: Trace
    lasts_s: float
    source: str = "the trace"  # its name, for error messages

    def __post_init__(self) -> None:
        check(BadTrace, {"lasts_s": MORE}, self.__dict__)

    @property
    def names(self) -> Sequence[str]:
        return self.trace.names

    def chunks(self) -> Iterator[Chunk]:
        began_s: float | None = None
        for chunk in self.trace.chunks():
            began_s = float(chunk.times_s[0]) if began_s is None else began_s
            if (since_s := float(chunk.times_s[-1]) - began_s) > self.lasts_s:
                raise BadTrace(
                    f"{self.source} has a request {since_s:g} s after its first one, but lasts_s is {self.lasts_s:g}"
                    " s: give a longer time (lasts_s=, --lasts), or none"
                )
            yield chunk


@dataclass(eq=False)
class First:
    """The first `requests_max` requests of a trace, in small chunks."""

    trace: Trace
    requests_max: int
    cut: bool = field(default=False, init=False)  # whether the trace had more, at the last reading

    @property
    def names(self) -> Sequence[str]:
        return self.trace.names

    @property
    def lasts_s(self) -> float | None:
        """Not known of a part: the quiet at the end belongs to the whole trace."""
        return None if self.cut else self.trace.lasts_s

    def chunks(self) -> Iterator[Chunk]:
        left = self.requests_max
        for chunk in self.trace.chunks():
            for since in range(0, len(chunk), PIECE_REQUESTS):
                if left <= 0:
                    self.cut = True
                    return
                piece = _piece(chunk, since, min(left, PIECE_REQUESTS))
                left -= len(piece)
                self.cut = len(piece) < min(PIECE_REQUESTS, len(chunk) - since)
                yield piece


@dataclass(frozen=True)
class Extent:
    """The size of a trace: the number of its requests, and their models."""

    requests: int
    names: Sequence[str]

    @classmethod
    def of(cls, trace: Trace) -> "Extent":
        """Read the whole trace. Raises BadTrace."""
        requests, named = 0, set[int]()
        for chunk in trace.chunks():
            requests += len(chunk)
            named.update(np.unique(chunk.models).tolist())
        return cls(requests, [trace.names[model] for model in sorted(named)])


def checked(source: str, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks after a check, without empty ones. Raises BadTrace, which names the source and the row."""
    rows, last_s = 0, -inf
    for chunk in chunks:
        if len(chunk):
            _check(source, chunk, rows, last_s)
            rows, last_s = rows + len(chunk), float(chunk.times_s[-1])
            yield chunk
    if not rows:
        raise BadTrace(f"{source} has no requests")


def _check(source: str, chunk: Chunk, rows: int, last_s: float) -> None:
    times_s, sizes = chunk.times_s, chunk.request_bytes
    before_s = np.concatenate(([last_s], times_s[:-1]))
    rules: list[tuple[NDArray[np.bool_], NDArray[np.float64 | np.int64], str]] = [
        (~np.isfinite(times_s), times_s, "time {} is not a finite number"),
        (times_s < 0, times_s, "time {} is negative"),
        (times_s < before_s, times_s, "time {} is earlier than the row before it: sort the trace by time"),
    ]
    if sizes is not None:
        rules.append((sizes < 0, sizes, "a size of {} bytes is negative"))
    for wrong, values, text in rules:
        if wrong.any():
            at = int(wrong.argmax())
            raise BadTrace(f"{source}: row {rows + at + 1}: {text.format(values[at].item())}")


def _row(number: int, row: TraceRequest | tuple[float, str], names: ModelNumbers) -> tuple[float, int]:
    try:
        time_s, model = row
        return float(time_s), names[model]
    except (TypeError, ValueError) as error:
        raise BadTrace(f"the trace: row {number} is not (time_s, model): {error}") from error


def _piece(chunk: Chunk, since: int, count: int) -> Chunk:
    until, sizes = since + count, chunk.request_bytes
    return Chunk(chunk.times_s[since:until], chunk.models[since:until], None if sizes is None else sizes[since:until])
