"""The operations that show log groups and log streams."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from torpor_account.aws.calls import Call, NotOurs, Operation, Otherwise
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.paging import cut
from torpor_account.core.file_growth import Marks
from torpor_account.logs import errors
from torpor_account.logs.files.group_folders import COMPONENTS, ENDPOINTS, TRAINING, LogGroup, Stream
from torpor_account.logs.files.retention import days_of
from torpor_account.logs.files.stream_reader import Logs
from torpor_account.logs.identifying import arn_of, group_of
from torpor_account.logs.others import Wire, groups_of_others

PAGE = 50
STANDARD = "STANDARD"


def describe_log_groups(otherwise: Otherwise | None) -> Operation[Logs]:
    """DescribeLogGroups: Torpor's groups and moto's, in order of name.

    It raises NotOurs for a prefix that no group of Torpor's can have.
    """

    async def operation(logs: Logs, call: Call) -> dict[str, Any]:
        params = call.params
        prefix, part = params.get("logGroupNamePrefix", ""), params.get("logGroupNamePattern", "")
        if prefix and part:
            raise errors.INVALID("logGroupNamePrefix and logGroupNamePattern are mutually exclusive.")
        alone = prefix.startswith((ENDPOINTS, COMPONENTS))
        if not (alone or any(ours.startswith(prefix) for ours in (ENDPOINTS, COMPONENTS, TRAINING))):
            raise NotOurs
        others = [] if alone else await groups_of_others(otherwise, call, prefix)
        return await asyncio.to_thread(_described, logs, call, others)

    return operation


def _described(logs: Logs, call: Call, others: Sequence[Wire]) -> dict[str, Any]:
    """The groups that match. Others' groups are filtered again, since moto may know fewer filters."""
    params = call.params
    prefix, part = params.get("logGroupNamePrefix", ""), params.get("logGroupNamePattern", "")
    of_class = params.get("logGroupClass", STANDARD)
    described: dict[str, LogGroup | Wire] = {
        group["logGroupName"]: group for group in others if group.get("logGroupClass", STANDARD) == of_class
    }
    if of_class == STANDARD:
        described |= {group.name: group for group in logs.groups.all()}
    found = [described[name] for name in sorted(described) if name.startswith(prefix) and part in name]
    page, token = cut(found, *_place(params))
    shapes = [_group(logs, call, one) if isinstance(one, LogGroup) else one for one in page]
    return {"logGroups": shapes, "nextToken": token}


def describe_log_streams(logs: Logs, call: Call) -> dict[str, Any]:
    params = call.params
    by_time, prefix = params.get("orderBy") == "LastEventTime", params.get("logStreamNamePrefix", "")
    if by_time and prefix:
        raise errors.INVALID("Cannot order by LastEventTime with a logStreamNamePrefix.")
    group = group_of(logs, params)
    found = _marked(logs, [stream for stream in group.streams() if stream.name.startswith(prefix)])
    if by_time:
        found.sort(key=lambda pair: pair[1].times_ms[-1:])
    if params.get("descending", False):
        found.reverse()
    page, token = cut(found, *_place(params))
    return {"logStreams": [_stream(call, group, *pair) for pair in page], "nextToken": token}


def _marked(logs: Logs, streams: Sequence[Stream]) -> list[tuple[Stream, Marks]]:
    found = []
    for stream in streams:
        with suppress(FileNotFoundError):  # it was deleted at this moment
            found.append((stream, logs.marks.noted(stream.log)))
    return found


def _group(logs: Logs, call: Call, group: LogGroup) -> dict[str, Any]:
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
        "logGroupClass": STANDARD,
    }


def _stream(call: Call, group: LogGroup, stream: Stream, marks: Marks) -> dict[str, Any]:
    """One stream in the answer. An empty stream has no times but its creation."""
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


def _place(params: dict[str, Any]) -> tuple[str | None, int, AwsError]:
    return params.get("nextToken"), params.get("limit", PAGE), errors.BAD_TOKEN()
