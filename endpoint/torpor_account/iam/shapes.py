"""Writes IAM's wire shapes. Policy documents are URL-encoded on the wire: "compliant with RFC 3986"."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from torpor_account.iam.identity_records import AccessKey, Group, ManagedPolicy, Role, User

Wire = dict[str, Any]
NO_TAGS: Mapping[str, str] = MappingProxyType({})


def role(record: Role, account: str, tags: Mapping[str, str]) -> Wire:
    """The role in the answers of GetRole and CreateRole."""
    return {**listed_role(record, account), "PermissionsBoundary": _boundary(record), "Tags": tag_list(tags)}


def _boundary(record: Role | User) -> Wire | None:
    if record.boundary is None:
        return None
    return {"PermissionsBoundaryType": "PermissionsBoundaryPolicy", "PermissionsBoundaryArn": record.boundary}


def user(record: User, account: str, tags: Mapping[str, str]) -> Wire:
    """The user in the answers of GetUser and CreateUser."""
    return {**listed_user(record, account), "PermissionsBoundary": _boundary(record), "Tags": tag_list(tags)}


def listed_user(record: User, account: str) -> Wire:
    return {
        "Path": record.path,
        "UserName": record.name,
        "UserId": record.user_id,
        "Arn": record.arn(account),
        "CreateDate": int(record.created_s),
    }


def group(record: Group, account: str) -> Wire:
    return {
        "Path": record.path,
        "GroupName": record.name,
        "GroupId": record.group_id,
        "Arn": record.arn(account),
        "CreateDate": int(record.created_s),
    }


def listed_key(record: AccessKey) -> Wire:
    return {
        "UserName": record.user,
        "AccessKeyId": record.name,
        "Status": "Active" if record.active else "Inactive",
        "CreateDate": int(record.created_s),
    }


def managed_policy(record: ManagedPolicy, account: str, tags: Mapping[str, str] = NO_TAGS) -> Wire:
    """A policy that nobody has yet."""
    return {
        "PolicyName": record.name,
        "PolicyId": record.policy_id,
        "Arn": record.arn(account),
        "Path": record.path,
        "DefaultVersionId": record.default,
        "AttachmentCount": 0,
        "PermissionsBoundaryUsageCount": 0,
        "IsAttachable": True,
        "Description": record.description,
        "CreateDate": int(record.created_s),
        "UpdateDate": int(record.updated_s),
        "Tags": tag_list(tags),
    }


def policy_version(record: ManagedPolicy, version: str) -> Wire:
    return {
        "Document": document(record.versions[version]),
        "VersionId": version,
        "IsDefaultVersion": version == record.default,
        "CreateDate": int(record.made_s[version]),
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
