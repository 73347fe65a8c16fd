"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

_BY_THE_MINUTE: Final = (
    "Samples are kept by the minute, so a shorter period is answered by the minute. Percentiles within 1.1 %."
)
_ALARMS_ONLY: Final = "Alarms only."

DIFFERENCES: Final[Mapping[str, str]] = {
    "GetMetricStatistics": _BY_THE_MINUTE,
    "GetMetricData": f"{_BY_THE_MINUTE} Metric math has + - * /, SUM, AVG, MIN, MAX, FILL and METRICS. Labels are given back "
    "as they were sent, `${...}` too; AccountId is ignored.",
    "PutMetricData": "StorageResolution is accepted, and kept by the minute; entities are ignored.",
    "PutMetricAlarm": "Anomaly detection, PromQL and evaluation windows are refused; a period below a minute is judged by its "
    "minutes. Actions: SNS topics; they are carried out on a change of state only.",
    "DescribeAlarms": "Metric alarms only.",
    "DescribeAlarmHistory": "The last 100 entries of an alarm, gone with it.",
    "SetAlarmState": "The true state is back within 10 seconds.",
    "TagResource": _ALARMS_ONLY,
    "UntagResource": _ALARMS_ONLY,
    "ListTagsForResource": _ALARMS_ONLY,
}
