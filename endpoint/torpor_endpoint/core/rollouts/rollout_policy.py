"""How an endpoint is updated: in which steps, with which waits, and what ends the update. A DeploymentConfig as values.

The names are AWS's: the blue fleet is the old one, the green fleet the new one. Times are in seconds of the endpoint's
clock.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from torpor_container.frozen_class import frozen


class Strategy(StrEnum):
    """How the traffic goes to the green fleet. The first three are the types of a TrafficRoutingConfig."""

    ALL_AT_ONCE = "ALL_AT_ONCE"
    CANARY = "CANARY"
    LINEAR = "LINEAR"
    ROLLING = "ROLLING"


class SizeType(StrEnum):
    """The type of a CapacitySize."""

    INSTANCE_COUNT = "INSTANCE_COUNT"
    CAPACITY_PERCENT = "CAPACITY_PERCENT"


class Share(NamedTuple):
    """A share of the traffic, exactly: `part` of `whole`. `whole` is not 0."""

    part: int
    whole: int

    @property
    def fraction(self) -> float:
        return self.part / self.whole

    @property
    def is_all(self) -> bool:
        return self.part >= self.whole


NOTHING = Share(0, 1)
EVERYTHING = Share(1, 1)


@frozen
class CapacitySize:
    """A number of instances, or a percentage of a fleet."""

    type: SizeType
    value: int

    def instances(self, fleet: int) -> int:
        """The instances of a fleet of this size: at least one. AWS documents no rounding: it is down, for the size is
        the largest that a step may have."""
        exact = self.value if self.type is SizeType.INSTANCE_COUNT else self.value * fleet // 100
        return max(1, min(exact, fleet))

    def share(self, fleet: int, steps: int) -> Share:
        """The share of the traffic after so many steps of this size. A percentage is exact also where the fleet has
        too few instances for it."""
        if self.type is SizeType.CAPACITY_PERCENT:
            return Share(min(100, steps * self.value), 100)
        return Share(min(fleet, steps * self.value), fleet) if fleet else EVERYTHING


WHOLE = CapacitySize(SizeType.CAPACITY_PERCENT, 100)


@frozen
class RolloutPolicy:
    """A DeploymentConfig, checked. The default is AWS's for an update without one: all at once, without a wait."""

    strategy: Strategy = Strategy.ALL_AT_ONCE
    step_size: CapacitySize = WHOLE  # CanarySize, LinearStepSize or MaximumBatchSize
    wait_s: float = 0.0  # WaitIntervalInSeconds: after each step but the last; after each batch of a rolling update
    termination_wait_s: float = 0.0  # TerminationWaitInSeconds: after the last step, before the blue fleet ends
    execution_timeout_s: float | None = None  # MaximumExecutionTimeoutInSeconds
    rollback_size: CapacitySize = WHOLE  # RollbackMaximumBatchSize
    alarms: tuple[str, ...] = ()  # the names in AutoRollbackConfiguration

    @property
    def rolling(self) -> bool:
        return self.strategy is Strategy.ROLLING

    def steps(self, fleets: Iterable[int]) -> int:
        """The number of steps until all traffic is on green fleets of these sizes."""
        match self.strategy:
            case Strategy.ALL_AT_ONCE:
                return 1
            case Strategy.CANARY:
                return 2
            case Strategy.LINEAR | Strategy.ROLLING:
                return max((self._steps_of(size) for size in fleets), default=1)

    def share(self, green: int, steps: int) -> Share:
        """The share of a green fleet of this size once so many steps were taken. It never falls with the steps."""
        if not steps:
            return NOTHING
        match self.strategy:
            case Strategy.ALL_AT_ONCE:
                return EVERYTHING
            case Strategy.CANARY:
                return EVERYTHING if steps > 1 else self.step_size.share(green, 1)
            case Strategy.LINEAR:
                return self.step_size.share(green, steps)
            case Strategy.ROLLING:
                return Share(self.batches(green, steps), green) if green else EVERYTHING

    def batches(self, green: int, steps: int) -> int:
        """The green instances of so many batches of a rolling update."""
        return min(green, steps * self.step_size.instances(green))

    def wait_after(self, step: int, steps: int) -> float:
        """How long this step of so many bakes."""
        return self.termination_wait_s if step >= steps and not self.rolling else self.wait_s

    def _steps_of(self, green: int) -> int:
        steps = 1
        while not self.share(green, steps).is_all:
            steps += 1
        return steps
