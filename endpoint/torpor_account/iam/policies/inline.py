"""Policies that are part of their role, user or group: put, get, delete and list them."""

from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.iam import errors, shapes
from torpor_account.iam.context import H, HolderKind, Iam
from torpor_account.iam.markers import page
from torpor_account.iam.policies.document_rules import check_permissions


def put_policy(kind: HolderKind[H], iam: Iam, call: Call) -> dict[str, Any]:
    name, document = call.params["PolicyName"], call.params["PolicyDocument"]
    check_permissions(document)

    def edit(holder: H) -> H:
        policies = {**holder.policies, name: document}
        if sum(len("".join(text.split())) for text in policies.values()) > kind.inline_characters_max:
            raise errors.QUOTA(what=f"InlinePolicySizePer{kind.name}", limit=kind.inline_characters_max)
        return replace(holder, policies=policies)

    kind.change(iam, call.params[kind.member], edit)
    return {}


def get_policy(kind: HolderKind[H], iam: Iam, call: Call) -> dict[str, Any]:
    holder, name = kind.get(iam, call.params[kind.member]), call.params["PolicyName"]
    if name not in holder.policies:
        raise kind.no_policy(name=name)
    return {kind.member: holder.name, "PolicyName": name, "PolicyDocument": shapes.document(holder.policies[name])}


def delete_policy(kind: HolderKind[H], iam: Iam, call: Call) -> dict[str, Any]:
    name = call.params["PolicyName"]

    def edit(holder: H) -> H:
        if name not in holder.policies:
            raise kind.no_policy(name=name)
        return replace(holder, policies={other: text for other, text in holder.policies.items() if other != name})

    kind.change(iam, call.params[kind.member], edit)
    return {}


def list_policies(kind: HolderKind[H], iam: Iam, call: Call) -> dict[str, Any]:
    names, more = page(kind.get(iam, call.params[kind.member]).policies, str, call.params)
    return {"PolicyNames": names, **more}
