"""Attaches managed policies to roles, users and groups, detaches and lists them. A policy is known by its ARN only."""

import re
from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import H, Holder, HolderKind, Iam
from torpor_account.iam.identity_records import Group, Role, User
from torpor_account.iam.markers import page

POLICY_ARN = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}|aws):policy(?P<path>/(?:[!-~]+/)?)[\w+=,.@-]+", re.ASCII)

ATTACHED_MAX = 10


def attach_policy(kind: HolderKind[H], iam: Iam, call: Call) -> dict[str, Any]:
    """Attach a policy, without checking that it exists. An attached policy may be attached again."""
    arn: str = checked_arn(call.params["PolicyArn"])

    def edit(holder: H) -> H:
        attached = (*(other for other in holder.attached if other != arn), arn)
        if len(attached) > ATTACHED_MAX:
            raise errors.QUOTA(what=f"PoliciesPer{kind.name}", limit=ATTACHED_MAX)
        return replace(holder, attached=attached)

    kind.change(iam, call.params[kind.member], edit)
    return {}


def detach_policy(kind: HolderKind[H], iam: Iam, call: Call) -> dict[str, Any]:
    arn = call.params["PolicyArn"]

    def edit(holder: H) -> H:
        if arn not in holder.attached:
            raise errors.NOT_ATTACHED(arn=arn)
        return replace(holder, attached=tuple(other for other in holder.attached if other != arn))

    kind.change(iam, call.params[kind.member], edit)
    return {}


def list_attached_policies(kind: HolderKind[H], iam: Iam, call: Call) -> dict[str, Any]:
    prefix, holder = call.params.get("PathPrefix", "/"), kind.get(iam, call.params[kind.member])
    arns, more = page((arn for arn in holder.attached if _path(arn).startswith(prefix)), str, call.params)
    return {"AttachedPolicies": list(map(shapes.attached_policy, arns)), **more}


def checked_arn(arn: str) -> str:
    if not POLICY_ARN.fullmatch(arn):
        raise errors.BAD_ARN(arn=arn)
    return arn


def list_entities_for_policy(iam: Iam, call: Call) -> dict[str, Any]:
    params = call.params
    prefix, kind = params.get("PathPrefix", "/"), params.get("EntityFilter")
    of_kind = (one for one in iam.holders() if kind in (None, type(one).__name__))
    found = (one for one in of_kind if one.path.startswith(prefix) and _uses(one, params))
    held, more = page(found, lambda one: f"{type(one).__name__} {one.name}", params)
    roles = [{"RoleName": one.name, "RoleId": one.role_id} for one in held if isinstance(one, Role)]
    users = [{"UserName": one.name, "UserId": one.user_id} for one in held if isinstance(one, User)]
    groups = [{"GroupName": one.name, "GroupId": one.group_id} for one in held if isinstance(one, Group)]
    return {"PolicyRoles": roles, "PolicyUsers": users, "PolicyGroups": groups, **more}


def check_unused(iam: Iam, arn: str) -> None:
    """Raises DeleteConflict while a role, a user or a group has the policy."""
    if any(_uses(holder, {"PolicyArn": arn}) for holder in iam.holders()):
        raise errors.STILL_ATTACHED()


def boundary_of(holder: Holder) -> str | None:
    """The ARN of the permissions boundary. A group has none."""
    return None if isinstance(holder, Group) else holder.boundary


def _uses(holder: Holder, params: dict[str, Any]) -> bool:
    usage, arn = params.get("PolicyUsageFilter"), params["PolicyArn"]
    attached = arn in holder.attached and usage != "PermissionsBoundary"
    return attached or (arn == boundary_of(holder) and usage != "PermissionsPolicy")


def _path(arn: str) -> str:
    found = POLICY_ARN.fullmatch(arn)
    return found["path"] if found else "/"
