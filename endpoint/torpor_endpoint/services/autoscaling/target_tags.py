"""ListTagsForResource, TagResource, UntagResource, for scalable targets."""

from typing import Any

from torpor_account.aws.calls import Call
from torpor_endpoint.services.autoscaling import errors
from torpor_endpoint.services.autoscaling.context import Autoscaling

TAGS_MAX = 50


def list_tags_for_resource(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    return {"Tags": autoscaling.tags.of(_taggable(autoscaling, call))}


def tag_resource(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    arn = _taggable(autoscaling, call)
    if not autoscaling.tags.add(arn, call.params["Tags"], TAGS_MAX):
        raise errors.TAGS(arn=arn)
    return {}


def untag_resource(autoscaling: Autoscaling, call: Call) -> dict[str, Any]:
    autoscaling.tags.remove(_taggable(autoscaling, call), call.params["TagKeys"])
    return {}


def _taggable(autoscaling: Autoscaling, call: Call) -> str:
    arn: str = call.params["ResourceARN"]
    if all(target.arn != arn for target in autoscaling.targets.all()):
        raise errors.NOT_TAGGABLE(arn=arn)
    return arn
