"""What each operation needs, as one table: action, resource and condition keys, and the roles that it passes on.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsagemaker.html and its like. A key is in
the context only where AWS lists it. `s3.rights` has S3's operations, whose requests have no members.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torpor_account.core.access.conditions import TARGET_MODEL
from torpor_account.core.access.needs import AccessNeed, AccessPlace, ConditionKeys
from torpor_container.core.target_names import is_target, name_of

Params = Mapping[str, Any]
"""The members of a call by their names on the wire."""

Resources = Callable[[Params, AccessPlace], Sequence[str | None]]
"""The ARNs of a call's resources, all of which the caller needs. None stands for one that the call does not name."""
Keys = Callable[[Params, AccessPlace], Mapping[str, Sequence[Any]]]
"""The service's own condition keys of a call, without the name of the service. A key without values is absent."""

PREFIXES: Mapping[str, str] = {"sagemaker-runtime": "sagemaker", "sagemaker-metrics": "sagemaker", "events": "events"}
"""The name of a service in actions, where it is not botocore's."""

DEFAULT_ROLE = "TorporRole"
"""The role of a model that names none, and of everybody where no caller is verified."""

TARGET_CONTAINER = "sagemaker:targetcontainerhostname"

ANY = ("*",)


@dataclass(frozen=True)
class OperationRight:
    """One row. `passes` are members with roles that the service will assume: each needs iam:PassRole."""

    resources: Resources
    keys: Keys = lambda params, place: {}
    passes: tuple[str, ...] = ()
    tagged: bool = False
    """Whether the operation creates something that may get tags, which needs AddTags too."""
    always_passes: bool = False
    """Whether a call without a role passes the endpoint's own one, DEFAULT_ROLE."""


def needs_of(service: str, operation: str, params: Params | None, place: AccessPlace) -> Iterator[AccessNeed]:
    """What a call needs. An operation without a row, or without `params`, may act on any resource."""
    prefix = PREFIXES.get(service, service)
    action = f"{prefix}:{operation}"
    if action in FREE:
        return
    right = RIGHTS.get(prefix, {}).get(operation)
    if right is None or params is None:
        yield AccessNeed((action,), None, tag_keys(params or {}))
        return
    own = {f"{prefix}:{key}".lower(): values for key, values in right.keys(params, place).items()}
    keys = {**_texts(own), **tag_keys(params)}
    resources = right.resources(params, place)
    for resource in resources:
        yield AccessNeed((action,), resource, keys, aliases_of(resource))
    if right.tagged and params.get("Tags"):
        for resource in resources:
            of_tags = {**tag_keys(params), f"{prefix}:taggingaction": (operation,)}
            yield AccessNeed((f"{prefix}:AddTags",), resource, of_tags)
    for member in right.passes:
        role = _at(params, member) or (default_role(place.account) if right.always_passes else None)
        if role:
            yield AccessNeed(("iam:PassRole",), str(role), {"iam:passedtoservice": (f"{prefix}.amazonaws.com",)})


def default_role(account: str) -> str:
    """The ARN of the role of a model that names none."""
    return f"arn:aws:iam::{account}:role/{DEFAULT_ROLE}"


def sagemaker_arn(given: str) -> str:
    """The ARN of the resource that a call means. AWS has SageMaker's ARNs in lower case; a caller may have made one
    from a name with capitals."""
    return given.lower()


def log_group_name(identifier: str) -> str:
    """The name of a log group that a call names by its name or its ARN."""
    arn = _LOG_GROUP_ARN.fullmatch(identifier)
    return arn[1] if arn else identifier


def aliases_of(resource: str | None) -> tuple[str, ...]:
    """The other spelling of an ARN. AWS: that of a log group ends with `:*` in policies, and in older ones it does
    not."""
    if resource is None or not _LOG_GROUP_ARN.fullmatch(resource):
        return ()
    return (resource.removesuffix(":*") if resource.endswith(":*") else f"{resource}:*",)


