"""Lists the errors that only recommendations jobs have. All other errors are the control plane's."""

from torpor_account.aws.errors import ErrorKind

EXISTS = ErrorKind(
    "duplicate",
    "ResourceInUse",
    400,
    "Inference recommendations job names must be unique within an AWS account and region, and a job with this name "
    "already exists ({arn})",
)
NO_JOB = ErrorKind("not found", "ResourceNotFound", 400, "Could not find inference recommendations job {name}.")
