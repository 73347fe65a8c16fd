"""The control plane's errors, one row each. Every fault of a caller is HTTP 400 here."""

from enum import Enum

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import ErrorKind


class Resource(Enum):
    """The resources of this API: the noun in AWS's texts, and the segment in their ARNs."""

    MODEL = ("model", "model")
    ENDPOINT_CONFIG = ("endpoint configuration", "endpoint-config")
    ENDPOINT = ("endpoint", "endpoint")
    COMPONENT = ("inference component", "inference-component")
    PACKAGE_GROUP = ("model package group", "model-package-group")
    PACKAGE = ("model package", "model-package")

    def __init__(self, noun: str, segment: str) -> None:
        self.noun = noun
        self.segment = segment

    def arn(self, call: Call, name: str) -> str:
        """The ARN, with the name in lower case. The resource itself keeps its case."""
        return f"arn:aws:sagemaker:{call.region}:{call.account}:{self.segment}/{name.lower()}"


# Clients match on these: botocore's endpoint_deleted waiter on the code of NOT_FOUND, SageMaker's SDK on "could not
# find" and "Cannot create already existing model". AWS puts ARNs in double quotes.
NOT_FOUND = ErrorKind("not found", "ValidationException", 400, 'Could not find {noun} "{arn}".')
EXISTS = ErrorKind("duplicate", "ValidationException", 400, 'Cannot create already existing {noun} "{arn}".')
IN_PROGRESS = ErrorKind(
    "change while in progress", "ValidationException", 400, 'Cannot update in-progress endpoint "{arn}".'
)
ONLY_DELETE = ErrorKind(
    "change of a failed endpoint",
    "ValidationException",
    400,
    'Cannot update endpoint "{arn}": its status is Failed, and a failed endpoint can only be deleted.',
)
INVALID = ErrorKind("parameter outside constraints", "ValidationException", 400)
NO_MODEL_DATA = ErrorKind(
    "model data that the execution role may not read",
    "ValidationException",
    400,
    'Could not access model data at {url}. Please ensure that the role "{role}" exists and that its trust relationship '
    'policy allows the action "sts:AssumeRole" for the service principal "sagemaker.amazonaws.com". Also ensure that '
    'the role has "s3:GetObject" permissions and that the object is located in {region}. If your Model uses multiple '
    'models or uncompressed models, please ensure that the role has "s3:ListBucket" permission.',
)
NOT_ASSUMED = ErrorKind(
    "a job's role that cannot be assumed",
    "ValidationException",
    400,
    "Could not assume role {role}. Please ensure that the role exists and allows principal 'sagemaker.amazonaws.com' "
    "to assume the role.",
)
GROUP_IN_USE = ErrorKind(
    "deletion of a group that has packages",
    "ConflictException",
    400,
    'Model package group "{arn}" has model packages: delete them first.',
)
NO_ENTITY = ErrorKind(
    "an entity of lineage that is not there", "ResourceNotFound", 400, 'Could not find {noun} "{arn}".'
)
NO_GROUP_POLICY = ErrorKind(
    "group without a policy",
    "ValidationException",
    400,
    'Cannot find resource policy of model package group "{arn}".',
)
# Terraform matches on "does not exist", "Cannot find Model Package Group" and "Cannot find resource policy".
NO_GROUP = ErrorKind("no such group", "ValidationException", 400, 'Model package group "{arn}" does not exist.')
NO_GROUP_OF_POLICY = ErrorKind(
    "policy of a group that is not there", "ValidationException", 400, 'Cannot find Model Package Group "{arn}".'
)
QUOTA = ErrorKind("quota", "ResourceLimitExceeded", 400)
