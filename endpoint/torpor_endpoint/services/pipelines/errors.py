"""Lists the errors that only pipelines have. All other errors are the control plane's."""

from torpor_account.aws.errors import ErrorKind

# SageMaker's SDK matches on "already exists".
EXISTS = ErrorKind(
    "duplicate",
    "ValidationException",
    400,
    "Pipeline names must be unique within an AWS account and region. Pipeline with name ({name}) already exists.",
)
NO_PIPELINE = ErrorKind("not found", "ResourceNotFound", 404, "Pipeline '{arn}' does not exist.")
NO_EXECUTION = ErrorKind("not found", "ResourceNotFound", 404, "Pipeline execution '{arn}' does not exist.")
CONFLICT = ErrorKind("conflict", "ConflictException", 400, "{text}")
