"""The operations that show log groups and log streams."""

import base64
import binascii
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

from torpor_endpoint.aws.service import Call, NotOurs
from torpor_endpoint.core.marks import Marks
from torpor_endpoint.logs import errors
from torpor_endpoint.logs.groups import OURS, Group, Stream
from torpor_endpoint.logs.identifying import arn_of, group_of
from torpor_endpoint.logs.reading import Logs
from torpor_endpoint.logs.retention import days_of

PAGE = 50

T = TypeVar("T")


def describe_log_groups(logs: Logs, call: Call) -> dict[str, Any]:
    """Ours. With a prefix that none of ours can have, the call is not ours."""
    params = call.params
    prefix, part = params.get("logGroupNamePrefix", ""), params.get("logGroupNamePattern", "")
    if prefix and part:
        raise errors.invalid("logGroupNamePrefix and logGroupNamePattern are mutually exclusive.")
    if not (OURS.startswith(prefix) or prefix.startswith(OURS)):
        raise NotOurs
    found = [group for group in logs.groups.all() if group.name.startswith(prefix) and part in group.name]
    if params.get("logGroupClass", "STANDARD") != "STANDARD":
        found = []
    page, token = _page(found, params)
    return {"logGroups": [_group(logs, call, group) for group in page], "nextToken": token}


def describe_log_streams(logs: Logs, call: Call) -> dict[str, Any]:
    params = call.params
    by_time, prefix = params.get("orderBy") == "LastEventTime", params.get("logStreamNamePrefix", "")
    if by_time and prefix:
        raise errors.invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
    group = group_of(logs, params)
    found = _marked(logs, [stream for stream in group.streams() if stream.name.startswith(prefix)])
    if by_time:
        found.sort(key=lambda pair: pair[1].times_ms[-1:])
    if params.get("descending", False):
        found.reverse()
    page, token = _page(found, params)
    return {"logStreams": [_stream(call, group, *pair) for pair in page], "nextToken": token}


def _marked(logs: Logs, streams: Sequence[Stream]) -> list[tuple[Stream, Marks]]:
    found = []
    for stream in streams:
        with suppress(FileNotFoundError):  # it was deleted at this moment
            found.append((stream, logs.book.noted(stream.log)))
    return found


def _group(logs: Logs, call: Call, group: Group) -> dict[str, Any]:
    marked = _marked(logs, group.streams())
    begun = [marks.times_ms[0] for _, marks in marked if marks.times_ms]
    arn = arn_of(call, group)
    return {
        "logGroupName": group.name,
        "creationTime": min(begun, default=int(group.folder.stat().st_mtime * 1000)),
        "retentionInDays": days_of(group),
        "metricFilterCount": 0,
        "arn": f"{arn}:*",
        "logGroupArn": arn,
        "storedBytes": sum(marks.size_bytes for _, marks in marked),
        "logGroupClass": "STANDARD",
    }


def _stream(call: Call, group: Group, stream: Stream, marks: Marks) -> dict[str, Any]:
    """A stream that nothing was written to has no times but its creation."""
    first_ms, last_ms = (marks.times_ms[0], marks.times_ms[-1]) if marks.times_ms else (None, None)
    return {
        "logStreamName": stream.name,
        "creationTime": first_ms if first_ms is not None else int(stream.log.stat().st_mtime * 1000),
        "firstEventTimestamp": first_ms,
        "lastEventTimestamp": last_ms,
        "lastIngestionTime": last_ms,
        "arn": f"{arn_of(call, group)}:log-stream:{stream.name}",
        "storedBytes": 0,  # "no longer supported for log streams, and is always reported as zero"
    }


def _page(every: Sequence[T], params: dict[str, Any]) -> tuple[Sequence[T], str | None]:
    first = _offset(params.get("nextToken"))
    last = first + params.get("limit", PAGE)
    return every[first:last], base64.urlsafe_b64encode(str(last).encode()).decode() if len(every) > last else None


def _offset(token: str | None) -> int:
    if token is None:
        return 0
    try:
        text = base64.urlsafe_b64decode(token.encode()).decode()
    except (binascii.Error, ValueError):
        raise errors.invalid_token() from None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise errors.invalid_token()
    return int(text)
