"""The condition keys of AWS's service authorization reference, as one table: which of them a request has here, and why not.

It has every key of the services whose actions are asked for here, and the global ones. A test compares it with the
reference: https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple


class Presence(Enum):
    """Whether requests have a key."""

    SET = "has a value"
    """A request has it if it has what the key tells of, on the actions for which AWS lists the key."""
    ABSENT = "absent"
    """No request has it, as on AWS in an account without what the key tells of."""
    UNREAD = "not read"
    """AWS sets it, and nothing here reads its value: a policy that its absence would turn is refused."""


class ConditionKey(NamedTuple):
    """`name` is as AWS spells it. One that ends with a slash or a colon stands for all keys that begin so. `meaning` is
    the value that a request has; or why it has none."""

    name: str
    presence: Presence
    meaning: str

    @property
    def is_beginning(self) -> bool:
        return self.name.endswith(("/", ":"))


def _keys(service: str, presence: Presence, meanings: Mapping[str, str]) -> Iterator[ConditionKey]:
    return (ConditionKey(f"{service}:{name}", presence, meaning) for name, meaning in meanings.items())


def _alike(service: str, presence: Presence, meaning: str, *names: str) -> Iterator[ConditionKey]:
    return _keys(service, presence, dict.fromkeys(names, meaning))


SERVED = frozenset(
    (
        *("sagemaker", "s3", "iam", "sts", "logs", "cloudwatch", "application-autoscaling", "torpor"),
        *("ecr", "events", "kinesis", "kms", "secretsmanager", "sns", "sqs", "ssm"),  # by moto
    )
)
"""The services whose actions are asked for here, by the beginnings of their actions and keys."""

_MOTO = "moto answers this service, and this is not read from its calls"
_MEMBER = "the parameter of this name"
_TAGS_OF_THE_CALL = {
    "RequestTag/": "the value of a tag that the call gives",
    "TagKeys": "the keys of the tags that the call gives or removes",
}

# fmt: off
CONDITION_KEYS: tuple[ConditionKey, ...] = (
    # -- every service -----------------------------------------------------------------------------------------------------
    *_keys("aws", Presence.SET, {
        "CurrentTime": "the endpoint's clock, in ISO 8601",
        "EpochTime": "the endpoint's clock, in seconds since 1970",
        "MultiFactorAuthPresent": "`false` for temporary credentials: no second factor is known here",
        "PrincipalAccount": "the account",
        "PrincipalArn": "the caller's user, or the role of its session",
        "PrincipalIsAWSService": "`true` if a service acts by itself",
        "PrincipalServiceName": "the service that acts by itself",
        "PrincipalTag/": "the value of a tag of the user, the role or the session",
        "PrincipalType": "`Account`, `User`, `AssumedRole` or `Anonymous`",
        "Referer": "the header Referer",
        "RequestedRegion": "the endpoint's region",
        "ResourceAccount": "the account",
        "SecureTransport": "whether the connection has TLS",
        "SourceAccount": "in a trust policy, the account for which a service assumes the role",
        "SourceArn": "in a trust policy, the resource for which a service assumes the role",
        "SourceIp": "the address that the connection comes from",
        "TokenIssueTime": "when the temporary credentials were made",
        "UserAgent": "the header User-Agent",
        "ViaAWSService": "`false`: no service forwards requests here",
        "userid": "the caller's unique id",
        "username": "the user's name",
        "ResourceTag/": "the value of a tag of the resource",
        **_TAGS_OF_THE_CALL,
    }),
    *_alike("aws", Presence.ABSENT, "there is no service on the way", "CalledVia", "CalledViaFirst", "CalledViaLast"),
    *_alike("aws", Presence.ABSENT, "there is no organisation", "PrincipalOrgID", "PrincipalOrgPaths", "ResourceOrgID", "ResourceOrgPaths", "SourceOrgID", "SourceOrgPaths", "AssumedRoot"),
    *_alike("aws", Presence.ABSENT, "there is no VPC", "Ec2InstanceSourcePrivateIPv4", "Ec2InstanceSourceVpc", "SourceVpc", "SourceVpcArn", "SourceVpce", "VpceAccount", "VpceOrgID", "VpceOrgPaths", "VpcSourceIp"),
    *_alike("aws", Presence.ABSENT, "there is no second factor, and no identity of another provider", "MultiFactorAuthAge", "FederatedProvider", "SourceIdentity", "ChatbotSourceArn"),
    ConditionKey("aws:PrincipalServiceNamesList", Presence.ABSENT, "services act by one name"),
    # -- SageMaker ---------------------------------------------------------------------------------------------------------
    *_keys("sagemaker", Presence.SET, {
        "TargetModel": "the name of the target model, without the slash that AWS drops; on streams and asynchronous calls too, which take one here",
        "TargetContainerHostname": "the container that a call is for; not in AWS's reference, but in its guide on direct invocation",
        "AcceleratorTypes": "AcceleratorType of each variant",
        "EnableRemoteDebug": "RemoteDebugConfig.EnableRemoteDebug",
        "FileSystemAccessMode": "FileSystemAccessMode of each channel",
        "FileSystemDirectoryPath": "DirectoryPath of each channel",
        "FileSystemId": "FileSystemId of each channel",
        "FileSystemType": "FileSystemType of each channel",
        "InstanceTypes": "InstanceType of each variant, or of the job",
        "InterContainerTrafficEncryption": "EnableInterContainerTrafficEncryption",
        "KeepAlivePeriod": "ResourceConfig.KeepAlivePeriodInSeconds",
        "MaxRuntimeInSeconds": "StoppingCondition.MaxRuntimeInSeconds",
        "ModelArn": "the model of each variant, or of the job",
        "NetworkIsolation": "EnableNetworkIsolation",
        "OutputKmsKey": "KmsKeyId of the job's output",
        "ServerlessMaxConcurrency": "MaxConcurrency of each variant",
        "ServerlessMemorySize": "MemorySizeInMB of each variant",
        "TaggingAction": "the operation that gives tags to something new",
        "VolumeKmsKey": "KmsKeyId of the configuration, VolumeKmsKeyId of the job",
        "VpcSecurityGroupIds": "VpcConfig.SecurityGroupIds",
        "VpcSubnets": "VpcConfig.Subnets",
        "ResourceTag/": "the value of a tag of the resource",
    }),
    *_alike("sagemaker", Presence.ABSENT, "there is no hub of models", "DirectGatedModelAccess"),
    *_alike("sagemaker", Presence.ABSENT, "there are no model packages", "CurrentCustomerMetadataProperties/", "CurrentModelLifeCycleStage", "CurrentModelLifeCycleStageStatus", "CustomerMetadataProperties/", "CustomerMetadataPropertiesToRemove", "ModelApprovalStatus", "ModelLifeCycle:"),
    *_alike("sagemaker", Presence.ABSENT, "there is no Studio", "AppNetworkAccessType", "DomainId", "DomainSharingOutputKmsKey", "HomeEfsFileSystemKmsKey", "ImageArns", "ImageVersionArns", "OwnerUserProfileArn", "RemoteAccess", "SpaceSharingType", "StudioLifecycleConfigArns", "UserProfileName"),
    *_alike("sagemaker", Presence.ABSENT, "there are no notebook instances", "DirectInternetAccess", "MinimumInstanceMetadataServiceVersion", "RootAccess"),
    *_alike("sagemaker", Presence.ABSENT, "there are no feature groups", "FeatureGroupDisableGlueTableCreation", "FeatureGroupEnableOnlineStore", "FeatureGroupOfflineStoreConfig", "FeatureGroupOfflineStoreKmsKey", "FeatureGroupOfflineStoreS3Uri", "FeatureGroupOnlineStoreKmsKey"),
    *_alike("sagemaker", Presence.ABSENT, "there are no pipelines of SageMaker, no labelling and no Search", "PipelineVersionId", "SearchVisibilityCondition/", "WorkteamArn", "WorkteamType"),
    # -- S3 ----------------------------------------------------------------------------------------------------------------
    *_keys("s3", Presence.SET, {
        "authType": "`REST-HEADER`, `REST-QUERY-STRING` or `POST`",
        "signatureAge": "milliseconds since the request was signed",
        "signatureversion": "`AWS4-HMAC-SHA256`, or `AWS` for an old link or form",
        "TlsVersion": "`1.2` or `1.3`; none without TLS",
        "ResourceAccount": "the account",
        "delimiter": "the parameter of a listing",
        "max-keys": "the parameter of a listing",
        "prefix": "the parameter of a listing",
        "versionid": "the parameter versionId",
        "locationconstraint": "LocationConstraint of CreateBucket",
        "ExistingObjectTag/": "the value of a tag of the object",
        "ObjectCreationOperation": "`true` if the request makes an object; `false` for a part of an upload",
        "RequestObjectTag/": "the value of a tag that the request gives to an object",
        "RequestObjectTagKeys": "the keys of the tags that the request gives to an object",
    }),
    *_alike("s3", Presence.SET, "the header of this name", "if-match", "if-none-match", "x-amz-acl", "x-amz-bucket-namespace", "x-amz-content-sha256", "x-amz-copy-source", "x-amz-grant-full-control", "x-amz-grant-read", "x-amz-grant-read-acp", "x-amz-grant-write", "x-amz-grant-write-acp", "x-amz-metadata-directive", "x-amz-object-ownership", "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-server-side-encryption-customer-algorithm", "x-amz-storage-class", "x-amz-website-redirect-location"),
    *_alike("s3", Presence.SET, "the header of this name, with `x-amz-` before it", "object-lock-legal-hold", "object-lock-mode", "object-lock-retain-until-date"),
    *_alike("s3", Presence.ABSENT, "there are no access points and no access grants", "AccessGrantScope", "AccessGrantsInstanceArn", "AccessGrantsLocationScope", "AccessPointNetworkOrigin", "AccessPointTag/", "DataAccessPointAccount", "DataAccessPointArn"),
    *_alike("s3", Presence.ABSENT, "there are no jobs of batch operations, no inventories and no locks of objects", "ExistingJobOperation", "ExistingJobPriority", "InventoryAccessibleOptionalFields", "JobSuspendedCause", "RequestJobOperation", "RequestJobPriority", "object-lock-remaining-retention-days"),
    ConditionKey("s3:BucketTag/", Presence.ABSENT, "a bucket must let policies read its tags (PutBucketAbac), and none can here"),
    ConditionKey("s3:destinationRegion", Presence.ABSENT, "nothing is replicated"),
    ConditionKey("s3:isReplicationPauseRequest", Presence.UNREAD, "a replication's document is kept, and not read for it"),
    # -- IAM and STS -------------------------------------------------------------------------------------------------------
    *_keys("iam", Presence.SET, {
        "AWSServiceName": "AWSServiceName of CreateServiceLinkedRole",
        "PassedToService": "the service that will assume a role",
        "PermissionsBoundary": "the boundary that the call gives to a role or user, or else the one that it has",
        "PolicyARN": "the policy to attach or detach",
        "ResourceTag/": "the value of a tag of the user or role",
    }),
    ConditionKey("iam:AssociatedResourceArn", Presence.UNREAD, "which resource gets a role is not told"),
    *_alike("iam", Presence.ABSENT, "there are no second factors, delegations, service credentials and organisations", "DelegationDuration", "DelegationRequestOwner", "FIDO-FIPS-140-2-certification", "FIDO-FIPS-140-3-certification", "FIDO-certification", "NotificationChannel", "OrganizationsPolicyId", "RegisterSecurityKey", "ServiceSpecificCredentialAgeDays", "ServiceSpecificCredentialServiceName", "TemplateArn"),
    *_keys("sts", Presence.SET, {
        "ExternalId": "ExternalId of AssumeRole",
        "RoleSessionName": "RoleSessionName of AssumeRole",
    }),
    *_alike("sts", Presence.ABSENT, "AssumeRole refuses the parameter", "SourceIdentity", "TransitiveTagKeys"),
    *_alike("sts", Presence.ABSENT, "there are no identities of other providers, no bearer tokens and no other accounts", "AWSServiceName", "DurationSeconds", "IdentityTokenAudience", "RequestContext/", "RequestContextProviders", "SigningAlgorithm", "TaskPolicyArn"),
    # -- CloudWatch, Logs, Application Auto Scaling --------------------------------------------------------------------------
    *_keys("cloudwatch", Presence.SET, {
        "AlarmActions": "AlarmActions of PutMetricAlarm",
        "namespace": "Namespace of PutMetricData",
    }),
    *_alike("cloudwatch", Presence.ABSENT, "there are no Insight rules", "requestInsightRuleLogGroups", "requestManagedResourceARNs"),
    *_alike("logs", Presence.ABSENT, "there are no deliveries of logs", "DeliveryDestinationResourceArn", "LogGeneratingResourceArns"),
    *_keys("application-autoscaling", Presence.SET, {
        "scalable-dimension": "ScalableDimension",
        "service-namespace": "ServiceNamespace",
    }),
    # -- moto's services -----------------------------------------------------------------------------------------------------
    *_alike("ecr", Presence.UNREAD, _MOTO, "AccountSetting", "ResourceTag/"),
    *_alike("events", Presence.UNREAD, _MOTO, "EventBusArn", "ManagedBy", "TargetArn", "creatorAccount", "detail-type", "detail.eventTypeCode", "detail.service", "detail.userIdentity.principalId", "eventBusInvocation", "source"),
    *_alike("kinesis", Presence.UNREAD, _MOTO, "FisActionId", "FisInjectPercentage", "FisTargetArns"),
    *_alike("kms", Presence.UNREAD, _MOTO, "BypassPolicyLockoutSafetyCheck", "CallerAccount", "CustomerMasterKeySpec", "CustomerMasterKeyUsage", "DataKeyPairSpec", "EncryptionAlgorithm", "EncryptionContext:", "EncryptionContextKeys", "ExpirationModel", "GrantConstraintType", "GrantIsForAWSResource", "GrantOperations", "GranteePrincipal", "KeyAgreementAlgorithm", "KeyOrigin", "KeySpec", "KeyUsage", "MacAlgorithm", "MessageType", "MultiRegion", "MultiRegionKeyType", "PrimaryRegion", "ReEncryptOnSameKey", "RecipientAttestation:", "ReplicaRegion", "RequestAlias", "ResourceAliases", "RetiringPrincipal", "RotationPeriodInDays", "ScheduleKeyDeletionPendingWindowInDays", "SigningAlgorithm", "ValidTo", "ViaService", "WrappingAlgorithm", "WrappingKeySpec"),
    *_alike("secretsmanager", Presence.UNREAD, _MOTO, "AddReplicaRegions", "ExternalSecretRotationRoleArn", "KmsKeyArn", "KmsKeyId", "ModifyRotationRules", "ResourceTag/", "SecretId", "SecretPrimaryRegion", "Type", "VersionId", "VersionStage", "resource/"),
    *_alike("sns", Presence.SET, _MEMBER, "Endpoint", "Protocol"),
    *_alike("secretsmanager", Presence.SET, _MEMBER, "BlockPublicPolicy", "Description", "ForceDeleteWithoutRecovery", "ForceOverwriteReplicaSecret", "Name", "RecoveryWindowInDays", "RotateImmediately", "RotationLambdaARN"),
    *_alike("ssm", Presence.SET, _MEMBER, "Overwrite", "Policies", "Recursive"),
    *_alike("ssm", Presence.UNREAD, _MOTO, "AccessRequestId", "AutoApprove", "DocumentCategories", "DocumentType", "DocumentVersion", "InventoryTypeName", "SessionDocumentAccessCheck", "SourceInstanceARN", "SyncType", "resourceTag/"),
)
# fmt: on
"""Every key that AWS lists, a row a key."""

BY_NAME: Mapping[str, ConditionKey] = {key.name.lower(): key for key in CONDITION_KEYS}
_BEGINNINGS = tuple(name for name, key in BY_NAME.items() if key.is_beginning)


def condition_key(name: str) -> ConditionKey | None:
    """The row of a key, in lower case; None for one that AWS does not list for these services."""
    found = BY_NAME.get(name)
    if found is not None and not found.is_beginning:
        return found
    beginning = next((one for one in _BEGINNINGS if name.startswith(one) and len(name) > len(one)), None)
    return None if beginning is None else BY_NAME[beginning]
