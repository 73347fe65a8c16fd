"""What each operation of the account's services needs: of IAM, STS, CloudWatch and Logs, and of moto's services.

`s3.rights` has S3's operations, whose requests have no members.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torpor_account.core.access.needs import AccessPlace
from torpor_account.core.access.rights.log_group_names import log_group_name
from torpor_account.core.access.rights.right_rows import (
    Keys,
    Params,
    Resources,
    Rights,
    anything,
    arn_in,
    listed,
    members,
    rows,
    same,
    unnamed,
)


def _log_group(params: Params, place: AccessPlace) -> Sequence[str | None]:
    identifier = params.get("logGroupName") or params.get("logGroupIdentifier")
    return [place.arn("logs", f"log-group:{log_group_name(identifier)}") if identifier else None]


def _log_stream(params: Params, place: AccessPlace) -> Sequence[str | None]:
    return [group and f"{group}:log-stream:{params.get('logStreamName', '')}" for group in _log_group(params, place)]


def _name(kind: str, member: str, params: Params, place: AccessPlace) -> str:
    """The name that a call gives, or an empty text. A call without a user's name means the caller."""
    return params.get(member) or (place.user if kind == "user" else "")


def _iam(kind: str, member: str) -> Resources:
    """A path in the call is that of something new."""

    def resources(params: Params, place: AccessPlace) -> Sequence[str | None]:
        name = _name(kind, member, params, place)
        path = params.get("Path") or place.path_of(kind, name)
        return [f"arn:aws:iam::{place.account}:{kind}{path}{name}"] if name else [None]

    return resources


def _renamed(kind: str, member: str) -> Resources:
    """What gets another name or path, under its old ARN and its new one: the caller needs both."""

    def resources(params: Params, place: AccessPlace) -> Sequence[str | None]:
        old = _name(kind, member, params, place)
        path, name = params.get("NewPath") or place.path_of(kind, old), params.get(f"New{member}") or old
        new = f"arn:aws:iam::{place.account}:{kind}{path}{name}" if name else None
        return [*_iam(kind, member)(params, place), new]

    return resources


_ROLE, _USER, _POLICY = _iam("role", "RoleName"), _iam("user", "UserName"), _iam("policy", "PolicyName")
_IAM_GROUP = _iam("group", "GroupName")
_POLICY_ARN, _ALARM = arn_in("PolicyArn"), listed("cloudwatch", "alarm", "AlarmName")
_ALARMS = listed("cloudwatch", "alarm", "AlarmNames")
_ALARM_ACTIONS = members(AlarmActions="AlarmActions")


