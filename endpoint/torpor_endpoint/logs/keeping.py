"""The operations that make and delete log groups and streams, and those on their retention and tags."""

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from torpor_endpoint.aws.service import Call
from torpor_endpoint.logs import errors
from torpor_endpoint.logs.groups import Group
from torpor_endpoint.logs.identifying import arn_of
from torpor_endpoint.logs.reading import Logs
from torpor_endpoint.logs.retention import DAYS, erase, set_days


def create_log_group(logs: Logs, call: Call) -> dict[str, Any]:
    """An endpoint's group may be there before its first instance, as Terraform likes to have it."""
    group = logs.groups.place(call.params["logGroupName"])
    try:
        group.folder.mkdir(parents=True)
    except FileExistsError:
        raise errors.group_exists() from None
    logs.store.put_tags(arn_of(call, group), call.params.get("tags", {}))
    return {}


async def delete_log_group(logs: Logs, call: Call) -> dict[str, Any]:
    """Streams that are being written are emptied: on AWS too the group comes back with their next line."""
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
        raise errors.invalid(f"retentionInDays must be one of {', '.join(map(str, DAYS))}.")
    set_days(logs.groups.find(call.params["logGroupName"]), days)
    return {}


def delete_retention_policy(logs: Logs, call: Call) -> dict[str, Any]:
    set_days(logs.groups.find(call.params["logGroupName"]), None)
    return {}


def tag_resource(logs: Logs, call: Call) -> dict[str, Any]:
    logs.store.put_tags(arn_of(call, _tagged(logs, call)), call.params["tags"])
    return {}


def untag_resource(logs: Logs, call: Call) -> dict[str, Any]:
    logs.store.remove_tags(arn_of(call, _tagged(logs, call)), call.params["tagKeys"])
    return {}


def list_tags_for_resource(logs: Logs, call: Call) -> dict[str, Any]:
    return {"tags": logs.store.tags(arn_of(call, _tagged(logs, call)))}


def list_tags_log_group(logs: Logs, call: Call) -> dict[str, Any]:
    """What older clients call."""
    return {"tags": logs.store.tags(arn_of(call, logs.groups.find(call.params["logGroupName"])))}


def _tagged(logs: Logs, call: Call) -> Group:
    return logs.groups.find(call.params["resourceArn"])


def _delete_group(logs: Logs, call: Call, group: Group, writing: set[Path]) -> None:
    for stream in group.streams():
        _delete(logs, stream.log, writing)
    set_days(group, None)
    arn = arn_of(call, group)
    logs.store.remove_tags(arn, logs.store.tags(arn))
    if not group.streams():
        shutil.rmtree(group.folder, ignore_errors=True)


def _delete(logs: Logs, log: Path, writing: set[Path]) -> None:
    if log in writing:
        with suppress(FileNotFoundError):
            os.truncate(log, 0)
    else:
        erase(log, logs.book)
