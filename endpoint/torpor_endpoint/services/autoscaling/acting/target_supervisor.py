"""One scalable target from look to look: its data points, its cooldown, and what its policies want. It does nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from torpor_endpoint.core.alarms import State
from torpor_endpoint.core.autoscaling import stepping
from torpor_endpoint.core.autoscaling.deciding import (
    Change,
    Cooldown,
    NoChange,
    Reach,
    Reason,
    Wish,
    base,
    decide,
    within,
)
from torpor_endpoint.core.autoscaling.delays import Delay, TimeScale
from torpor_endpoint.core.autoscaling.samples import DataPoint, Samples, Seen, VariantLoad
from torpor_endpoint.core.autoscaling.stepping import StepScaling
from torpor_endpoint.core.autoscaling.tracking import Causes, agrees_to_scale_in, wish
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.services.autoscaling.acting import wording
from torpor_endpoint.services.autoscaling.acting.change import Undertaking
from torpor_endpoint.services.autoscaling.acting.stepped import Invocations
from torpor_endpoint.services.autoscaling.acting.tracked_metrics import measured, tracked, tracking
from torpor_endpoint.services.autoscaling.acting.tracking_alarms import HIGH, LOW, invoking, of_side
from torpor_endpoint.services.autoscaling.records import ScalableTarget, ScalingPolicy, TargetTracking
from torpor_endpoint.services.autoscaling.resources import CONCURRENCY
from torpor_endpoint.services.cloudwatch.alarms.records import Alarm


@dataclass(frozen=True)
class TargetRecords:
    """What is on the shelves at one look: a target's policies, and all alarms."""

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
class Supervised:
    """`undertaking` is the change that is being made; `held` why there was none when last somebody wanted one."""

    registry: MetricRegistry
    scale: TimeScale
    invocations: Invocations
    samples: dict[str, Samples] = field(default_factory=dict)  # by the policy's ARN
    cooldown: Cooldown | None = None
    rests_until_s: float = 0.0  # after a change that failed
    rebounded: bool = False  # its bounds are new
    undertaking: Undertaking | None = None
    held: Reason | None = None

    def saw(self, kept: TargetRecords, load: VariantLoad, now_s: float) -> None:
        """One look at the load. Data points of policies that are gone go."""
        seen = Seen(now_s, load, load.provisioned if kept.target.dimension == CONCURRENCY else load.ready)
        self.samples = {policy.arn: self._noted(policy.arn, policy_, seen) for policy, policy_ in kept.tracking()}

    def points(self, arn: str, now_s: float) -> tuple[DataPoint, ...]:
        """Those that have reached the policy's alarms."""
        return self.samples[arn].until(now_s - self.scale.of(Delay.LAG))

    def begin_anew(self) -> None:
        """The clock was set back: what ends lies ahead of it, and would last for as long as it was wrong."""
        self.cooldown = None
        self.rests_until_s = 0.0
        if self.undertaking is not None:
            self.undertaking.cooldown = None

    def settled(self, now_s: float) -> None:
        """Take note of a change that is over."""
        done = self.undertaking
        if done is None or not done.over:
            return
        self.undertaking = None
        self.cooldown = done.cooldown or self.cooldown
        self.rests_until_s = now_s + self.scale.of(Delay.RETRY) if done.failed else 0.0

    def decision(self, kept: TargetRecords, load: VariantLoad, now_s: float) -> Change | NoChange | None:
        """Bounds first: they wait for no cooldown."""
        reach = reach_of(kept.target, load)
        if self.rebounded:
            self.rebounded = False
            goes_to = self.undertaking.change.to if self.undertaking else reach.capacity  # one that waits for its turn
            if change := within(replace(reach, capacity=goes_to)):
                return change
        if now_s < self.rests_until_s:
            return None
        wishes = [*self._tracking(kept, reach.capacity, now_s), *self._stepping(kept, reach, now_s)]
        agreed = all(
            agrees_to_scale_in(tracking(policy, self.scale), self.points(of.arn, now_s))
            for of, policy in kept.tracking()
        )
        return decide(reach, wishes, self.cooldown, now_s, agreed)

    def _noted(self, arn: str, policy: TargetTracking, seen: Seen) -> Samples:
        period_s = self.scale.of(tracked(policy).period)
        return self.samples.get(arn, Samples()).noted(seen, period_s, measured(policy, self.registry, self.scale))

    def _tracking(self, kept: TargetRecords, capacity: int, now_s: float) -> Iterator[Wish]:
        for policy, config in kept.tracking():
            points, causes = self.points(policy.arn, now_s), _causes(kept.alarms, policy)
            if wanted := wish(tracking(config, self.scale), points, capacity, causes):
                yield wanted

    def _stepping(self, kept: TargetRecords, reach: Reach, now_s: float) -> Iterator[Wish]:
        counted_from = base(reach, self.cooldown, now_s)
        for policy, scaling in kept.stepping(self.scale):
            for alarm in invoking(kept.alarms, policy.arn):
                cause = wording.caused(alarm.name, alarm.standing.state, policy.policy_name)
                breach = self.invocations.new(alarm, policy.arn, now_s)
                wanted = breach and stepping.wish(scaling, breach, cause, reach.capacity, counted_from)
                if wanted:
                    yield wanted


def reach_of(target: ScalableTarget, load: VariantLoad) -> Reach:
    return Reach(
        load.provisioned if target.dimension == CONCURRENCY else load.wanted,
        target.capacity_min,
        target.capacity_max,
        may_in=not target.suspended.scale_in,
        may_out=not target.suspended.scale_out,
    )


def _causes(alarms: Sequence[Alarm], policy: ScalingPolicy) -> Causes:
    sides = of_side(alarms, policy.arn)
    high, low = (sides[side].name if side in sides else side for side in (HIGH, LOW))
    return Causes(*(wording.caused(name, State.ALARM, policy.policy_name) for name in (high, low)))