def _bounded(kind: str, member: str) -> Keys:
    """The boundary that a call gives to a role or user, or else the one that it has; and the policy to attach."""

    def keys(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
        boundary = params.get("PermissionsBoundary") or place.boundary_of(kind, params.get(member) or place.user)
        found = {"PermissionsBoundary": boundary, "PolicyARN": params.get("PolicyArn")}
        return {key: [value] for key, value in found.items() if value is not None}

    return keys


_ATTACHED = members(PolicyARN="PolicyArn")
_OF_ROLE, _OF_USER = _bounded("role", "RoleName"), _bounded("user", "UserName")

RIGHTS: Mapping[str, Rights] = {
    "iam": {
        **rows(_ROLE, "CreateRole", "GetRole", "UpdateRole", "UpdateRoleDescription", keys=_OF_ROLE),
        **rows(_ROLE, "UpdateAssumeRolePolicy", "DeleteRole", keys=_OF_ROLE),
        **rows(_ROLE, "PutRolePermissionsBoundary", "DeleteRolePermissionsBoundary", keys=_OF_ROLE),
        **rows(_ROLE, "PutRolePolicy", "DeleteRolePolicy", "AttachRolePolicy", "DetachRolePolicy", keys=_OF_ROLE),
        **rows(_ROLE, "ListInstanceProfilesForRole", "TagRole", "UntagRole", "ListRoleTags"),
        **rows(_ROLE, "GetRolePolicy", "ListRolePolicies", "ListAttachedRolePolicies"),
        **rows(_USER, "CreateUser", keys=_OF_USER),
        **rows(_USER, "PutUserPermissionsBoundary", "DeleteUserPermissionsBoundary", keys=_OF_USER),
        **rows(_USER, "PutUserPolicy", "DeleteUserPolicy", "AttachUserPolicy", "DetachUserPolicy", keys=_OF_USER),
        **rows(_USER, "GetUser", "DeleteUser", "TagUser", "UntagUser", "ListUserTags"),
        **rows(_USER, "GetUserPolicy", "ListUserPolicies", "ListAttachedUserPolicies"),
        **rows(_USER, "CreateAccessKey", "DeleteAccessKey", "UpdateAccessKey", "ListAccessKeys"),
        **rows(_renamed("user", "UserName"), "UpdateUser"),
        **rows(_USER, "ListGroupsForUser"),
        **rows(_IAM_GROUP, "CreateGroup", "GetGroup", "DeleteGroup", "AddUserToGroup", "RemoveUserFromGroup"),
        **rows(_IAM_GROUP, "PutGroupPolicy", "GetGroupPolicy", "DeleteGroupPolicy", "ListGroupPolicies"),
        **rows(_IAM_GROUP, "AttachGroupPolicy", "DetachGroupPolicy", keys=_ATTACHED),
        **rows(_IAM_GROUP, "ListAttachedGroupPolicies"),
        **rows(_renamed("group", "GroupName"), "UpdateGroup"),
        **rows(_POLICY, "CreatePolicy"),
        **rows(_POLICY_ARN, "TagPolicy", "UntagPolicy", "ListPolicyTags"),
        **rows(_POLICY_ARN, "GetPolicy", "DeletePolicy", "ListPolicyVersions", "GetPolicyVersion"),
        **rows(_POLICY_ARN, "CreatePolicyVersion", "DeletePolicyVersion", "SetDefaultPolicyVersion"),
        **rows(_POLICY_ARN, "ListEntitiesForPolicy"),
        **rows(arn_in("PolicySourceArn"), "SimulatePrincipalPolicy"),
        **rows(anything, "ListRoles", "ListUsers", "ListGroups", "ListPolicies", "GetAccountAuthorizationDetails"),
        **rows(anything, "SimulateCustomPolicy", "GetContextKeysForCustomPolicy"),
        **rows(unnamed, "CreateServiceLinkedRole", keys=members(AWSServiceName="AWSServiceName")),
    },
    "sts": {
        # AssumeRole is decided by the role's trust policy: `sts` asks it.
        **rows(anything, "GetCallerIdentity", "GetSessionToken", "AssumeRole", free=True),
        **rows(anything, "GetAccessKeyInfo"),
    },
    "cloudwatch": {
        **rows(anything, "PutMetricData", keys=members(namespace="Namespace")),
        **rows(anything, "GetMetricData", "GetMetricStatistics", "ListMetrics"),
        **rows(_ALARM, "PutMetricAlarm", keys=_ALARM_ACTIONS),
        **rows(_ALARM, "SetAlarmState", "DescribeAlarmHistory"),
        **rows(_ALARMS, "DeleteAlarms", "DescribeAlarms", "EnableAlarmActions", "DisableAlarmActions"),
        **rows(anything, "DescribeAlarmsForMetric"),
    },
    "logs": {
        **rows(_log_group, "CreateLogGroup", "DeleteLogGroup", "PutRetentionPolicy", "DeleteRetentionPolicy"),
        **rows(_log_group, "DescribeLogStreams", "FilterLogEvents"),
        **rows(_log_group, "ListTagsLogGroup", "TagLogGroup", "UntagLogGroup"),
        **rows(_log_stream, "GetLogEvents", "DeleteLogStream"),
    },
    "sns": rows(unnamed, "Subscribe", keys=same("Protocol", "Endpoint")),
    "ssm": {
        **rows(unnamed, "PutParameter", keys=same("Overwrite", "Policies")),
        **rows(unnamed, "GetParametersByPath", keys=same("Recursive")),
    },
    "secretsmanager": {
        **rows(unnamed, "CreateSecret", keys=same("Name", "Description", "ForceOverwriteReplicaSecret")),
        **rows(unnamed, "UpdateSecret", keys=same("Description")),
        **rows(unnamed, "DeleteSecret", keys=same("ForceDeleteWithoutRecovery", "RecoveryWindowInDays")),
        **rows(unnamed, "RotateSecret", keys=same("RotateImmediately", "RotationLambdaARN")),
        **rows(unnamed, "PutResourcePolicy", keys=same("BlockPublicPolicy")),
        **rows(unnamed, "ReplicateSecretToRegions", keys=same("ForceOverwriteReplicaSecret")),
    },
}  # fmt: skip
"""By service and operation. `right_rows.needs_of` says what holds for one without a row."""
