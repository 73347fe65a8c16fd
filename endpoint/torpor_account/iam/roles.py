"""The operations that create, show, list, update and delete roles. No role is in an instance profile."""

import secrets
import string
from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import Iam
from torpor_account.iam.identity_records import Role
from torpor_account.iam.identity_tags import TAGGED_ROLES, first_tags
from torpor_account.iam.markers import page
from torpor_account.iam.policies.attached import checked_arn
from torpor_account.iam.policies.document_rules import trusted_ids

TRUST_CHARACTERS_MAX = 2048


def create_role(iam: Iam, call: Call) -> dict[str, Any]:
    trust = call.params["AssumeRolePolicyDocument"]
    trusted = checked_trust(iam, call, trust)
    role = Role(
        name=call.params["RoleName"],
        role_id=new_role_id(),
        created_s=iam.clock(),
        trust=trust,
        path=call.params.get("Path", "/"),
        description=call.params.get("Description"),
        session_max_s=call.params.get("MaxSessionDuration", 3600),
        boundary=_boundary(call),
        trusted=trusted,
    )
    tags = first_tags(TAGGED_ROLES, call)
    if not iam.roles.add(role):
        raise errors.EXISTS(name=role.name)
    iam.tags.put(role.arn(call.account), tags)
    return {"Role": shapes.role(role, call.account, tags)}


def get_role(iam: Iam, call: Call) -> dict[str, Any]:
    role = iam.role(call.params["RoleName"])
    return {"Role": shapes.role(role, call.account, iam.tags.of(role.arn(call.account)))}


def list_roles(iam: Iam, call: Call) -> dict[str, Any]:
    prefix = call.params.get("PathPrefix", "/")
    found = (role for role in iam.roles.all() if role.path.startswith(prefix))
    roles, more = page(found, lambda role: role.name, call.params)
    return {"Roles": [shapes.listed_role(role, call.account) for role in roles], **more}


def update_role(iam: Iam, call: Call) -> dict[str, Any]:
    given = {"description": call.params.get("Description"), "session_max_s": call.params.get("MaxSessionDuration")}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    iam.change_role(call.params["RoleName"], lambda role: replace(role, **changes))
    return {}


def update_role_description(iam: Iam, call: Call) -> dict[str, Any]:
    description = call.params["Description"]
    role = iam.change_role(call.params["RoleName"], lambda role: replace(role, description=description))
    return {"Role": shapes.role(role, call.account, {})}


def update_assume_role_policy(iam: Iam, call: Call) -> dict[str, Any]:
    trust = call.params["PolicyDocument"]
    trusted = checked_trust(iam, call, trust)
    iam.change_role(call.params["RoleName"], lambda role: replace(role, trust=trust, trusted=trusted))
    return {}


def put_role_permissions_boundary(iam: Iam, call: Call) -> dict[str, Any]:
    boundary = _boundary(call)
    iam.change_role(call.params["RoleName"], lambda role: replace(role, boundary=boundary))
    return {}


def delete_role_permissions_boundary(iam: Iam, call: Call) -> dict[str, Any]:
    iam.change_role(call.params["RoleName"], lambda role: replace(role, boundary=None))
    return {}


def delete_role(iam: Iam, call: Call) -> dict[str, Any]:
    iam.delete(call.params["RoleName"], _check_deletable, call.account)
    return {}


def list_instance_profiles_for_role(iam: Iam, call: Call) -> dict[str, Any]:
    """Answer with no profiles: a role here is in none. Terraform calls it before it deletes a role."""
    iam.role(call.params["RoleName"])
    return {"InstanceProfiles": [], "IsTruncated": False}


def check_in_no_profile(iam: Iam, call: Call) -> None:
    """The guard of AddRoleToInstanceProfile: moto, which has the profiles, does not know Torpor's roles."""
    if iam.roles.get(call.params["RoleName"]) is not None:
        raise errors.NO_PROFILES(name=call.params["RoleName"])


def new_role_id() -> str:
    return "AROA" + "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(17))


def checked_trust(iam: Iam, call: Call, document: str) -> dict[str, str]:
    """The unique ids of those whom a trust policy names. Raises MalformedPolicyDocument, LimitExceeded."""
    trusted = trusted_ids(iam, call.account, document)
    if len("".join(document.split())) > TRUST_CHARACTERS_MAX:  # "IAM does not count white space"
        raise errors.QUOTA(what="ACLSizePerRole", limit=TRUST_CHARACTERS_MAX)
    return trusted


def _boundary(call: Call) -> str | None:
    arn: str | None = call.params.get("PermissionsBoundary")
    return None if arn is None else checked_arn(arn)


def _check_deletable(role: Role) -> None:
    if role.protected:
        raise errors.PROTECTED(name=role.name)
    if role.attached:
        raise errors.HAS_ATTACHED()
    if role.policies:
        raise errors.HAS_INLINE()
