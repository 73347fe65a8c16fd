"""Tags of roles, users and policies. "Tag keys are case insensitive, but case is preserved." """

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import Iam
from torpor_account.iam.markers import page
from torpor_account.storage.tag_store import reserved_key

TAGS_MAX = 50


@dataclass(frozen=True)
class TaggedKind:
    """What can have tags. `arn_of` finds it by a call, and raises NoSuchEntity."""

    name: str  # as quotas have it
    arn_of: Callable[[Iam, Call], str]


def _named(get: Callable[[Iam, str], Any], member: str) -> Callable[[Iam, Call], str]:
    return lambda iam, call: str(get(iam, call.params[member]).arn(call.account))


def _policy(iam: Iam, call: Call) -> str:
    arn: str = call.params["PolicyArn"]
    if iam.policy_at(arn, call.account) is None:
        raise errors.NO_POLICY(arn=arn)
    return arn


TAGGED_ROLES = TaggedKind("Role", _named(Iam.role, "RoleName"))
TAGGED_USERS = TaggedKind("User", _named(Iam.user, "UserName"))
TAGGED_POLICIES = TaggedKind("Policy", _policy)


def tag(kind: TaggedKind, iam: Iam, call: Call) -> dict[str, Any]:
    """Add tags. A key that differs from an old one only in upper and lower case replaces it."""
    arn, added = kind.arn_of(iam, call), read(call.params["Tags"])
    with iam.tagging:
        old = iam.tags.of(arn)
        replaced = _of_keys(old, added)
        check_count(kind, {**{key: value for key, value in old.items() if key not in replaced}, **added})
        iam.tags.remove(arn, replaced)
        iam.tags.put(arn, added)
    return {}


def untag(kind: TaggedKind, iam: Iam, call: Call) -> dict[str, Any]:
    arn = kind.arn_of(iam, call)
    iam.tags.remove(arn, _of_keys(iam.tags.of(arn), call.params["TagKeys"]))
    return {}


def list_tags(kind: TaggedKind, iam: Iam, call: Call) -> dict[str, Any]:
    tags = iam.tags.of(kind.arn_of(iam, call))
    keys, more = page(tags, str, call.params)
    return {"Tags": shapes.tag_list({key: tags[key] for key in keys}), **more}


def first_tags(kind: TaggedKind, call: Call) -> dict[str, str]:
    """The tags of a call that creates a role, a user or a policy."""
    return check_count(kind, read(call.params.get("Tags", [])))


def moved(iam: Iam, old_arn: str, new_arn: str) -> None:
    """Give the tags of what was renamed to its new ARN."""
    if old_arn != new_arn:
        tags = iam.tags.of(old_arn)
        iam.tags.forget(old_arn)
        iam.tags.put(new_arn, tags)


def read(wire: list[dict[str, str]]) -> dict[str, str]:
    """The tags by key. "Tag keys are case insensitive": raises InvalidInput for two that differ only in case, and for
    AWS's own."""
    tags = shapes.tags(wire)
    if len({key.lower() for key in tags}) < len(wire):
        raise errors.DUPLICATE_TAG()
    reserved = reserved_key(tags)
    if reserved is not None:
        raise errors.RESERVED_TAG(key=reserved)
    return tags


def check_count(kind: TaggedKind, tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > TAGS_MAX:
        raise errors.QUOTA(what=f"TagsPer{kind.name}", limit=TAGS_MAX)
    return tags


def _of_keys(tags: Iterable[str], keys: Iterable[str]) -> list[str]:
    """The keys as the tags spell them."""
    lowered = {key.lower() for key in keys}
    return [key for key in tags if key.lower() in lowered]
