"""Writes IAM's wire shapes. Policy documents are URL-encoded on the wire: "compliant with RFC 3986"."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from torpor_endpoint.services.iam.records import Role

Wire = dict[str, Any]


def role(record: Role, account: str, tags: Mapping[str, str]) -> Wire:
    """The role in the answers of GetRole and CreateRole."""
    boundary = {"PermissionsBoundaryType": "PermissionsBoundaryPolicy", "PermissionsBoundaryArn": record.boundary}
    return {
        **listed_role(record, account),
        "PermissionsBoundary": boundary if record.boundary else None,
        "Tags": tag_list(tags),
    }


def listed_role(record: Role, account: str) -> Wire:
    """The role in the answer of ListRoles, which "does not return … PermissionsBoundary, RoleLastUsed, Tags"."""
    return {
        "Path": record.path,
        "RoleName": record.name,
        "RoleId": record.role_id,
        "Arn": record.arn(account),
        "CreateDate": int(record.created_s),
        "AssumeRolePolicyDocument": document(record.trust),
        "Description": record.description,
        "MaxSessionDuration": record.session_max_s,
    }


def document(text: str) -> str:
    return quote(text, safe="")


def attached_policy(arn: str) -> Wire:
    return {"PolicyName": arn.rpartition("/")[2], "PolicyArn": arn}


def tags(wire: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in wire}


def tag_list(tags: Mapping[str, str]) -> list[Wire]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
