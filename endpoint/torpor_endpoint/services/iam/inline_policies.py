"""PutRolePolicy, GetRolePolicy, DeleteRolePolicy, ListRolePolicies: policies that are part of their role."""

from dataclasses import replace
from typing import Any

from torpor_endpoint.aws.calls import Call
from torpor_endpoint.services.iam import errors, shapes
from torpor_endpoint.services.iam.context import Iam
from torpor_endpoint.services.iam.documents import check_permissions
from torpor_endpoint.services.iam.paging import page
from torpor_endpoint.services.iam.records import Role

INLINE_CHARACTERS_MAX = 10240
"""The most characters of all inline policies of one role together. "IAM does not count white space"."""


def put_role_policy(iam: Iam, call: Call) -> dict[str, Any]:
    name, document = call.params["PolicyName"], call.params["PolicyDocument"]
    check_permissions(document)
    iam.change(call.params["RoleName"], lambda role: _with_policy(role, name, document))
    return {}


def get_role_policy(iam: Iam, call: Call) -> dict[str, Any]:
    role, name = iam.role(call.params["RoleName"]), call.params["PolicyName"]
    if name not in role.policies:
        raise errors.NO_ROLE_POLICY(name=name)
    return {"RoleName": role.name, "PolicyName": name, "PolicyDocument": shapes.document(role.policies[name])}


def delete_role_policy(iam: Iam, call: Call) -> dict[str, Any]:
    iam.change(call.params["RoleName"], lambda role: _without_policy(role, call.params["PolicyName"]))
    return {}


def list_role_policies(iam: Iam, call: Call) -> dict[str, Any]:
    names, more = page(iam.role(call.params["RoleName"]).policies, str, call.params)
    return {"PolicyNames": names, **more}


def _with_policy(role: Role, name: str, document: str) -> Role:
    policies = {**role.policies, name: document}
    if sum(len("".join(text.split())) for text in policies.values()) > INLINE_CHARACTERS_MAX:
        raise errors.QUOTA(what="InlinePolicySizePerRole", limit=INLINE_CHARACTERS_MAX)
    return replace(role, policies=policies)


def _without_policy(role: Role, name: str) -> Role:
    if name not in role.policies:
        raise errors.NO_ROLE_POLICY(name=name)
    return replace(role, policies={other: text for other, text in role.policies.items() if other != name})
