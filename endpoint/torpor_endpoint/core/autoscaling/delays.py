"""The table of delays of AWS's automatic scaling, and the factor that shortens them all. It does not wait."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from torpor_container.frozen_class import frozen

LOOK_MIN_S: Final = 1.0
"""The shortest interval between two looks, at any time scale, in seconds."""


class Delay(StrEnum):
    LOOK = "between two looks at a target"
    PERIOD = "one data point of a metric"
    SHORT_PERIOD = "one data point of a high-resolution metric"
    LAG = "from a data point to the alarm that it makes"
    RETRY = "from a change that failed to the next try"
    COOLDOWN = "after a scaling activity, where a policy does not say"


@frozen
class Delays:
    seconds: float
    source: str


DELAYS: Final[Mapping[Delay, Delays]] = {
    Delay.LOOK: Delays(10, "the shortest period of a CloudWatch alarm"),
    Delay.PERIOD: Delays(60, "target tracking evaluates metrics aggregated at a one-minute granularity (user guide)"),
    Delay.SHORT_PERIOD: Delays(10, "ConcurrentRequestsPerModel is emitted every 10 seconds (SageMaker guide)"),
    Delay.LAG: Delays(60, "one to two minutes on both alarms, the shorter taken (AWS blog, December 2024)"),
    Delay.RETRY: Delays(60, "an alarm that stays in its state repeats its action once a minute (CloudWatch guide)"),
    Delay.COOLDOWN: Delays(300, "the default value for SageMaker endpoint variants (API reference)"),
}


@frozen
class TimeScale:
    """The factor by which every delay is shorter than on AWS. Rates of traffic are not scaled."""

    factor: float = 1.0

    def __post_init__(self) -> None:
        if not self.factor > 0:
            raise ValueError(f"the time scale must be greater than 0, but is {self.factor}")

    def of(self, delay: Delay) -> float:
        return self.shortened(DELAYS[delay].seconds)

    def shortened(self, seconds: float) -> float:
        return seconds / self.factor

    @property
    def look_s(self) -> float:
        return max(LOOK_MIN_S, self.of(Delay.LOOK))
