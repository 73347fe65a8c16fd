"""TagRole, UntagRole, ListRoleTags. "Tag keys are case insensitive, but case is preserved." """

from collections.abc import Iterable
from typing import Any

from torpor_endpoint.aws.calls import Call
from torpor_endpoint.services.iam import errors, shapes
from torpor_endpoint.services.iam.context import Iam
from torpor_endpoint.services.iam.paging import page

TAGS_MAX = 50


def tag_role(iam: Iam, call: Call) -> dict[str, Any]:
    """Add tags. A key that differs from an old one only in upper and lower case replaces it."""
    arn, added = iam.role(call.params["RoleName"]).arn(call.account), read(call.params["Tags"])
    with iam.tagging:
        old = iam.tags.tags(arn)
        replaced = _of_keys(old, added)
        check_count({**{key: value for key, value in old.items() if key not in replaced}, **added})
        iam.tags.remove_tags(arn, replaced)
        iam.tags.put_tags(arn, added)
    return {}


def untag_role(iam: Iam, call: Call) -> dict[str, Any]:
    arn = iam.role(call.params["RoleName"]).arn(call.account)
    iam.tags.remove_tags(arn, _of_keys(iam.tags.tags(arn), call.params["TagKeys"]))
    return {}


def list_role_tags(iam: Iam, call: Call) -> dict[str, Any]:
    tags = iam.tags.tags(iam.role(call.params["RoleName"]).arn(call.account))
    keys, more = page(tags, str, call.params)
    return {"Tags": shapes.tag_list({key: tags[key] for key in keys}), **more}


def first_tags(call: Call) -> dict[str, str]:
    """The tags of a CreateRole call."""
    return check_count(read(call.params.get("Tags", [])))


def read(wire: list[dict[str, str]]) -> dict[str, str]:
    """The tags by key. "Tag keys are case insensitive": raises InvalidInput for two that differ only in case."""
    tags = shapes.tags(wire)
    if len({key.lower() for key in tags}) < len(wire):
        raise errors.DUPLICATE_TAG()
    return tags


def check_count(tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > TAGS_MAX:
        raise errors.QUOTA(what="TagsPerRole", limit=TAGS_MAX)
    return tags


def _of_keys(tags: Iterable[str], keys: Iterable[str]) -> list[str]:
    """The keys as the tags spell them."""
    lowered = {key.lower() for key in keys}
    return [key for key in tags if key.lower() in lowered]
