"""STS's errors, one row each."""

from torpor_account.aws.errors import ErrorKind

BAD_ARN = ErrorKind("role ARN", "ValidationError", 400, "{arn} is invalid")
DENIED = ErrorKind("the caller may not", "AccessDenied", 403)
TOO_LONG = ErrorKind(
    "longer than the role's sessions may last",
    "ValidationError",
    400,
    "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
)
CHAINED = ErrorKind(
    "longer than an hour, by temporary credentials",
    "ValidationError",
    400,
    "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.",
)
BAD_POLICY = ErrorKind("session policy", "MalformedPolicyDocument", 400)
NO_POLICY = ErrorKind("unknown managed policy", "ValidationError", 400, "The policy {arn} is not known.")
NOT_APPLIED = ErrorKind(
    "a member that would have no effect",
    "ValidationError",
    400,
    "Torpor does not apply {member} where callers are verified (--auth): leave it out.",
)
DUPLICATE_TAG = ErrorKind(
    "two session tags with one key",
    "InvalidParameterValue",
    400,
    "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
)
RESERVED_TAG = ErrorKind(
    "a session tag with one of AWS's keys",
    "InvalidParameterValue",
    400,
    "The tag key {key} is not allowed: keys that begin with aws: are reserved.",
)
UNVERIFIED = ErrorKind(
    "an operation that cannot be verified",
    "AccessDenied",
    403,
    "Torpor does not implement {operation} for an endpoint that verifies its callers (--auth).",
)
