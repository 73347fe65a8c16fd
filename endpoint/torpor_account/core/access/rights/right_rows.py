"""The rows by which a service says what its operations need: action, resource and condition keys, and roles passed on.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsagemaker.html and its like. A key is in
the context only where AWS lists it. `account_rights` has the rows of the account's services; whoever adds a
service brings its rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torpor_account.core.access.needs import AccessNeed, AccessPlace, ConditionKeys
from torpor_account.core.access.rights.log_group_names import LOG_GROUP_ARN
from torpor_container.core.target_names import is_target, name_of
from torpor_container.frozen_class import frozen

Params = Mapping[str, Any]
"""The members of a call by their names on the wire."""

Resources = Callable[[Params, AccessPlace], Sequence[str | None]]
"""The ARNs of a call's resources, all of which the caller needs. None stands for one that the call does not name."""
Keys = Callable[[Params, AccessPlace], Mapping[str, Sequence[Any]]]
"""The service's own condition keys of a call, without the name of the service. A key without values is absent."""

PREFIXES: Mapping[str, str] = {"sagemaker-runtime": "sagemaker", "sagemaker-metrics": "sagemaker"}
"""The name of a service in actions, where it is not botocore's."""

DEFAULT_ROLE = "TorporRole"
"""The role of a model that names none, and of everybody where no caller is verified."""

ANY = ("*",)


@frozen
class OperationRight:
    """One row. `passes` are members with roles that the service will assume: each needs iam:PassRole."""

    resources: Resources
    keys: Keys = lambda params, place: {}
    passes: tuple[str, ...] = ()
    tagged: bool = False
    """Whether the operation creates something that may get tags, which needs AddTags too."""
    always_passes: bool = False
    """Whether a call without a role passes the endpoint's own one, DEFAULT_ROLE."""
    free: bool = False
    """Whether the operation needs no policy. AWS: "No permissions are required to perform this operation", even under
    an explicit deny."""


Rights = Mapping[str, OperationRight]
"""What the operations of one service need, by their names."""


def needs_of(
    service: str, operation: str, params: Params | None, place: AccessPlace, rights: Rights
) -> Iterator[AccessNeed]:
    """What a call needs, by its service's rows. An operation without a row, or without `params`, may act on any
    resource."""
    prefix = PREFIXES.get(service, service)
    action = f"{prefix}:{operation}"
    right = rights.get(operation)
    if right is not None and right.free:
        return
    if right is None or params is None:
        yield AccessNeed((action,), None, tag_keys(params or {}))
        return
    own = {f"{prefix}:{key}".lower(): values for key, values in right.keys(params, place).items()}
    keys = {**_texts(own), **tag_keys(params)}
    resources = right.resources(params, place)
    for resource in resources:
        yield AccessNeed((action,), resource, keys, aliases_of(resource))
    if right.tagged and params.get("Tags"):
        for resource in resources:
            of_tags = {**tag_keys(params), f"{prefix}:taggingaction": (operation,)}
            yield AccessNeed((f"{prefix}:AddTags",), resource, of_tags)
    for member in right.passes:
        role = member_at(params, member) or (default_role(place.account) if right.always_passes else None)
        if role:
            yield AccessNeed(("iam:PassRole",), str(role), {"iam:passedtoservice": (f"{prefix}.amazonaws.com",)})


def default_role(account: str) -> str:
    """The ARN of the role of a model that names none."""
    return f"arn:aws:iam::{account}:role/{DEFAULT_ROLE}"


def aliases_of(resource: str | None) -> tuple[str, ...]:
    """The other spelling of an ARN. AWS: that of a log group ends with `:*` in policies, and in older ones it does
    not."""
    if resource is None or not LOG_GROUP_ARN.fullmatch(resource):
        return ()
    return (resource.removesuffix(":*") if resource.endswith(":*") else f"{resource}:*",)


def target_name(target: str) -> str:
    """The name by which the runtime goes. Policies are asked about a text that names no model as it is, and whatever
    they say, the runtime refuses it."""
    return name_of(target) if is_target(target) else target


def _pair(tag: Mapping[str, Any]) -> tuple[str, str]:
    """Key and value of a tag, whose names some services spell in other ways."""
    names = {name.lower().removeprefix("tag"): str(value) for name, value in tag.items()}
    return names.get("key", ""), names.get("value", "")


def tag_keys(params: Params) -> ConditionKeys:
    """`aws:RequestTag/x` and `aws:TagKeys` of a call that sets or removes tags."""
    tags = params.get("Tags") or params.get("tags") or {}
    removed = [*params.get("TagKeys", ()), *params.get("tagKeys", ())]
    if isinstance(tags, list):  # of tags with their values, or of the keys of tags to remove
        removed += [tag for tag in tags if isinstance(tag, str)]
        tags = [_pair(tag) for tag in tags if isinstance(tag, Mapping)]
    pairs = list(tags.items()) if isinstance(tags, Mapping) else tags
    names = [*(name for name, _ in pairs), *removed]
    found: dict[str, Sequence[str]] = {}
    for name, value in pairs:  # a key in two spellings has both values
        key = f"aws:requesttag/{name.lower()}"
        found[key] = (*found.get(key, ()), value)
    return {**found, "aws:tagkeys": names} if names else found


def anything(params: Params, place: AccessPlace) -> Sequence[str | None]:
    return ANY


def unnamed(params: Params, place: AccessPlace) -> Sequence[str | None]:
    """Of something whose ARN the call does not tell."""
    return [None]


def both(*resources: Resources) -> Resources:
    return lambda params, place: [arn for one in resources for arn in one(params, place)]


def arn_in(member: str) -> Resources:
    return lambda params, place: [params.get(member)]


def listed(service: str, kind: str, member: str) -> Resources:
    """The names in a list, or in one member. A call that names none may mean any."""

    def resources(params: Params, place: AccessPlace) -> Sequence[str | None]:
        named = params.get(member) or []
        names = named if isinstance(named, list) else [named]
        return [place.arn(service, f"{kind}:{name}") for name in names] or [None]

    return resources


def member_at(params: Any, path: str) -> Any:
    """The member at a path such as `VpcConfig.Subnets`; None if there is none."""
    for part in path.split("."):
        params = params.get(part) if isinstance(params, Mapping) else None
    return params


def members(**paths: str) -> Keys:
    def keys(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
        found = {key: member_at(params, path) for key, path in paths.items()}
        return {key: value if isinstance(value, list) else [value] for key, value in found.items() if value is not None}

    return keys


def same(*names: str) -> Keys:
    """Keys that have the names of the members that they tell of."""
    return members(**{name: name for name in names})


def _texts(keys: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[str]]:
    return {
        key: [str(one).lower() if isinstance(one, bool) else str(one) for one in values] for key, values in keys.items()
    }


def rows(resources: Resources, *operations: str, **more: Any) -> dict[str, OperationRight]:
    return dict.fromkeys(operations, OperationRight(resources, **more))