_LOG_GROUP_ARN = re.compile(r"arn:aws[a-z-]*:logs:[^:]*:[^:]*:log-group:([^:]+)(?::\*)?")


INVOCATIONS = ("InvokeEndpoint", "InvokeEndpointAsync", "InvokeEndpointWithResponseStream")
"""The operations of the runtime."""


def invocation(
    operation: str, endpoint: str, target: str | None, place: AccessPlace, container: str | None = None
) -> AccessNeed:
    """What a call of the runtime needs. `target` and `container` are the values of the headers that name a target model
    and a target container.

    AWS's own documents differ on the right for streams: one has InvokeEndpoint, the other an action for them alone.
    """
    actions = [f"sagemaker:{operation}"]
    if operation == "InvokeEndpointWithResponseStream":
        actions.append("sagemaker:InvokeEndpoint")
    keys = {} if target is None else {TARGET_MODEL: (target_name(target),)}
    if container:  # an empty header asks for nothing
        keys[TARGET_CONTAINER] = (container,)
    return AccessNeed(tuple(actions), place.arn("sagemaker", f"endpoint/{endpoint.lower()}"), keys)


def target_name(target: str) -> str:
    """The name by which the runtime goes. Policies are asked about a text that names no model as it is, and whatever
    they say, the runtime refuses it."""
    return name_of(target) if is_target(target) else target


def _pair(tag: Mapping[str, Any]) -> tuple[str, str]:
    """Key and value of a tag, whose names some services spell in other ways."""
    names = {name.lower().removeprefix("tag"): str(value) for name, value in tag.items()}
    return names.get("key", ""), names.get("value", "")


def tag_keys(params: Params) -> ConditionKeys:
    """`aws:RequestTag/x` and `aws:TagKeys` of a call that sets or removes tags."""
    tags = params.get("Tags") or params.get("tags") or {}
    removed = [*params.get("TagKeys", ()), *params.get("tagKeys", ())]
    if isinstance(tags, list):  # of tags with their values, or of the keys of tags to remove
        removed += [tag for tag in tags if isinstance(tag, str)]
        tags = [_pair(tag) for tag in tags if isinstance(tag, Mapping)]
    pairs = list(tags.items()) if isinstance(tags, Mapping) else tags
    names = [*(name for name, _ in pairs), *removed]
    found: dict[str, Sequence[str]] = {}
    for name, value in pairs:  # a key in two spellings has both values
        key = f"aws:requesttag/{name.lower()}"
        found[key] = (*found.get(key, ()), value)
    return {**found, "aws:tagkeys": names} if names else found


# -- the resources -----------------------------------------------------------------------------------------------------
def _anything(params: Params, place: AccessPlace) -> Sequence[str | None]:
    return ANY


def _unnamed(params: Params, place: AccessPlace) -> Sequence[str | None]:
    """Of something whose ARN the call does not tell."""
    return [None]


def _sagemaker(kind: str, member: str) -> Resources:
    """AWS has the names of SageMaker's resources in lower case in its ARNs."""
    return lambda params, place: [place.arn("sagemaker", f"{kind}/{str(params.get(member, '')).lower()}")]


def _both(*resources: Resources) -> Resources:
    return lambda params, place: [arn for one in resources for arn in one(params, place)]


def _tagged(params: Params, place: AccessPlace) -> Sequence[str | None]:
    return [sagemaker_arn(str(params.get("ResourceArn", "")))]


def _arn_in(member: str) -> Resources:
    return lambda params, place: [params.get(member)]


def _listed(service: str, kind: str, member: str) -> Resources:
    """The names in a list, or in one member. A call that names none may mean any."""

    def resources(params: Params, place: AccessPlace) -> Sequence[str | None]:
        named = params.get(member) or []
        names = named if isinstance(named, list) else [named]
        return [place.arn(service, f"{kind}:{name}") for name in names] or [None]

    return resources


