"""Lists the errors that only training jobs have. All other errors are the control plane's."""

from torpor_account.aws.errors import ErrorKind

EXISTS = ErrorKind(
    "duplicate",
    "ResourceInUse",
    400,
    "Training job names must be unique within an AWS account and region, and a training job with this name already "
    "exists ({arn})",
)
NO_JOB = ErrorKind("not found", "ValidationException", 400, "Requested resource not found.")
