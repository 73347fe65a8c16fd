"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

_KEPT: Final = "Kept; nothing acts on it yet."

DIFFERENCES: Final[Mapping[str, str]] = {
    "RegisterScalableTarget": "Variants of SageMaker's endpoints only. The capacity is not moved into the range.",
    "PutScalingPolicy": f"{_KEPT} No alarms are made for it. Predictive scaling is refused.",
    "PutScheduledAction": f"{_KEPT} Cron expressions have five or six fields.",
    "DescribeScalingActivities": "Empty as long as nothing acts.",
}
