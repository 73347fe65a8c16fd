"""CloudWatch's errors, one row each, with the texts that its callers match."""

from torpor_account.aws.errors import ErrorKind

INVALID_VALUE = ErrorKind(
    "value of a parameter", "InvalidParameterValue", 400, "The value {value} for parameter {parameter} is invalid."
)
OUTSIDE = ErrorKind(
    "value outside the accepted range",
    "InvalidParameterValue",
    400,
    "The value {value} for parameter {parameter} is invalid. {why}",
)
UNTIMELY = ErrorKind(
    "sample too old or too far in the future",
    "InvalidParameterValue",
    400,
    "The parameter {parameter} is out of range. The timestamp must be within the past two weeks and the next two "
    "hours.",
)
TAGS = ErrorKind("too many tags", "InvalidParameterValue", 400, "A resource has at most {limit} tags.")
COMBINATION = ErrorKind("parameters that exclude each other", "InvalidParameterCombination", 400)
BACKWARDS = ErrorKind(
    "end before start",
    "InvalidParameterCombination",
    400,
    "The parameter StartTime must be less than the parameter EndTime.",
)
TOO_MANY_DATAPOINTS = ErrorKind(
    "too many datapoints",
    "InvalidParameterCombination",
    400,
    "You have requested up to {asked:,} datapoints, which exceeds the limit of {limit:,}. You may reduce the "
    "datapoints requested by increasing Period, or decreasing the time range.",
)
MISSING = ErrorKind("parameter missing", "MissingParameter", 400)
INVALID = ErrorKind("query or alarm outside constraints", "ValidationError", 400)
"""Every fault of a query of GetMetricData, and most faults of an alarm."""
BAD_TOKEN = ErrorKind("page token", "InvalidNextToken", 400, "The next token specified is invalid.")
QUOTA = ErrorKind("quota", "LimitExceeded", 400, "The maximum number of alarms, {limit}, was reached.")
BAD_FORMAT = ErrorKind("state data that is not JSON", "InvalidFormat", 400, "StateReasonData must be JSON.")
NO_ALARM = ErrorKind("no such alarm", "ResourceNotFound", 404, "The alarm {name} does not exist.")
NOT_TAGGABLE = ErrorKind(
    "tags of an alarm that does not exist", "ResourceNotFoundException", 404, "There is no alarm {arn}."
)
