"""FilterLogEvents: merges streams of a group in the order of time, and filters them; in pages."""

import hashlib
import heapq
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire import tokens
from torpor_account.logs import errors
from torpor_account.logs.files.filter_patterns import Matches, PatternError, compiled
from torpor_account.logs.files.group_folders import LogGroup, Stream
from torpor_account.logs.files.stream_reader import LogEvent, Logs, StreamReader, opened
from torpor_account.logs.get_log_events import PAGE_BYTES, PAGE_EVENTS, shape
from torpor_account.logs.identifying import group_of

SCAN_BYTES = 8 * 1024 * 1024
"""The most bytes that one call reads: "a returned page might only be partially full, or even empty"."""


@dataclass(frozen=True)
class LastLine:
    """The last line that was read, in any stream. `next` is the offset in its stream where the next page begins."""

    newest_first: bool
    at_ms: int
    stream: str
    generation: int
    next: int


@dataclass
class EventsPage:
    """One page while it is read. `last` is the event after which the next page begins."""

    matches: Matches
    limit: int
    events: list[LogEvent]
    last: LogEvent | None = None
    scanned_bytes: int = 0
    size_bytes: int = 0

    def take(self, event: LogEvent) -> bool:
        """Add the event if it matches: whether the page has room for more."""
        self.last = event
        self.scanned_bytes += len(event.line.raw)
        if event.line.text and self.matches(event.line.text):
            self.events.append(event)
            self.size_bytes += len(event.line.raw)
        return len(self.events) < self.limit and self.size_bytes < PAGE_BYTES and self.scanned_bytes < SCAN_BYTES


def filter_log_events(logs: Logs, call: Call) -> dict[str, Any]:
    params = call.params
    matches = _matches(params.get("filterPattern", ""))
    place = _decoded(params.get("nextToken"))
    newest_first = place.newest_first if place else not params.get("startFromHead", True)
    readers = _readers(logs, group_of(logs, params), params)
    page = EventsPage(matches, params.get("limit", PAGE_EVENTS), [])
    more = False
    for event in _merged(readers, place, newest_first):
        if more := not page.take(event):
            break
    token = _encoded(page.last, readers, newest_first) if more and page.last else None
    events = [{**shape(event), "logStreamName": event.stream, "eventId": _id(event)} for event in page.events]
    return {"events": events, "searchedLogStreams": [], "nextToken": token}


def _matches(pattern: str) -> Matches:
    try:
        return compiled(pattern)
    except PatternError as error:
        raise errors.INVALID(str(error)) from error


def _readers(logs: Logs, group: LogGroup, params: dict[str, Any]) -> dict[str, StreamReader]:
    """A reader for each selected stream, by the stream's name."""
    end_ms = params.get("endTime")
    after_ms = None if end_ms is None else end_ms + 1  # "events with a timestamp later than this time are not returned"
    readers = {}
    for stream in _streams(group, params):
        with suppress(AwsError):  # it was deleted at this moment
            readers[stream.name] = opened(logs, stream, params.get("startTime"), after_ms)
    return readers


def _streams(group: LogGroup, params: dict[str, Any]) -> list[Stream]:
    names, prefix = params.get("logStreamNames"), params.get("logStreamNamePrefix", "")
    if names is not None and prefix:
        raise errors.INVALID("logStreamNames and logStreamNamePrefix cannot both be specified.")
    if names is not None:
        return [group.stream(name) for name in dict.fromkeys(names)]
    return [stream for stream in group.streams() if stream.name.startswith(prefix)]


def _merged(readers: dict[str, StreamReader], place: LastLine | None, newest_first: bool) -> Iterator[LogEvent]:
    parts = [_rest(reader, place, newest_first) for reader in readers.values()]
    return heapq.merge(*parts, key=lambda event: event.place, reverse=newest_first)


def _rest(reader: StreamReader, place: LastLine | None, newest_first: bool) -> Iterator[LogEvent]:
    """The events of one stream after the place, in the order of reading."""
    if place is None:
        return reader.backward() if newest_first else reader.forward()
    if reader.stream.name == place.stream:
        offset = place.next if place.generation == reader.marks.generation else 0
    else:  # at the same moment, streams are in the order of their names
        offset = reader.since(place.at_ms + (reader.stream.name < place.stream))
    return reader.backward(offset) if newest_first else reader.forward(offset)


def _id(event: LogEvent) -> str:
    """A unique id of 56 digits, like AWS's."""
    digest = hashlib.sha256(f"{event.stream} {event.line.start}".encode()).hexdigest()
    return f"{event.at_ms:014}{int(digest, 16) % 10**42:042}"


def _encoded(last: LogEvent, readers: dict[str, StreamReader], newest_first: bool) -> str:
    offset = last.line.start if newest_first else last.line.end
    place = LastLine(newest_first, last.at_ms, last.stream, readers[last.stream].marks.generation, offset)
    return tokens.written(astuple(place))


def _decoded(token: str | None) -> LastLine | None:
    if token is None:
        return None
    match tokens.read(token, errors.BAD_TOKEN()):
        case [bool(newest_first), int(at_ms), str(stream), int(generation), int(offset)] if all(
            0 <= number <= tokens.NUMBER_MAX for number in (at_ms, generation, offset)
        ):
            return LastLine(newest_first, at_ms, stream, generation, offset)
    raise errors.BAD_TOKEN()
