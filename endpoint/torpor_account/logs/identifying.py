"""Finds the log group of a call: by name, or by an identifier that may be an ARN."""

from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.logs import errors
from torpor_account.logs.files.group_folders import LogGroup
from torpor_account.logs.files.stream_reader import Logs


def group_of(logs: Logs, params: dict[str, Any]) -> LogGroup:
    """ "You must include one of these two parameters, but you can't include both." """
    name, identifier = params.get("logGroupName"), params.get("logGroupIdentifier")
    if (name is None) == (identifier is None):
        raise errors.INVALID("Exactly one of logGroupName and logGroupIdentifier must be specified.")
    return logs.groups.find(name or identifier or "")


def arn_of(call: Call, group: LogGroup) -> str:
    return f"arn:aws:logs:{call.region}:{call.account}:log-group:{group.name}"
