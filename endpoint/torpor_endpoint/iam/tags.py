"""TagRole, UntagRole, ListRoleTags."""

from typing import Any

from torpor_endpoint.aws.service import Call
from torpor_endpoint.iam import shapes
from torpor_endpoint.iam.context import Iam
from torpor_endpoint.iam.errors import Trouble, error
from torpor_endpoint.iam.paging import page

TAGS_MAX = 50


def tag_role(iam: Iam, call: Call) -> dict[str, Any]:
    arn = iam.role(call.params["RoleName"]).arn(call.account)
    added = shapes.tags(call.params["Tags"])
    check_count({**iam.tags.tags(arn), **added})
    iam.tags.put_tags(arn, added)
    return {}


def untag_role(iam: Iam, call: Call) -> dict[str, Any]:
    arn = iam.role(call.params["RoleName"]).arn(call.account)
    iam.tags.remove_tags(arn, call.params["TagKeys"])
    return {}


def list_role_tags(iam: Iam, call: Call) -> dict[str, Any]:
    tags = iam.tags.tags(iam.role(call.params["RoleName"]).arn(call.account))
    keys, more = page(tags, str, call.params)
    return {"Tags": shapes.tag_list({key: tags[key] for key in keys}), **more}


def check_count(tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > TAGS_MAX:
        raise error(Trouble.QUOTA, what="TagsPerRole", limit=TAGS_MAX)
    return tags
