"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

_EMPTIED: Final = "A stream that is being written is emptied, and stays."
_WHOLE: Final = "Whole streams go, by their last line."

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateLogGroup": "For endpoints and training jobs; class and KMS key are ignored.",
    "DescribeLogGroups": "Those of endpoints and training jobs, and moto's own beside them.",
    "DeleteLogGroup": _EMPTIED,
    "DeleteLogStream": _EMPTIED,
    "DescribeLogStreams": "200 streams are kept per group.",
    "GetLogEvents": "A line's time is when it was first seen, to the second; empty lines are left out. A stream begins anew "
    "beyond 32 MiB. Tokens do not expire.",
    "FilterLogEvents": "Patterns of words only; JSON and regular expressions are refused. One call reads 8 MiB at most.",
    "PutRetentionPolicy": _WHOLE,
    "DeleteRetentionPolicy": _WHOLE,
}
