"""STS's errors, one row each."""

from torpor_endpoint.aws.errors import ErrorKind

BAD_ARN = ErrorKind("role ARN", "ValidationError", 400, "{arn} is invalid")
