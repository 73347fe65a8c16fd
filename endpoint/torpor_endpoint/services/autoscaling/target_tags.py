"""ListTagsForResource, TagResource, UntagResource, for scalable targets."""

from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.storage.tag_store import reserved_key
from torpor_endpoint.services.autoscaling import errors
from torpor_endpoint.services.autoscaling.context import Autoscaling

TAGS_MAX = 50


def list_tags_for_resource(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    return {"Tags": autoscaling.tags.of(_taggable(autoscaling, call))}


def tag_resource(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    arn = _taggable(autoscaling, call)
    if not autoscaling.tags.add(arn, allowed(call.params["Tags"]), TAGS_MAX):
        raise errors.TAGS(arn=arn)
    return {}


def allowed(tags: dict[str, str]) -> dict[str, str]:
    """The tags. Raises an AwsError for AWS's own."""
    if key := reserved_key(tags):
        raise errors.INVALID(f"Tag keys that begin with aws: are reserved: {key}.")
    return tags


def untag_resource(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    autoscaling.tags.remove(_taggable(autoscaling, call), call.params["TagKeys"])
    return {}


def _taggable(autoscaling: Autoscaling, call: Call) -> str:
    arn: str = call.params["ResourceARN"]
    if all(target.arn != arn for target in autoscaling.targets.all()):
        raise errors.NOT_TAGGABLE(arn=arn)
    return arn
