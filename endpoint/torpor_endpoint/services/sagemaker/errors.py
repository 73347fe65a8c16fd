"""The control plane's errors: one table of codes, statuses and texts. Every fault of a caller is HTTP 400 here."""

from enum import Enum, StrEnum

from torpor_endpoint.aws.calls import Call
from torpor_endpoint.aws.errors import AwsError


class Resource(Enum):
    """What this API creates: the noun in AWS's texts, and the segment in its ARNs."""

    MODEL = ("model", "model")
    ENDPOINT_CONFIG = ("endpoint configuration", "endpoint-config")
    ENDPOINT = ("endpoint", "endpoint")

    def __init__(self, noun: str, segment: str) -> None:
        self.noun = noun
        self.segment = segment

    def arn(self, call: Call, name: str) -> str:
        """An ARN carries the lower-cased name; the resource itself keeps its case."""
        return f"arn:aws:sagemaker:{call.region}:{call.account}:{self.segment}/{name.lower()}"


class Trouble(StrEnum):
    NOT_FOUND = "not found"
    EXISTS = "duplicate"
    IN_PROGRESS = "change while in progress"
    ONLY_DELETE = "change of a failed endpoint"
    INVALID = "parameter outside constraints"
    QUOTA = "quota"


# Clients match on these: botocore's endpoint_deleted waiter on the code of NOT_FOUND, SageMaker's SDK on "could not
# find" and "Cannot create already existing model". AWS puts ARNs in double quotes.
ERRORS: dict[Trouble, tuple[str, int, str]] = {
    Trouble.NOT_FOUND: ("ValidationException", 400, 'Could not find {noun} "{arn}".'),
    Trouble.EXISTS: ("ValidationException", 400, 'Cannot create already existing {noun} "{arn}".'),
    Trouble.IN_PROGRESS: ("ValidationException", 400, 'Cannot update in-progress endpoint "{arn}".'),
    Trouble.ONLY_DELETE: (
        "ValidationException",
        400,
        'Cannot update endpoint "{arn}": its status is Failed, and a failed endpoint can only be deleted.',
    ),
    Trouble.INVALID: ("ValidationException", 400, "{message}"),
    Trouble.QUOTA: ("ResourceLimitExceeded", 400, "{message}"),
}


def error(trouble: Trouble, **fields: str) -> AwsError:
    code, status, text = ERRORS[trouble]
    return AwsError(code, status, text.format(**fields))


def not_found(resource: Resource, arn: str) -> AwsError:
    return error(Trouble.NOT_FOUND, noun=resource.noun, arn=arn)


def exists(resource: Resource, arn: str) -> AwsError:
    return error(Trouble.EXISTS, noun=resource.noun, arn=arn)


def in_progress(arn: str) -> AwsError:
    return error(Trouble.IN_PROGRESS, arn=arn)


def invalid(message: str) -> AwsError:
    return error(Trouble.INVALID, message=message)
