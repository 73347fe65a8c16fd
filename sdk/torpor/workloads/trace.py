"""What a trace is: requests in order of time, streamed in chunks; the check that they are; the small ones in memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from torpor.errors import TorporError
from torpor.validation import MORE, check

CHUNK_REQUESTS = 65_536
"""What readers hand out at once: enough for numpy to pay, and a megabyte of memory."""

PIECE_REQUESTS = 4_096
"""Of the first part of a trace, so that whoever reads it may stop soon."""

Times = NDArray[np.float64]
Ids = NDArray[np.int32]
Sizes = NDArray[np.int64]


class BadTrace(TorporError, ValueError):
    """A trace that cannot be replayed. The message names the file, and the row (the first one after a header is 1) or
    the column."""


class TraceRequest(NamedTuple):
    time_s: float
    model: str


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Requests one after another, as columns of one length. Times ascend, from chunk to chunk too; and all chunks of a
    trace have bytes, or none has."""

    times_s: Times
    models: Ids  # places in the trace's names
    request_bytes: Sizes | None = None

    def __len__(self) -> int:
        return len(self.times_s)


class Trace(Protocol):
    """A stream of requests that can be read any number of times. Its memory does not grow with its length."""

    @property
    def names(self) -> Sequence[str]:
        """The models. A reader adds to them as it meets them: those of a chunk are there when the chunk is."""

    @property
    def lasts_s(self) -> float | None:
        """For how long it was recorded, with the quiet before its first request and after its last one; None if nobody
        knows. To be asked once the trace was read."""

    def chunks(self) -> Iterator[Chunk]:
        """All requests, from the first. Raises BadTrace where the trace turns bad."""


class ModelNumbers(dict[str, int]):
    """Numbers for models in the order in which they are first met: `names[name]`."""

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
class Filed(ABC):
    """A trace in a file. What a reader makes of it is checked, and models are numbered as they are met."""

    path: Path
    _names: ModelNumbers = field(default_factory=ModelNumbers, init=False, repr=False)

    @property
    def names(self) -> Sequence[str]:
        return self._names.met

    @property
    def lasts_s(self) -> float | None:
        """A file of requests does not tell."""
        return None

    def chunks(self) -> Iterator[Chunk]:
        return checked(str(self.path), self._chunks())

    @abstractmethod
    def _chunks(self) -> Iterator[Chunk]:
        """All requests, as the file has them."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A trace in memory."""

    names: Sequence[str] = field(repr=False)
    parts: Sequence[Chunk] = field(repr=False)
    lasts_s: float | None = None

    def chunks(self) -> Iterator[Chunk]:
        return checked("the trace", self.parts)


def recorded(requests: Iterable[TraceRequest | tuple[float, str]]) -> Recorded:
    """A small trace from its requests. Raises BadTrace, naming the row."""
    names = ModelNumbers()
    rows = [_row(number, row, names) for number, row in enumerate(requests, 1)]
    times_s = np.array([time_s for time_s, _ in rows], dtype=np.float64)
    return Recorded(names.met, [Chunk(times_s, np.array([model for _, model in rows], dtype=np.int32))])


def requests(trace: Trace) -> Iterator[TraceRequest]:
    """One after another, for traces that are small enough for it."""
    for chunk in trace.chunks():
        for time_s, model in zip(chunk.times_s.tolist(), chunk.models.tolist(), strict=True):
            yield TraceRequest(time_s, trace.names[model])


@dataclass(frozen=True)
class Paced:
    """The same trace from time zero, this many times as fast."""

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
    """The same trace, of which somebody knows for how long it was recorded. Raises BadTrace where it is longer."""

    trace: Trace
    lasts_s: float
    source: str = "the trace"  # its name, where something is wrong

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
                    f"{self.source} has a request {since_s:g} s after its first, and is said to last {self.lasts_s:g}"
                    " s: say a longer time (lasts_s=, --lasts), or none"
                )
            yield chunk


@dataclass(eq=False)
class First:
    """The first so many requests of a trace, in small pieces."""

    trace: Trace
    requests_max: int
    cut: bool = field(default=False, init=False)  # there were more, as the last reading showed

    @property
    def names(self) -> Sequence[str]:
        return self.trace.names

    @property
    def lasts_s(self) -> float | None:
        """The quiet at the end is that of the whole."""
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
    """How much a trace is: how many requests, and the models that they name."""

    requests: int
    names: Sequence[str]

    @classmethod
    def of(cls, trace: Trace) -> "Extent":
        """Reads it all. Raises BadTrace where it is bad."""
        requests, named = 0, set[int]()
        for chunk in trace.chunks():
            requests += len(chunk)
            named.update(np.unique(chunk.models).tolist())
        return cls(requests, [trace.names[model] for model in sorted(named)])


def checked(source: str, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The same chunks, less the empty ones. Raises BadTrace, naming the source and the row."""
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
        (~np.isfinite(times_s), times_s, "time {} is no moment"),
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
        raise BadTrace(f"the trace: row {number} is no (time_s, model): {error}") from error


def _piece(chunk: Chunk, since: int, count: int) -> Chunk:
    until, sizes = since + count, chunk.request_bytes
    return Chunk(chunk.times_s[since:until], chunk.models[since:until], None if sizes is None else sizes[since:until])
