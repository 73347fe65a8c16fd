"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

_EMPTIED: Final = "Empties a stream that an instance still writes, and keeps it."
_WHOLE: Final = "Deletes whole streams, by the time of their last line."

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateLogGroup": "Creates groups of endpoints and training jobs. Ignores the class and the KMS key.",
    "DescribeLogGroups": "Lists the groups of endpoints and training jobs, and moto's own.",
    "DeleteLogGroup": _EMPTIED,
    "DeleteLogStream": _EMPTIED,
    "DescribeLogStreams": "A group keeps 200 streams.",
    "GetLogEvents": "The time of a line is the second in which Torpor first read it. Empty lines are left out. A stream "
    "that grows beyond 32 MiB starts again from nothing. Tokens do not expire.",
    "FilterLogEvents": "Takes patterns of words, and refuses JSON and regular expressions. One call reads 8 MiB at most.",
    "PutRetentionPolicy": _WHOLE,
    "DeleteRetentionPolicy": _WHOLE,
}
