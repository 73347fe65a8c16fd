"""Where a managed policy is in use: by which roles, as permissions or as a boundary. Users and groups are not ours."""

from typing import Any

from torpor_endpoint.aws.calls import Call
from torpor_endpoint.iam.context import Iam
from torpor_endpoint.iam.errors import Trouble, error
from torpor_endpoint.iam.paging import page
from torpor_endpoint.iam.records import Role


def list_entities_for_policy(iam: Iam, call: Call) -> dict[str, Any]:
    params = call.params
    prefix = params.get("PathPrefix", "/")
    wanted = params.get("EntityFilter", "Role") == "Role"
    found = (role for role in iam.roles.all() if wanted and role.path.startswith(prefix) and _uses(role, params))
    roles, more = page(found, lambda role: role.name, params)
    return {"PolicyRoles": [{"RoleName": role.name, "RoleId": role.role_id} for role in roles], **more}


def check_unused(iam: Iam, call: Call) -> None:
    """Of DeletePolicy: raises DeleteConflict while a role has the policy."""
    if any(_uses(role, call.params) for role in iam.roles.all()):
        raise error(Trouble.STILL_ATTACHED)


def _uses(role: Role, params: dict[str, Any]) -> bool:
    usage, arn = params.get("PolicyUsageFilter"), params["PolicyArn"]
    attached = arn in role.attached and usage != "PermissionsBoundary"
    return attached or (arn == role.boundary and usage != "PermissionsPolicy")
