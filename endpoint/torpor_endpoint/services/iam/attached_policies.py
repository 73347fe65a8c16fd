"""Attaches managed policies to roles, detaches and lists them. A policy is known only by its ARN."""

import re
from dataclasses import replace
from typing import Any

from torpor_endpoint.aws.calls import Call
from torpor_endpoint.services.iam import errors, shapes
from torpor_endpoint.services.iam.context import Iam
from torpor_endpoint.services.iam.paging import page
from torpor_endpoint.services.iam.records import Role

POLICY_ARN = re.compile(r"arn:aws[a-z-]*:iam::(\d{12}|aws):policy(?P<path>/(?:[!-~]+/)?)[\w+=,.@-]+", re.ASCII)

ATTACHED_MAX = 10


def attach_role_policy(iam: Iam, call: Call) -> dict[str, Any]:
    """Attach a policy, without checking that it exists. An attached policy may be attached again."""
    arn = checked_arn(call.params["PolicyArn"])
    iam.change(call.params["RoleName"], lambda role: _with_policy(role, arn))
    return {}


def detach_role_policy(iam: Iam, call: Call) -> dict[str, Any]:
    iam.change(call.params["RoleName"], lambda role: _without_policy(role, call.params["PolicyArn"]))
    return {}


def list_attached_role_policies(iam: Iam, call: Call) -> dict[str, Any]:
    prefix = call.params.get("PathPrefix", "/")
    attached = (arn for arn in iam.role(call.params["RoleName"]).attached if _path(arn).startswith(prefix))
    arns, more = page(attached, str, call.params)
    return {"AttachedPolicies": list(map(shapes.attached_policy, arns)), **more}


def checked_arn(arn: str) -> str:
    if not POLICY_ARN.fullmatch(arn):
        raise errors.BAD_ARN(arn=arn)
    return arn


def _with_policy(role: Role, arn: str) -> Role:
    attached = (*(other for other in role.attached if other != arn), arn)
    if len(attached) > ATTACHED_MAX:
        raise errors.QUOTA(what="PoliciesPerRole", limit=ATTACHED_MAX)
    return replace(role, attached=attached)


def _without_policy(role: Role, arn: str) -> Role:
    if arn not in role.attached:
        raise errors.NOT_ATTACHED(arn=arn)
    return replace(role, attached=tuple(other for other in role.attached if other != arn))


def _path(arn: str) -> str:
    found = POLICY_ARN.fullmatch(arn)
    return found["path"] if found else "/"


def list_entities_for_policy(iam: Iam, call: Call) -> dict[str, Any]:
    params = call.params
    prefix = params.get("PathPrefix", "/")
    with_roles = params.get("EntityFilter", "Role") == "Role"
    found = (role for role in iam.roles.all() if with_roles and role.path.startswith(prefix) and _uses(role, params))
    roles, more = page(found, lambda role: role.name, params)
    return {"PolicyRoles": [{"RoleName": role.name, "RoleId": role.role_id} for role in roles], **more}


def check_unused(iam: Iam, call: Call) -> None:
    """The guard of DeletePolicy: raises DeleteConflict while a role has the policy."""
    if any(_uses(role, call.params) for role in iam.roles.all()):
        raise errors.STILL_ATTACHED()


def _uses(role: Role, params: dict[str, Any]) -> bool:
    usage, arn = params.get("PolicyUsageFilter"), params["PolicyArn"]
    attached = arn in role.attached and usage != "PermissionsBoundary"
    return attached or (arn == role.boundary and usage != "PermissionsPolicy")
