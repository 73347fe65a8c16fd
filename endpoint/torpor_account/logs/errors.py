"""The errors of CloudWatch Logs, one row each, with its texts."""

from torpor_account.aws.errors import ErrorKind

NO_GROUP = ErrorKind("no such group", "ResourceNotFoundException", 400, "The specified log group does not exist.")
NO_STREAM = ErrorKind("no such stream", "ResourceNotFoundException", 400, "The specified log stream does not exist.")
EXISTS = ErrorKind("duplicate", "ResourceAlreadyExistsException", 400, "The specified log group already exists")
TAGS = ErrorKind(
    "too many tags",
    "TooManyTagsException",
    400,
    "A resource has at most {limit} tags.",
    {"resourceName": "{arn}"},
)
INVALID = ErrorKind("parameter outside constraints", "InvalidParameterException", 400)
BAD_TOKEN = ErrorKind("page token", "InvalidParameterException", 400, "The specified nextToken is invalid.")
