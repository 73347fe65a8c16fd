"""AddTags, ListTags, DeleteTags, and the tags that come with a Create operation."""

from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_account.storage.tag_store import reserved_key
from torpor_endpoint.core.rights import sagemaker_arn
from torpor_endpoint.services.sagemaker import errors, shapes
from torpor_endpoint.services.sagemaker.context import Control

TAGS = 50


def add_tags(control: Control, call: Call) -> dict[str, Any]:
    arn = _tagged(control, call)
    added = _unique(call.params["Tags"])
    if not control.store.tags.add(arn, added, TAGS):
        raise _too_many()
    return {"Tags": shapes.tag_list(control.store.tags.of(arn))}


def list_tags(control: Control, call: Call) -> dict[str, Any]:
    """List all tags on one page: MaxResults is at least 50, and a resource has at most 50 tags."""
    return {"Tags": shapes.tag_list(control.store.tags.of(_tagged(control, call)))}


def delete_tags(control: Control, call: Call) -> dict[str, Any]:
    control.store.tags.remove(_tagged(control, call), call.params["TagKeys"])
    return {}


def first_tags(call: Call) -> dict[str, str]:
    """The Tags of a Create operation."""
    tags = _unique(call.params.get("Tags", []))
    if len(tags) > TAGS:
        raise _too_many()
    return tags


def _unique(wire: list[dict[str, str]]) -> dict[str, str]:
    """ "Tag keys must be unique per resource." Raises an AwsError, also for AWS's own keys."""
    tags = shapes.tags(wire)
    if len(tags) < len(wire):
        raise errors.INVALID("Tag keys must be unique: a key is given more than once.")
    if key := reserved_key(tags):
        raise errors.INVALID(f"Tag keys that begin with aws: are reserved: {key}.")
    return tags


def _tagged(control: Control, call: Call) -> str:
    arn = sagemaker_arn(call.params["ResourceArn"])
    if control.store.has(arn) or control.has_elsewhere(arn):
        return arn
    raise errors.NOT_FOUND(noun="resource", arn=call.params["ResourceArn"])


def _too_many() -> AwsError:
    return errors.QUOTA(message=f"A resource can have at most {TAGS} tags.")
