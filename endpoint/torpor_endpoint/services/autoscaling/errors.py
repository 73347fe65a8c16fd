"""Application Auto Scaling's errors, one row each. Every fault of a caller is HTTP 400 here."""

from torpor_account.aws.errors import ErrorKind

TARGET = "service namespace: sagemaker, resource ID: {resource_id}, scalable dimension: {dimension}"
RESOURCE = {"ResourceName": "{arn}"}

# The first four texts are AWS's, and Terraform waits on the first.
UNREGISTERED = ErrorKind(
    "policy or schedule for an unregistered target",
    "ObjectNotFoundException",
    400,
    f"No scalable target registered for {TARGET}",
)
NO_TARGET = ErrorKind("no such target", "ObjectNotFoundException", 400, f"No scalable target found for {TARGET}")
NO_POLICY = ErrorKind(
    "no such policy", "ObjectNotFoundException", 400, f"No scaling policy found for {TARGET}, policy name: {{name}}"
)
NO_ACTION = ErrorKind(
    "no such schedule",
    "ObjectNotFoundException",
    400,
    f"No scheduled action found for {TARGET}, scheduled action name: {{name}}",
)
INVALID = ErrorKind("parameter outside constraints", "ValidationException", 400)
QUOTA = ErrorKind("quota", "LimitExceededException", 400, "A scalable target can have at most {limit} {what}.")
BAD_TOKEN = ErrorKind(
    "page token", "InvalidNextTokenException", 400, "The next token is not one that this request was given."
)
NOT_TAGGABLE = ErrorKind(
    "tags of a resource that does not exist",
    "ResourceNotFoundException",
    400,
    "Resource {arn} does not exist.",
    RESOURCE,
)
TAGS = ErrorKind("too many tags", "TooManyTagsException", 400, "A scalable target can have at most 50 tags.", RESOURCE)
