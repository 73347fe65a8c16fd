"""Follows one scalable target: its data points, its cooldown, and the decision of its policies. It changes nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from torpor_account.cloudwatch.alarms.alarm_record import Alarm
from torpor_account.core.alarms import State
from torpor_account.metrics.registry import MetricRegistry
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.autoscaling import stepping
from torpor_endpoint.core.autoscaling.deciding import (
    Change,
    Cooldown,
    NoChange,
    Proposal,
    Reason,
    ScalableCapacity,
    base,
    decide,
    within,
)
from torpor_endpoint.core.autoscaling.delays import Delay, TimeScale
from torpor_endpoint.core.autoscaling.samples import DataPoint, LoadReading, Samples, VariantLoad
from torpor_endpoint.core.autoscaling.stepping import StepScaling
from torpor_endpoint.core.autoscaling.tracking import Causes, agrees_to_scale_in, proposal
from torpor_endpoint.services.autoscaling.acting import activity_texts
from torpor_endpoint.services.autoscaling.acting.change import CapacityChange
from torpor_endpoint.services.autoscaling.acting.step_alarms import Invocations
from torpor_endpoint.services.autoscaling.acting.tracked_metrics import measured, tracked, tracking
from torpor_endpoint.services.autoscaling.acting.tracking_alarms import HIGH, LOW, alarms_by_side, invoking
from torpor_endpoint.services.autoscaling.resources import CONCURRENCY
from torpor_endpoint.services.autoscaling.scaling_records import ScalableTarget, ScalingPolicy, TargetTracking


@frozen
class TargetRecords:
    """The stored records at one look: a target, its policies, and all alarms."""

    target: ScalableTarget
    policies: tuple[ScalingPolicy, ...]
    alarms: tuple[Alarm, ...]

    def tracking(self) -> Iterator[tuple[ScalingPolicy, TargetTracking]]:
        return ((policy, policy.target_tracking) for policy in self.policies if policy.target_tracking)

    def stepping(self, scale: TimeScale) -> Iterator[tuple[ScalingPolicy, StepScaling]]:
        for policy in self.policies:
            if scaling := policy.step_scaling:
                yield policy, replace(scaling, cooldown_s=scale.shortened(scaling.cooldown_s))


@dataclass
class SupervisedTarget:
    """The state of one target between looks.

    `running` is the change that is not over yet. `held` is why the last proposal changed nothing.
    """

    registry: MetricRegistry
    scale: TimeScale
    invocations: Invocations
    samples: dict[str, Samples] = field(default_factory=dict)  # by the policy's ARN
    cooldown: Cooldown | None = None
    rests_until_s: float = 0.0  # no decision before this, after a failed change
    new_bounds: bool = False  # the target's bounds have changed
    running: CapacityChange | None = None
    held: Reason | None = None

    def observe(self, records: TargetRecords, load: VariantLoad, now_s: float) -> None:
        """Add a reading of the load to each policy's samples. Samples of removed policies are dropped."""
        reading = LoadReading(now_s, load, load.provisioned if records.target.dimension == CONCURRENCY else load.ready)
        self.samples = {policy.arn: self._noted(policy.arn, policy_, reading) for policy, policy_ in records.tracking()}

    def points(self, arn: str, now_s: float) -> tuple[DataPoint, ...]:
        """The data points that have reached the policy's alarms."""
        return self.samples[arn].until(now_s - self.scale.of(Delay.LAG))

    def restart(self) -> None:
        """Drop all times after the clock was set back: they would last as long as the clock was wrong."""
        self.cooldown = None
        self.rests_until_s = 0.0
        if self.running is not None:
            self.running.cooldown = None

    def finish_change(self, now_s: float) -> None:
        """If the running change is over, take over its cooldown, or rest after its failure."""
        done = self.running
        if done is None or not done.over:
            return
        self.running = None
        self.cooldown = done.cooldown or self.cooldown
        self.rests_until_s = now_s + self.scale.of(Delay.RETRY) if done.failed else 0.0

    def decision(self, records: TargetRecords, load: VariantLoad, now_s: float) -> Change | NoChange | None:
        """What to do now. New bounds come first, and wait for no cooldown."""
        capacity = capacity_of(records.target, load)
        if self.new_bounds:
            self.new_bounds = False
            goes_to = self.running.change.to if self.running else capacity.current  # one that waits for its turn
            if change := within(replace(capacity, current=goes_to)):
                return change
        if now_s < self.rests_until_s:
            return None
        proposals = [*self._tracking(records, capacity.current, now_s), *self._stepping(records, capacity, now_s)]
        agreed = all(
            agrees_to_scale_in(tracking(policy, self.scale), self.points(of.arn, now_s))
            for of, policy in records.tracking()
        )
        return decide(capacity, proposals, self.cooldown, now_s, agreed)

    def _noted(self, arn: str, policy: TargetTracking, reading: LoadReading) -> Samples:
        period_s = self.scale.of(tracked(policy).period)
        return self.samples.get(arn, Samples()).noted(reading, period_s, measured(policy, self.registry, self.scale))

    def _tracking(self, records: TargetRecords, capacity: int, now_s: float) -> Iterator[Proposal]:
        for policy, config in records.tracking():
            points, causes = self.points(policy.arn, now_s), _causes(records.alarms, policy)
            if proposed := proposal(tracking(config, self.scale), points, capacity, causes):
                yield proposed

    def _stepping(self, records: TargetRecords, capacity: ScalableCapacity, now_s: float) -> Iterator[Proposal]:
        counted_from = base(capacity, self.cooldown, now_s)
        for policy, scaling in records.stepping(self.scale):
            for alarm in invoking(records.alarms, policy.arn):
                cause = activity_texts.caused(alarm.name, alarm.standing.state, policy.policy_name)
                breach = self.invocations.new(alarm, policy.arn, now_s)
                proposed = breach and stepping.proposal(scaling, breach, cause, capacity.current, counted_from)
                if proposed:
                    yield proposed


def capacity_of(target: ScalableTarget, load: VariantLoad) -> ScalableCapacity:
    return ScalableCapacity(
        load.provisioned if target.dimension == CONCURRENCY else load.desired,
        target.capacity_min,
        target.capacity_max,
        may_in=not target.suspended.scale_in,
        may_out=not target.suspended.scale_out,
    )


def _causes(alarms: Sequence[Alarm], policy: ScalingPolicy) -> Causes:
    sides = alarms_by_side(alarms, policy.arn)
    high, low = (sides[side].name if side in sides else side for side in (HIGH, LOW))
    return Causes(*(activity_texts.caused(name, State.ALARM, policy.policy_name) for name in (high, low)))
