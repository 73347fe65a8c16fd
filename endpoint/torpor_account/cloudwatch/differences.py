"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

_BY_THE_MINUTE: Final = "Keeps samples by the minute, and those of high resolution by ten seconds for three hours: a shorter period is answered by what there is. Percentiles are exact to 1.1 %."
_ALARMS_ONLY: Final = "Takes alarms only."

DIFFERENCES: Final[Mapping[str, str]] = {
    "GetMetricStatistics": _BY_THE_MINUTE,
    "GetMetricData": f"{_BY_THE_MINUTE} Metric math has + - * /, comparisons, AND, OR, IF, FILL, METRICS, PERIOD, SUM, AVG, MIN, MAX, ABS, CEIL, FLOOR, LOG, LOG10, DIFF, RATE and RUNNING_SUM. Labels come back "
    "as the caller sent them, also with `${...}`. AccountId is ignored.",
    "PutMetricData": "With StorageResolution 1 keeps samples by ten seconds too; the first call for a metric decides. Ignores entities.",
    "PutMetricAlarm": "Refuses anomaly detection, PromQL and evaluation windows. A period below a minute is judged by whole "
    "minutes, unless the metric has a high resolution; those of 1 and 5 seconds as 10. An action is an SNS topic or a scaling policy, and runs on a change of state only.",
    "DescribeAlarms": "Lists metric alarms only.",
    "DescribeAlarmHistory": "Lists the last 100 entries of an alarm. They go when the alarm is deleted.",
    "SetAlarmState": "The true state returns within 10 seconds.",
    "TagResource": _ALARMS_ONLY,
    "UntagResource": _ALARMS_ONLY,
    "ListTagsForResource": _ALARMS_ONLY,
}
