"""GetLogEvents: reads one stream page by page, in either direction. At the end it returns the caller's token."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.logs import errors
from torpor_account.logs.files.stream_reader import LogEvent, Logs, StreamReader, opened
from torpor_account.logs.identifying import group_of

PAGE_BYTES = 1 << 20
PAGE_EVENTS = 10_000
TOKEN = re.compile(r"([fb])/(\d{10})(\d{46})/s")


@dataclass(frozen=True)
class PageStart:
    """The offset at which a `f`orward page begins, or a `b`ackward page ends."""

    direction: str
    generation: int
    offset: int

    def __str__(self) -> str:
        return f"{self.direction}/{self.generation:010}{self.offset:046}/s"


def get_log_events(logs: Logs, call: Call) -> dict[str, Any]:
    """One page, oldest event first. "If you have reached the end of the stream, it returns the same token you passed
    in." """
    params = call.params
    stream = group_of(logs, params).stream(params["logStreamName"])
    reader = opened(logs, stream, params.get("startTime"), params.get("endTime"))
    place = _place(params, reader)
    limit = params.get("limit", PAGE_EVENTS)
    if place.direction == "f":
        page = list(bounded(reader.forward(place.offset), limit))
        first, last = max(place.offset, reader.start), page[-1].line.end if page else place.offset
    else:
        page = list(bounded(reader.backward(place.offset), limit))[::-1]
        first, last = page[0].line.start if page else place.offset, min(place.offset, reader.stop)
    generation = reader.marks.generation
    return {
        "events": [shape(event) for event in page if event.line.text],
        "nextForwardToken": str(PageStart("f", generation, last)),
        "nextBackwardToken": str(PageStart("b", generation, first)),
    }


def bounded(events: Iterable[LogEvent], limit: int) -> Iterator[LogEvent]:
    """The events of one page, at least one. An empty line is no event, but its bytes count."""
    count = size_bytes = 0
    for number, event in enumerate(events):
        count += bool(event.line.text)
        size_bytes += len(event.line.raw)
        if number and (count > limit or size_bytes > PAGE_BYTES):
            return
        yield event


def shape(event: LogEvent) -> dict[str, Any]:
    return {"timestamp": event.at_ms, "message": event.line.text, "ingestionTime": event.at_ms}


def _place(params: dict[str, Any], reader: StreamReader) -> PageStart:
    """The place in a token. A token from before the file was truncated means the file's new beginning."""
    token = params.get("nextToken")
    generation = reader.marks.generation
    if token is None:
        ahead = params.get("startFromHead", False)
        return PageStart("f", generation, reader.start) if ahead else PageStart("b", generation, reader.stop)
    found = TOKEN.fullmatch(token)
    if found is None:
        raise errors.BAD_TOKEN()
    same = int(found[2]) == generation
    return PageStart(found[1], generation, int(found[3]) if same else 0)
