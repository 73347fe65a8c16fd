"""The operations that create, show, list, rename and delete users, and set their boundaries."""

from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.ids import new_id
from torpor_account.iam.identity_records import User
from torpor_account.iam.identity_tags import TAGGED_USERS, first_tags, moved
from torpor_account.iam.markers import page
from torpor_account.iam.policies.attached import checked_arn


def create_user(iam: Iam, call: Call) -> dict[str, Any]:
    boundary = call.params.get("PermissionsBoundary")
    user = User(
        name=call.params["UserName"],
        user_id=new_id("AIDA"),
        created_s=iam.clock(),
        path=call.params.get("Path", "/"),
        boundary=None if boundary is None else checked_arn(boundary),
    )
    tags = first_tags(TAGGED_USERS, call)
    if not iam.users.add(user):
        raise errors.USER_EXISTS(name=user.name)
    iam.tags.put(user.arn(call.account), tags)
    return {"User": shapes.user(user, call.account, tags)}


def get_user(iam: Iam, call: Call) -> dict[str, Any]:
    user = iam.user(named(call))
    return {"User": shapes.user(user, call.account, iam.tags.of(user.arn(call.account)))}


def list_users(iam: Iam, call: Call) -> dict[str, Any]:
    prefix = call.params.get("PathPrefix", "/")
    found = (user for user in iam.users.all() if user.path.startswith(prefix))
    users, more = page(found, lambda user: user.name, call.params)
    return {"Users": [shapes.listed_user(user, call.account) for user in users], **more}


def delete_user(iam: Iam, call: Call) -> dict[str, Any]:
    name = call.params["UserName"]
    with iam.together():
        user = iam.user(name)
        if any(key.user == name for key in iam.keys.all()):
            raise errors.HAS_KEYS()
        if user.groups:
            raise errors.IN_GROUPS()
        if user.attached:
            raise errors.HAS_ATTACHED()
        if user.policies:
            raise errors.HAS_INLINE()
        iam.users.remove(name)
    iam.tags.forget(user.arn(call.account))
    return {}


def update_user(iam: Iam, call: Call) -> dict[str, Any]:
    """Give the user another name or path. Its keys, groups, policies and tags stay."""
    with iam.together():
        old = iam.user(call.params["UserName"])
        new = replace(old, name=call.params.get("NewUserName", old.name), path=call.params.get("NewPath", old.path))
        iam.users.remove(old.name)
        if not iam.users.add(new):
            raise errors.USER_EXISTS(name=new.name)
        for key in iam.keys.all():
            if key.user == old.name:
                iam.keys.put(replace(key, user=new.name))
        for temporary in iam.temporary.all():
            if temporary.user == old.name:
                iam.temporary.put(replace(temporary, user=new.name))
    moved(iam, old.arn(call.account), new.arn(call.account))
    return {}


def put_user_permissions_boundary(iam: Iam, call: Call) -> dict[str, Any]:
    boundary = checked_arn(call.params["PermissionsBoundary"])
    iam.change_user(call.params["UserName"], lambda user: replace(user, boundary=boundary))
    return {}


def delete_user_permissions_boundary(iam: Iam, call: Call) -> dict[str, Any]:
    iam.change_user(call.params["UserName"], lambda user: replace(user, boundary=None))
    return {}


def named(call: Call) -> str:
    """The user that the call names, or the one who calls. Raises ValidationError for a caller who is no user."""
    caller = None if call.access is None else call.access.principal.name
    name: str | None = call.params.get("UserName") or caller
    if not name:
        raise errors.NEEDS_USER()
    return name
