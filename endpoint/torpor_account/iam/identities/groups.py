"""The operations on groups and on who is in them. The policies of a group hold for its users, and give it no key."""

from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import Iam
from torpor_account.iam.identities.ids import new_id
from torpor_account.iam.identity_records import Group, User
from torpor_account.iam.markers import page

GROUPS_MAX = 300
GROUPS_OF_USER_MAX = 10


def create_group(iam: Iam, call: Call) -> dict[str, Any]:
    group = Group(call.params["GroupName"], new_id("AGPA"), iam.clock(), call.params.get("Path", "/"))
    with iam.together():
        if len(iam.groups.all()) >= GROUPS_MAX:
            raise errors.QUOTA(what="GroupsPerAccount", limit=GROUPS_MAX)
        if not iam.groups.add(group):
            raise errors.GROUP_EXISTS(name=group.name)
    return {"Group": shapes.group(group, call.account)}


def get_group(iam: Iam, call: Call) -> dict[str, Any]:
    """The group with its users, of which `Marker` and `MaxItems` choose a page."""
    group = iam.group(call.params["GroupName"])
    users, more = page(iam.members(group.name), lambda user: user.name, call.params)
    shown = [shapes.listed_user(user, call.account) for user in users]
    return {"Group": shapes.group(group, call.account), "Users": shown, **more}


def list_groups(iam: Iam, call: Call) -> dict[str, Any]:
    prefix = call.params.get("PathPrefix", "/")
    found = (group for group in iam.groups.all() if group.path.startswith(prefix))
    groups, more = page(found, lambda group: group.name, call.params)
    return {"Groups": [shapes.group(group, call.account) for group in groups], **more}


def update_group(iam: Iam, call: Call) -> dict[str, Any]:
    """Give the group another name or path. Its users and policies stay."""
    old_name = call.params["GroupName"]
    with iam.together():
        old = iam.group(old_name)
        new = replace(old, name=call.params.get("NewGroupName", old.name), path=call.params.get("NewPath", old.path))
        iam.groups.remove(old.name)
        if not iam.groups.add(new):
            raise errors.GROUP_EXISTS(name=new.name)
        for user in iam.members(old.name):
            names = tuple(new.name if name == old.name else name for name in user.groups)
            iam.users.put(replace(user, groups=names))
    return {}


def delete_group(iam: Iam, call: Call) -> dict[str, Any]:
    with iam.together():
        group = iam.group(call.params["GroupName"])
        if iam.members(group.name):
            raise errors.HAS_USERS()
        if group.attached:
            raise errors.HAS_ATTACHED()
        if group.policies:
            raise errors.HAS_INLINE()
        iam.groups.remove(group.name)
    return {}


def add_user_to_group(iam: Iam, call: Call) -> dict[str, Any]:
    """Put the user into the group. One who is in it already may be put into it again."""
    name = call.params["GroupName"]

    def edit(user: User) -> User:
        groups = (*(other for other in user.groups if other != name), iam.group(name).name)
        if len(groups) > GROUPS_OF_USER_MAX:
            raise errors.QUOTA(what="GroupsPerUser", limit=GROUPS_OF_USER_MAX)
        return replace(user, groups=groups)

    iam.change_user(call.params["UserName"], edit)
    return {}


def remove_user_from_group(iam: Iam, call: Call) -> dict[str, Any]:
    """Take the user out of the group. One who is not in it stays so."""
    name = call.params["GroupName"]

    def edit(user: User) -> User:
        return replace(user, groups=tuple(other for other in user.groups if other != iam.group(name).name))

    iam.change_user(call.params["UserName"], edit)
    return {}


def list_groups_for_user(iam: Iam, call: Call) -> dict[str, Any]:
    user = iam.user(call.params["UserName"])
    names, more = page(user.groups, str, call.params)
    return {"Groups": [shapes.group(iam.group(name), call.account) for name in names], **more}
