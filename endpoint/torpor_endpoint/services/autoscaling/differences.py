"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

DIFFERENCES: Final[Mapping[str, str]] = {
    "RegisterScalableTarget": "Variants of SageMaker's endpoints only, no inference components.",
    "PutScalingPolicy": "Predictive scaling is refused. The alarms of target tracking stand as the policy sees its metric: "
    "changing or setting them changes nothing. A time scale shortens neither the periods of other alarms nor the minutes "
    "that sums of customized metrics are of.",
    "PutScheduledAction": "Cron expressions have five or six fields. What comes round while Torpor is not running is not "
    "made up for. Schedules are not shortened by a time scale.",
    "DescribeScalingActivities": "The last 1,000 since the start, where AWS keeps six weeks. No `Details`.",
}
