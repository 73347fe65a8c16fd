"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "RegisterScalableTarget": "Takes variants of SageMaker's endpoints and inference components only. Refuses the variant that components are on: "
    "its instances follow their copies.",
    "PutScalingPolicy": "Refuses predictive scaling. The alarms of target tracking show the policy's own view of its metric: "
    "a caller that changes or sets them changes nothing. A time scale shortens neither the periods of other alarms nor "
    "the minutes over which customized metrics are summed.",
    "PutScheduledAction": "Reads cron expressions of five or six fields. An action that falls due while Torpor does not run is "
    "skipped. A time scale does not shorten schedules.",
    "DescribeScalingActivities": "Lists the last 1,000 activities since the start, where AWS keeps six weeks. They have no `Details`.",
}
