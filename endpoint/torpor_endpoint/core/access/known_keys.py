"""The condition keys that requests here can have, and a check of policies for those that none ever has.

A Deny whose condition needs a key that no request has would never deny, and an Allow that needs its absence would
always allow. AWS sets such a key, so the policy means something else there: it is refused, not ignored. The other way
round, a key that is not known gives nobody more than AWS does. Keys of services that are not here, and of identity
providers, come with no request here, on AWS either.
"""

from collections.abc import Iterator, Sequence

from torpor_endpoint.core.access.conditions import BadPolicy, ConditionTest
from torpor_endpoint.core.access.policies import ANYONE, AccessPolicy, AccessStatement


def _of(service: str, *names: str) -> Iterator[str]:
    return (f"{service}:{name}".lower() for name in names)


SERVED = frozenset(
    (
        *("sagemaker", "s3", "iam", "sts", "logs", "cloudwatch", "application-autoscaling", "torpor"),
        *("ecr", "events", "kinesis", "kms", "secretsmanager", "sns", "sqs", "ssm"),  # by moto
    )
)
"""The services whose actions are asked for here, by the beginnings of their actions and keys."""

SET = frozenset(
    (
        *_of("aws", "CurrentTime", "EpochTime", "MultiFactorAuthPresent", "PrincipalAccount", "PrincipalArn"),
        *_of("aws", "PrincipalIsAWSService", "PrincipalServiceName", "PrincipalType", "Referer", "RequestedRegion"),
        *_of("aws", "ResourceAccount", "SecureTransport", "SourceAccount", "SourceArn", "SourceIp", "TagKeys"),
        *_of("aws", "TokenIssueTime", "UserAgent", "userid", "username", "ViaAWSService"),
        *_of("iam", "AWSServiceName", "PassedToService", "PermissionsBoundary", "PolicyARN"),
        *_of("sts", "ExternalId", "RoleSessionName"),
        *_of("cloudwatch", "AlarmActions", "namespace"),
        *_of("application-autoscaling", "scalable-dimension", "service-namespace"),
        *_of("sagemaker", "AcceleratorTypes", "EnableRemoteDebug", "InstanceTypes", "InterContainerTrafficEncryption"),
        *_of("sagemaker", "KeepAlivePeriod", "MaxRuntimeInSeconds", "ModelArn", "NetworkIsolation", "OutputKmsKey"),
        *_of("sagemaker", "ServerlessMaxConcurrency", "ServerlessMemorySize", "TaggingAction", "TargetModel"),
        *_of("sagemaker", "TargetContainerHostname"),
        *_of("sagemaker", "VolumeKmsKey", "VpcSecurityGroupIds", "VpcSubnets"),
        *_of("s3", "authType", "delimiter", "if-match", "if-none-match", "max-keys", "object-lock-legal-hold"),
        *_of("s3", "object-lock-mode", "object-lock-retain-until-date", "ObjectCreationOperation", "prefix"),
        *_of("s3", "RequestObjectTagKeys", "ResourceAccount", "signatureAge", "signatureversion", "versionid"),
        *_of("s3", "x-amz-acl", "x-amz-content-sha256", "x-amz-copy-source", "x-amz-grant-full-control"),
        *_of("s3", "x-amz-grant-read", "x-amz-grant-read-acp", "x-amz-grant-write", "x-amz-grant-write-acp"),
        *_of("s3", "x-amz-metadata-directive", "x-amz-object-ownership", "x-amz-server-side-encryption"),
        *_of("s3", "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-storage-class"),
        *_of("s3", "x-amz-server-side-encryption-customer-algorithm", "x-amz-website-redirect-location"),
    )
)
"""The keys that a request has if it has what they tell of, in lower case."""

SET_BEGINNINGS = (
    *("aws:principaltag/", "aws:requesttag/", "aws:resourcetag/", "iam:resourcetag/", "sagemaker:resourcetag/"),
    *("s3:existingobjecttag/", "s3:requestobjecttag/"),
)

ABSENT = frozenset(
    (
        # networks, organisations and services on the way, of which there are none
        *_of("aws", "CalledVia", "CalledViaFirst", "CalledViaLast", "Ec2InstanceSourcePrivateIPv4"),
        *_of("aws", "Ec2InstanceSourceVpc", "PrincipalOrgID", "PrincipalOrgPaths", "PrincipalServiceNamesList"),
        *_of("aws", "ResourceOrgID", "ResourceOrgPaths", "SourceOrgID", "SourceOrgPaths", "SourceVpc", "SourceVpcArn"),
        *_of("aws", "SourceVpce", "VpceAccount", "VpceOrgID", "VpceOrgPaths", "VpcSourceIp"),
        # second factors, and identities of other providers
        *_of("aws", "AssumedRoot", "ChatbotSourceArn", "FederatedProvider", "MultiFactorAuthAge", "SourceIdentity"),
        *_of("sts", "SourceIdentity", "TransitiveTagKeys"),
        # ways to objects that the store lacks, and locks of objects
        *_of("s3", "AccessGrantsInstanceArn", "AccessPointNetworkOrigin", "DataAccessPointAccount"),
        *_of("s3", "DataAccessPointArn", "object-lock-remaining-retention-days"),
        # Studio, notebooks, labelling and stores of features
        *_of("sagemaker", "AppNetworkAccess", "DirectInternetAccess", "DomainSharingOutputKmsKey"),
        *_of("sagemaker", "FeatureGroupDisableGlueTableCreation", "FeatureGroupEnableOnlineStore"),
        *_of("sagemaker", "FeatureGroupOfflineStoreConfig", "FeatureGroupOfflineStoreKmsKey"),
        *_of("sagemaker", "FeatureGroupOfflineStoreS3Uri", "FeatureGroupOnlineStoreKmsKey"),
        *_of("sagemaker", "HomeEfsFileSystemKmsKey", "ImageArns", "ImageVersionArns"),
        *_of("sagemaker", "MinimumInstanceMetadataServiceVersion", "OwnerUserProfileArn", "RootAccess"),
        *_of("sagemaker", "SearchVisibilityCondition", "SpaceSharingType", "WorkteamArn", "WorkteamType"),
    )
)
"""The keys that no request has, as on AWS in an account without what they tell of."""


def check_condition_keys(policy: AccessPolicy) -> None:
    """Raises BadPolicy for a condition that its caller would win since no request has its key."""
    for statement in filter(_is_of_served, policy.statements):
        for condition in statement.conditions:
            if not is_known(condition.key) and _wins(condition, denies=statement.denies):
                effect = "never deny" if statement.denies else "always allow"
                raise BadPolicy(
                    f"statement {statement.number} would {effect}: "
                    f"no request has the condition key {condition.spelled} here"
                )


def is_known(key: str) -> bool:
    """Whether requests have the key here when they have it on AWS. It is in lower case."""
    if key.partition(":")[0] not in SERVED | {"aws"}:
        return True
    return key in SET or key in ABSENT or key.startswith(SET_BEGINNINGS)


def _is_of_served(statement: AccessStatement) -> bool:
    """Whether it may speak of an action that is asked for here."""
    actions = statement.actions
    services = {text.partition(":")[0].lower() for text in actions.texts}
    return actions.negated or not services.isdisjoint(SERVED | {ANYONE})


def _wins(condition: ConditionTest, *, denies: bool) -> bool:
    return condition.holds(_nothing) is not denies


def _nothing(key: str) -> Sequence[str] | None:
    return None
