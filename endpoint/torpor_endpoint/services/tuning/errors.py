"""Lists the errors that only tuning jobs have. All other errors are the control plane's."""

from torpor_account.aws.errors import ErrorKind

EXISTS = ErrorKind(
    "duplicate",
    "ResourceInUse",
    400,
    "Hyperparameter tuning job names must be unique within an AWS account and region, and a tuning job with this name "
    "already exists ({arn})",
)
NO_JOB = ErrorKind(
    "not found",
    "ResourceNotFound",
    400,
    "Amazon SageMaker can't find a tuning job with the name {name}.",
)
