"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

_BY_THE_MINUTE: Final = (
    "Keeps samples by the minute, so a shorter period is answered by the minute. Percentiles are exact to 1.1 %."
)
_ALARMS_ONLY: Final = "Takes alarms only."

DIFFERENCES: Final[Mapping[str, str]] = {
    "GetMetricStatistics": _BY_THE_MINUTE,
    "GetMetricData": f"{_BY_THE_MINUTE} Metric math has + - * /, SUM, AVG, MIN, MAX, FILL and METRICS. Labels come back "
    "as the caller sent them, also with `${...}`. AccountId is ignored.",
    "PutMetricData": "Accepts StorageResolution, and keeps samples by the minute. Ignores entities.",
    "PutMetricAlarm": "Refuses anomaly detection, PromQL and evaluation windows. A period below a minute is judged by whole "
    "minutes. An action is an SNS topic or a scaling policy, and runs on a change of state only.",
    "DescribeAlarms": "Lists metric alarms only.",
    "DescribeAlarmHistory": "Lists the last 100 entries of an alarm. They go when the alarm is deleted.",
    "SetAlarmState": "The true state returns within 10 seconds.",
    "TagResource": _ALARMS_ONLY,
    "UntagResource": _ALARMS_ONLY,
    "ListTagsForResource": _ALARMS_ONLY,
}
