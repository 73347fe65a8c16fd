"""TagResource, UntagResource and ListTagsForResource, for alarms."""

from collections.abc import Iterable
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.cloudwatch import errors
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.storage.tag_store import reserved_key

TAGS_MAX = 50


def tag_resource(alarms: Alarms, call: Call) -> dict[str, Any]:
    arn, tags = _known(alarms, call), read(call.params["Tags"])
    if not alarms.tags.add(arn, tags, TAGS_MAX):
        raise errors.TAGS(limit=TAGS_MAX)
    return {}


def untag_resource(alarms: Alarms, call: Call) -> dict[str, Any]:
    alarms.tags.remove(_known(alarms, call), call.params["TagKeys"])
    return {}


def list_tags_for_resource(alarms: Alarms, call: Call) -> dict[str, Any]:
    tags = alarms.tags.of(_known(alarms, call))
    return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def read(tags: Iterable[dict[str, str]]) -> dict[str, str]:
    """The tags by key. Raises an AwsError if there are too many, and for AWS's own."""
    read = {tag["Key"]: tag["Value"] for tag in tags}
    if key := reserved_key(read):
        raise errors.INVALID(f"Tag keys that begin with aws: are reserved: {key}.")
    if len(read) > TAGS_MAX:
        raise errors.INVALID(f"A resource has at most {TAGS_MAX} tags.")
    return read


def _known(alarms: Alarms, call: Call) -> str:
    arn: str = call.params["ResourceARN"]
    alarm = alarms.get(arn.split(":", 6)[-1])
    if alarm is None or alarm.arn != arn:
        raise errors.NOT_TAGGABLE(arn=arn)
    return arn
