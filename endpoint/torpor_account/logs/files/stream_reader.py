"""Reads a stream's lines as events between two times, in either direction. The operations cut pages."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from torpor_account.core.file_growth import Marks
from torpor_account.logs import errors
from torpor_account.logs.files import lines
from torpor_account.logs.files.group_folders import Groups, Stream
from torpor_account.logs.files.lines import LogLine
from torpor_account.logs.files.log_marks import LogMarks
from torpor_account.storage.tag_store import Tags
from torpor_container.frozen_class import frozen

REST_MS = 5000
"""How long an incomplete last line waits for its end. After that it is an event without a line break."""


@frozen
class Logs:
    """What the operations act on. `clock` gives epoch seconds; `writing` gives the files that are being written now,
    and is called only on the event loop."""

    groups: Groups
    marks: LogMarks
    tags: Tags
    clock: Callable[[], float]
    writing: Callable[[], Collection[Path]]


@frozen
class LogEvent:
    at_ms: int
    stream: str
    line: LogLine

    @property
    def place(self) -> tuple[int, str, int]:
        """The order of events over all streams."""
        return self.at_ms, self.stream, self.line.start


@frozen
class StreamReader:
    """One stream from offset `start` to `stop`, as it was at one moment: it may grow meanwhile."""

    stream: Stream
    marks: Marks
    start: int
    stop: int

    def forward(self, offset: int = 0) -> Iterator[LogEvent]:
        """The events from `offset` on, oldest first."""
        for line in lines.forward(self.stream.log, max(offset, self.start), self.stop):
            yield self._event(line)

    def backward(self, offset: int | None = None) -> Iterator[LogEvent]:
        """The events before `offset`, newest first."""
        stop = self.stop if offset is None else min(offset, self.stop)
        for line in lines.backward(self.stream.log, self.start, stop):
            yield self._event(line)

    def since(self, at_ms: int) -> int:
        """The offset of the first line of `at_ms` or later."""
        return lines.aligned(self.stream.log, self.marks.since(at_ms))

    def _event(self, line: LogLine) -> LogEvent:
        return LogEvent(self.marks.seen_ms(line.start), self.stream.name, line)


def opened(logs: Logs, stream: Stream, start_ms: int | None, end_ms: int | None) -> StreamReader:
    """A reader of the events from `start_ms` to before `end_ms`. Raises ResourceNotFoundException."""
    try:
        marks = logs.marks.noted(stream.log)
        reader = StreamReader(stream, marks, 0, _end(logs, stream, marks))
        start = 0 if start_ms is None else reader.since(start_ms)
        stop = reader.stop if end_ms is None else min(reader.since(end_ms), reader.stop)
    except FileNotFoundError:
        raise errors.NO_STREAM() from None
    return StreamReader(stream, marks, start, stop)


def _end(logs: Logs, stream: Stream, marks: Marks) -> int:
    size_bytes = marks.size_bytes
    if size_bytes and logs.clock() * 1000 - marks.times_ms[-1] < REST_MS:
        return lines.whole(stream.log, size_bytes)
    return size_bytes