def _log_group(params: Params, place: AccessPlace) -> Sequence[str | None]:
    identifier = params.get("logGroupName") or params.get("logGroupIdentifier")
    return [place.arn("logs", f"log-group:{log_group_name(identifier)}") if identifier else None]


def _log_stream(params: Params, place: AccessPlace) -> Sequence[str | None]:
    return [group and f"{group}:log-stream:{params.get('logStreamName', '')}" for group in _log_group(params, place)]


def _iam(kind: str, member: str) -> Resources:
    """A path in the call is that of something new. A call without a user's name means the caller."""

    def resources(params: Params, place: AccessPlace) -> Sequence[str | None]:
        name = params.get(member) or (place.user if kind == "user" else "")
        path = params.get("Path") or place.path_of(kind, name)
        return [f"arn:aws:iam::{place.account}:{kind}{path}{name}"] if name else [None]

    return resources


def _renamed(kind: str, member: str) -> Resources:
    """What gets another name or path, under its old ARN and its new one: the caller needs both."""

    def resources(params: Params, place: AccessPlace) -> Sequence[str | None]:
        old = params.get(member) or ""
        path, name = params.get("NewPath") or place.path_of(kind, old), params.get(f"New{member}") or old
        return [*_iam(kind, member)(params, place), f"arn:aws:iam::{place.account}:{kind}{path}{name}"]

    return resources


_MODEL, _CONFIG = _sagemaker("model", "ModelName"), _sagemaker("endpoint-config", "EndpointConfigName")
_ENDPOINT, _TRAINING = _sagemaker("endpoint", "EndpointName"), _sagemaker("training-job", "TrainingJobName")
_TRANSFORM, _EXPERIMENT = _sagemaker("transform-job", "TransformJobName"), _sagemaker("inference-experiment", "Name")
_ROLE, _USER, _POLICY = _iam("role", "RoleName"), _iam("user", "UserName"), _iam("policy", "PolicyName")
_IAM_GROUP = _iam("group", "GroupName")
_POLICY_ARN, _ALARM = _arn_in("PolicyArn"), _listed("cloudwatch", "alarm", "AlarmName")
_ALARMS = _listed("cloudwatch", "alarm", "AlarmNames")


# -- the condition keys ------------------------------------------------------------------------------------------------
def _at(params: Any, path: str) -> Any:
    """The member at a path such as `VpcConfig.Subnets`; None if there is none."""
    for part in path.split("."):
        params = params.get(part) if isinstance(params, Mapping) else None
    return params


