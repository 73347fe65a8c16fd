"""The operations that make and delete log groups and streams, and those on their retention and tags."""

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.logs import errors
from torpor_account.logs.files.group_folders import COMPONENTS, ENDPOINTS, GROUP, LogGroup, is_ours
from torpor_account.logs.files.retention import DAYS, erase, set_days
from torpor_account.logs.files.stream_reader import Logs
from torpor_account.logs.identifying import arn_of
from torpor_account.storage.tag_store import reserved_key

TAGS_MAX = 50


def create_log_group(logs: Logs, call: Call) -> dict[str, Any]:
    """Create a group. Terraform makes an endpoint's group before the endpoint has an instance."""
    name, tags = call.params["logGroupName"], _allowed(call.params.get("tags", {}))
    if is_ours(name) and not GROUP.fullmatch(name):
        raise errors.INVALID(
            f"A log group below {ENDPOINTS} bears an endpoint's name, and one below {COMPONENTS} a component's."
        )
    group = logs.groups.place(name)
    try:
        group.folder.mkdir(parents=True)
    except FileExistsError:
        raise errors.EXISTS() from None
    logs.tags.put(arn_of(call, group), tags)
    return {}


async def delete_log_group(logs: Logs, call: Call) -> dict[str, Any]:
    """Delete a group. Streams that are being written are emptied: on AWS too their next line makes the group again."""
    group = logs.groups.find(call.params["logGroupName"])
    await asyncio.to_thread(_delete_group, logs, call, group, set(logs.writing()))
    return {}


async def delete_log_stream(logs: Logs, call: Call) -> dict[str, Any]:
    stream = logs.groups.find(call.params["logGroupName"]).stream(call.params["logStreamName"])
    await asyncio.to_thread(_delete, logs, stream.log, set(logs.writing()))
    return {}


def put_retention_policy(logs: Logs, call: Call) -> dict[str, Any]:
    days = call.params["retentionInDays"]
    if days not in DAYS:
        raise errors.INVALID(f"retentionInDays must be one of {', '.join(map(str, DAYS))}.")
    set_days(logs.groups.find(call.params["logGroupName"]), days)
    return {}


def delete_retention_policy(logs: Logs, call: Call) -> dict[str, Any]:
    set_days(logs.groups.find(call.params["logGroupName"]), None)
    return {}


def tag_resource(logs: Logs, call: Call) -> dict[str, Any]:
    return _tag(logs, call, _tagged(logs, call))


def untag_resource(logs: Logs, call: Call) -> dict[str, Any]:
    logs.tags.remove(arn_of(call, _tagged(logs, call)), call.params["tagKeys"])
    return {}


def list_tags_for_resource(logs: Logs, call: Call) -> dict[str, Any]:
    return {"tags": logs.tags.of(arn_of(call, _tagged(logs, call)))}


def tag_log_group(logs: Logs, call: Call) -> dict[str, Any]:
    """Older clients call this operation and the two that follow."""
    return _tag(logs, call, _named(logs, call))


def untag_log_group(logs: Logs, call: Call) -> dict[str, Any]:
    logs.tags.remove(arn_of(call, _named(logs, call)), call.params["tags"])
    return {}


def list_tags_log_group(logs: Logs, call: Call) -> dict[str, Any]:
    return {"tags": logs.tags.of(arn_of(call, _named(logs, call)))}


def _tag(logs: Logs, call: Call, group: LogGroup) -> dict[str, Any]:
    arn = arn_of(call, group)
    if not logs.tags.add(arn, _allowed(call.params["tags"]), TAGS_MAX):
        raise errors.TAGS(arn=arn, limit=TAGS_MAX)
    return {}


def _allowed(tags: dict[str, str]) -> dict[str, str]:
    if key := reserved_key(tags):
        raise errors.INVALID(f"Tag keys that begin with aws: are reserved: {key}.")
    return tags


def _named(logs: Logs, call: Call) -> LogGroup:
    return logs.groups.find(call.params["logGroupName"])


def _tagged(logs: Logs, call: Call) -> LogGroup:
    return logs.groups.find(call.params["resourceArn"])


def _delete_group(logs: Logs, call: Call, group: LogGroup, writing: set[Path]) -> None:
    for stream in group.streams():
        _delete(logs, stream.log, writing)
    set_days(group, None)
    arn = arn_of(call, group)
    logs.tags.forget(arn)
    if not group.streams():
        shutil.rmtree(group.folder, ignore_errors=True)


def _delete(logs: Logs, log: Path, writing: set[Path]) -> None:
    if log in writing:
        with suppress(FileNotFoundError):
            os.truncate(log, 0)
    else:
        erase(log, logs.marks)
