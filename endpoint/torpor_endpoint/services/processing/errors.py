"""Lists the errors that only processing jobs have. All other errors are the control plane's."""

from torpor_account.aws.errors import ErrorKind

EXISTS = ErrorKind(
    "duplicate",
    "ResourceInUse",
    400,
    "Processing job names must be unique within an AWS account and region, and a processing job with this name already "
    "exists ({arn})",
)
NO_JOB = ErrorKind("not found", "ValidationException", 400, "Could not find requested job with name: {name}")