def _members(**paths: str) -> Keys:
    def keys(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
        found = {key: _at(params, path) for key, path in paths.items()}
        return {key: value if isinstance(value, list) else [value] for key, value in found.items() if value is not None}

    return keys


def _model_arn(params: Params, place: AccessPlace) -> list[str]:
    return [str(arn) for arn in _MODEL(params, place)] if "ModelName" in params else []


def _of_variants(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
    variants = [*params.get("ProductionVariants", ()), *params.get("ShadowProductionVariants", ())]
    serverless = [one["ServerlessConfig"] for one in variants if "ServerlessConfig" in one]
    found = {
        "ModelArn": [arn for one in variants for arn in _model_arn(one, place)],
        "InstanceTypes": [one["InstanceType"] for one in variants if "InstanceType" in one],
        "ServerlessMaxConcurrency": [one["MaxConcurrency"] for one in serverless if "MaxConcurrency" in one],
        "ServerlessMemorySize": [one["MemorySizeInMB"] for one in serverless if "MemorySizeInMB" in one],
        "AcceleratorTypes": [one["AcceleratorType"] for one in variants if "AcceleratorType" in one],
        "VolumeKmsKey": [params["KmsKeyId"]] if "KmsKeyId" in params else [],
    }
    return {**_OF_MODEL(params, place), **{key: values for key, values in found.items() if values}}


_OF_MODEL = _members(
    NetworkIsolation="EnableNetworkIsolation",
    VpcSecurityGroupIds="VpcConfig.SecurityGroupIds",
    VpcSubnets="VpcConfig.Subnets",
)


def _same(*names: str) -> Keys:
    """Keys that have the names of the members that they tell of."""
    return _members(**{name: name for name in names})


_ALARM_ACTIONS = _members(AlarmActions="AlarmActions")
_SCALED = _members(**{"service-namespace": "ServiceNamespace", "scalable-dimension": "ScalableDimension"})


def _bounded(kind: str, member: str) -> Keys:
    """The boundary that a call gives to a role or user, or else the one that it has; and the policy to attach."""

    def keys(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
        boundary = params.get("PermissionsBoundary") or place.boundary_of(kind, params.get(member) or place.user)
        found = {"PermissionsBoundary": boundary, "PolicyARN": params.get("PolicyArn")}
        return {key: [value] for key, value in found.items() if value is not None}

    return keys


_ATTACHED = _members(PolicyARN="PolicyArn")
_OF_ROLE, _OF_USER = _bounded("role", "RoleName"), _bounded("user", "UserName")
_OF_TRAINING_JOB = _members(
    InstanceTypes="ResourceConfig.InstanceType",
    VolumeKmsKey="ResourceConfig.VolumeKmsKeyId",
    OutputKmsKey="OutputDataConfig.KmsKeyId",
    MaxRuntimeInSeconds="StoppingCondition.MaxRuntimeInSeconds",
    KeepAlivePeriod="ResourceConfig.KeepAlivePeriodInSeconds",
    InterContainerTrafficEncryption="EnableInterContainerTrafficEncryption",
    EnableRemoteDebug="RemoteDebugConfig.EnableRemoteDebug",
    NetworkIsolation="EnableNetworkIsolation",
    VpcSecurityGroupIds="VpcConfig.SecurityGroupIds",
    VpcSubnets="VpcConfig.Subnets",
)


_OF_CHANNEL = _members(
    FileSystemAccessMode="DataSource.FileSystemDataSource.FileSystemAccessMode",
    FileSystemDirectoryPath="DataSource.FileSystemDataSource.DirectoryPath",
    FileSystemId="DataSource.FileSystemDataSource.FileSystemId",
    FileSystemType="DataSource.FileSystemDataSource.FileSystemType",
)


def _of_training(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
    found: dict[str, Sequence[Any]] = dict(_OF_TRAINING_JOB(params, place))
    for channel in params.get("InputDataConfig", ()):
        for key, values in _OF_CHANNEL(channel, place).items():
            found[key] = (*found.get(key, ()), *values)
    return found


def _of_transform(params: Params, place: AccessPlace) -> Mapping[str, Sequence[Any]]:
    found = _members(
        InstanceTypes="TransformResources.InstanceType",
        VolumeKmsKey="TransformResources.VolumeKmsKeyId",
        OutputKmsKey="TransformOutput.KmsKeyId",
    )
    models = _model_arn(params, place)
    return {**found(params, place), **({"ModelArn": models} if models else {})}


def _texts(keys: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[str]]:
    return {
        key: [str(one).lower() if isinstance(one, bool) else str(one) for one in values] for key, values in keys.items()
    }


# -- the table ---------------------------------------------------------------------------------------------------------
def _rows(resources: Resources, *operations: str, **more: Any) -> dict[str, OperationRight]:
    return dict.fromkeys(operations, OperationRight(resources, **more))


RIGHTS: Mapping[str, Mapping[str, OperationRight]] = {
    "sagemaker": {
        **_rows(_MODEL, "CreateModel", keys=_OF_MODEL, passes=("ExecutionRoleArn",), tagged=True, always_passes=True),
        **_rows(_MODEL, "DescribeModel", "DeleteModel"),
        **_rows(_CONFIG, "CreateEndpointConfig", keys=_of_variants, passes=("ExecutionRoleArn",), tagged=True),
        **_rows(_CONFIG, "DescribeEndpointConfig", "DeleteEndpointConfig"),
        **_rows(_both(_ENDPOINT, _CONFIG), "CreateEndpoint", tagged=True),
        **_rows(_both(_ENDPOINT, _CONFIG), "UpdateEndpoint"),
        **_rows(_ENDPOINT, "DescribeEndpoint", "DeleteEndpoint", "UpdateEndpointWeightsAndCapacities"),
        **_rows(_TRAINING, "CreateTrainingJob", keys=_of_training, passes=("RoleArn",), tagged=True),
        **_rows(_TRAINING, "DescribeTrainingJob", "StopTrainingJob"),
        **_rows(_TRANSFORM, "CreateTransformJob", keys=_of_transform, tagged=True),
        **_rows(_TRANSFORM, "DescribeTransformJob", "StopTransformJob"),
        **_rows(_EXPERIMENT, "CreateInferenceExperiment", passes=("RoleArn",), tagged=True),
        **_rows(_EXPERIMENT, "DescribeInferenceExperiment", "UpdateInferenceExperiment", "DeleteInferenceExperiment"),
        **_rows(_EXPERIMENT, "StartInferenceExperiment", "StopInferenceExperiment"),
        **_rows(_tagged, "AddTags", "DeleteTags", "ListTags"),
        **_rows(_anything, "ListModels", "ListEndpointConfigs", "ListEndpoints", "ListInferenceExperiments"),
        **_rows(_anything, "ListTrainingJobs", "ListTransformJobs", "ListMonitoringSchedules"),
    },
    "iam": {
        **_rows(_ROLE, "CreateRole", "GetRole", "UpdateRole", "UpdateRoleDescription", keys=_OF_ROLE),
        **_rows(_ROLE, "UpdateAssumeRolePolicy", "DeleteRole", keys=_OF_ROLE),
        **_rows(_ROLE, "PutRolePermissionsBoundary", "DeleteRolePermissionsBoundary", keys=_OF_ROLE),
        **_rows(_ROLE, "PutRolePolicy", "DeleteRolePolicy", "AttachRolePolicy", "DetachRolePolicy", keys=_OF_ROLE),
        **_rows(_ROLE, "ListInstanceProfilesForRole", "TagRole", "UntagRole", "ListRoleTags"),
        **_rows(_ROLE, "GetRolePolicy", "ListRolePolicies", "ListAttachedRolePolicies"),
        **_rows(_USER, "CreateUser", keys=_OF_USER),
        **_rows(_USER, "PutUserPermissionsBoundary", "DeleteUserPermissionsBoundary", keys=_OF_USER),
        **_rows(_USER, "PutUserPolicy", "DeleteUserPolicy", "AttachUserPolicy", "DetachUserPolicy", keys=_OF_USER),
        **_rows(_USER, "GetUser", "DeleteUser", "TagUser", "UntagUser", "ListUserTags"),
        **_rows(_USER, "GetUserPolicy", "ListUserPolicies", "ListAttachedUserPolicies"),
        **_rows(_USER, "CreateAccessKey", "DeleteAccessKey", "UpdateAccessKey", "ListAccessKeys"),
        **_rows(_renamed("user", "UserName"), "UpdateUser"),
        **_rows(_USER, "ListGroupsForUser"),
        **_rows(_IAM_GROUP, "CreateGroup", "GetGroup", "DeleteGroup", "AddUserToGroup", "RemoveUserFromGroup"),
        **_rows(_IAM_GROUP, "PutGroupPolicy", "GetGroupPolicy", "DeleteGroupPolicy", "ListGroupPolicies"),
        **_rows(_IAM_GROUP, "AttachGroupPolicy", "DetachGroupPolicy", keys=_ATTACHED),
        **_rows(_IAM_GROUP, "ListAttachedGroupPolicies"),
        **_rows(_renamed("group", "GroupName"), "UpdateGroup"),
        **_rows(_POLICY, "CreatePolicy"),
        **_rows(_POLICY_ARN, "TagPolicy", "UntagPolicy", "ListPolicyTags"),
        **_rows(_POLICY_ARN, "GetPolicy", "DeletePolicy", "ListPolicyVersions", "GetPolicyVersion"),
        **_rows(_POLICY_ARN, "CreatePolicyVersion", "DeletePolicyVersion", "SetDefaultPolicyVersion"),
        **_rows(_POLICY_ARN, "ListEntitiesForPolicy"),
        **_rows(_arn_in("PolicySourceArn"), "SimulatePrincipalPolicy"),
        **_rows(_anything, "ListRoles", "ListUsers", "ListGroups", "ListPolicies", "GetAccountAuthorizationDetails"),
        **_rows(_anything, "SimulateCustomPolicy", "GetContextKeysForCustomPolicy"),
        **_rows(_unnamed, "CreateServiceLinkedRole", keys=_members(AWSServiceName="AWSServiceName")),
    },
    "sts": {
        # AssumeRole is decided by the role's trust policy: `sts` asks it.
        **_rows(_anything, "GetAccessKeyInfo"),
    },
    "cloudwatch": {
        **_rows(_anything, "PutMetricData", keys=_members(namespace="Namespace")),
        **_rows(_anything, "GetMetricData", "GetMetricStatistics", "ListMetrics"),
        **_rows(_ALARM, "PutMetricAlarm", keys=_ALARM_ACTIONS),
        **_rows(_ALARM, "SetAlarmState", "DescribeAlarmHistory"),
        **_rows(_ALARMS, "DeleteAlarms", "DescribeAlarms", "EnableAlarmActions", "DisableAlarmActions"),
        **_rows(_anything, "DescribeAlarmsForMetric"),
    },
    "application-autoscaling": {
        **_rows(_unnamed, "RegisterScalableTarget", "DeregisterScalableTarget", keys=_SCALED),
        **_rows(_unnamed, "PutScalingPolicy", "DeleteScalingPolicy", keys=_SCALED),
        **_rows(_unnamed, "PutScheduledAction", "DeleteScheduledAction", keys=_SCALED),
    },
    "logs": {
        **_rows(_log_group, "CreateLogGroup", "DeleteLogGroup", "PutRetentionPolicy", "DeleteRetentionPolicy"),
        **_rows(_log_group, "DescribeLogStreams", "FilterLogEvents"),
        **_rows(_log_group, "ListTagsLogGroup", "TagLogGroup", "UntagLogGroup"),
        **_rows(_log_stream, "GetLogEvents", "DeleteLogStream"),
    },
    "sns": _rows(_unnamed, "Subscribe", keys=_same("Protocol", "Endpoint")),
    "ssm": {
        **_rows(_unnamed, "PutParameter", keys=_same("Overwrite", "Policies")),
        **_rows(_unnamed, "GetParametersByPath", keys=_same("Recursive")),
    },
    "secretsmanager": {
        **_rows(_unnamed, "CreateSecret", keys=_same("Name", "Description", "ForceOverwriteReplicaSecret")),
        **_rows(_unnamed, "UpdateSecret", keys=_same("Description")),
        **_rows(_unnamed, "DeleteSecret", keys=_same("ForceDeleteWithoutRecovery", "RecoveryWindowInDays")),
        **_rows(_unnamed, "RotateSecret", keys=_same("RotateImmediately", "RotationLambdaARN")),
        **_rows(_unnamed, "PutResourcePolicy", keys=_same("BlockPublicPolicy")),
        **_rows(_unnamed, "ReplicateSecretToRegions", keys=_same("ForceOverwriteReplicaSecret")),
    },
}  # fmt: skip
"""What each operation needs, by service and operation. `needs_of` says what holds for one without a row."""

FREE = frozenset(("sts:GetCallerIdentity", "sts:GetSessionToken", "sts:AssumeRole"))
"""What needs no policy. AWS: "No permissions are required to perform this operation", even under an explicit deny."""
