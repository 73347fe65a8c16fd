"""The state machine of one rollout: what both fleets should be now, and what comes next. It reads no clock.

It is level-triggered, as the controller is: `targets` says what holds in a phase, whoever carries it out says when it
does (`settled`), and each look at the clock and at the alarms may end a wait, or the rollout (`looked`). So a control
that starts anew reads the record, carries out its targets, and goes on.

A rollout ends in the new fleet or in the old one. Only where the rollback cannot start the old instances again both
stay, which AWS calls UpdateRollbackFailed.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from math import inf
from typing import Final

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.rollouts.rollout_policy import EVERYTHING, NOTHING, RolloutPolicy, Share

REASON_MAX: Final = 1024
"""The longest FailureReason."""


class RolloutPhase(StrEnum):
    """What a rollout is doing."""

    PLANNED = "planned"  # UpdateEndpoint has stored it, and nothing was begun
    CREATING = "creating"  # the green instances of this step start
    ACTIVATING = "activating"  # the share of this step goes to the green fleet
    BAKING = "baking"  # the alarms are watched
    DELETING = "deleting"  # the blue instances that this step replaced end
    RESTORING = "restoring"  # rolled back: blue instances that have ended start again
    RETURNING = "returning"  # rolled back: the traffic goes back to the blue fleet
    REMOVING = "removing"  # rolled back: green instances end
    FINISHED = "finished"  # only the new fleet is left
    ROLLED_BACK = "rolled back"  # only the old fleet is left
    STUCK = "stuck"  # the rollback failed: both are left


class RolloutEvent(StrEnum):
    """What can happen to a rollout."""

    BEGUN = "begun"
    SETTLED = "settled"  # both fleets are as the targets say
    NEXT = "next step"  # settled or baked, and another step follows
    FAILED = "failed"  # an instance does not start, an alarm went off, or the time is over; the blue fleet is whole
    FAILED_ROLLING = "failed, rolling"  # the same in a rolling update: blue instances have ended
    BAKED = "baked"  # the wait of this step is over


BACK: Final = {RolloutEvent.FAILED: RolloutPhase.RETURNING, RolloutEvent.FAILED_ROLLING: RolloutPhase.RESTORING}

# A blue/green rollout has all green instances from the first step on: its next step begins with the traffic.
MOVES: Final[Mapping[RolloutPhase, Mapping[RolloutEvent, RolloutPhase]]] = {
    RolloutPhase.PLANNED: {RolloutEvent.BEGUN: RolloutPhase.CREATING, **BACK},
    RolloutPhase.CREATING: {RolloutEvent.SETTLED: RolloutPhase.ACTIVATING, **BACK},
    RolloutPhase.ACTIVATING: {RolloutEvent.SETTLED: RolloutPhase.BAKING, **BACK},
    RolloutPhase.BAKING: {
        RolloutEvent.NEXT: RolloutPhase.ACTIVATING,
        RolloutEvent.BAKED: RolloutPhase.DELETING,
        **BACK,
    },
    RolloutPhase.DELETING: {
        RolloutEvent.NEXT: RolloutPhase.CREATING,
        RolloutEvent.SETTLED: RolloutPhase.FINISHED,
        **BACK,
    },
    RolloutPhase.RESTORING: {
        RolloutEvent.SETTLED: RolloutPhase.RETURNING,
        RolloutEvent.FAILED_ROLLING: RolloutPhase.STUCK,
    },
    RolloutPhase.RETURNING: {RolloutEvent.SETTLED: RolloutPhase.REMOVING, RolloutEvent.FAILED: RolloutPhase.STUCK},
    RolloutPhase.REMOVING: {RolloutEvent.NEXT: RolloutPhase.RESTORING, RolloutEvent.SETTLED: RolloutPhase.ROLLED_BACK},
    RolloutPhase.FINISHED: {},
    RolloutPhase.ROLLED_BACK: {},
    RolloutPhase.STUCK: {},
}

ENDS: Final = frozenset({RolloutPhase.FINISHED, RolloutPhase.ROLLED_BACK, RolloutPhase.STUCK})
BACKWARD: Final = frozenset(
    {
        RolloutPhase.RESTORING,
        RolloutPhase.RETURNING,
        RolloutPhase.REMOVING,
        RolloutPhase.ROLLED_BACK,
        RolloutPhase.STUCK,
    }
)


@frozen
class FleetSizes:
    """One variant: the instances of its fleet before the rollout, and of its new fleet after it."""

    name: str
    blue: int
    green: int


@frozen
class FleetTarget:
    """What a phase asks for of one variant: instances that are ready, and the green fleet's share of the traffic."""

    blue: int
    green: int
    share: Share


@frozen
class Rollout:
    """Where a rollout stands, as the endpoint's record keeps it. Times are in epoch seconds of the endpoint's clock."""

    policy: RolloutPolicy
    phase: RolloutPhase = RolloutPhase.PLANNED
    fleets: tuple[FleetSizes, ...] = ()
    step: int = 0  # the one that is being taken, from 1
    active: int = 0  # the steps whose share is on the green fleet, as long as it goes forward
    back: int = 0  # the batches of the rollback until now, with the one that is being taken
    started_s: float = 0.0
    since_s: float = 0.0  # when the phase began
    reason: str | None = None  # why it is rolled back
    pace: float = 1.0  # how many times faster than real time its waits and its time limit pass
    narrow: bool = False  # there is no room for a batch of the rollback: it goes by batches of the update

    # -- what holds now --------------------------------------------------------------------------------------------
    @property
    def steps(self) -> int:
        return self.policy.steps(one.green for one in self.fleets)

    @property
    def ended(self) -> bool:
        return self.phase in ENDS

    @property
    def going_back(self) -> bool:
        return self.phase in BACKWARD

    @property
    def must_return(self) -> bool:
        """Whether a rollback has traffic to bring back to a blue fleet that should be whole: that of a rolling update
        was restored before."""
        return self.active > 0 and not self.policy.rolling

    @property
    def bake_s(self) -> float:
        """How long the traffic of this step bakes."""
        return self.policy.wait_after(self.step, self.steps)

    def targets(self) -> dict[str, FleetTarget]:
        """What should be of each variant in this phase."""
        return {one.name: self._target(one) for one in self.fleets}

    def due_in_s(self, now_s: float) -> float:
        """The seconds until `looked` may move the rollout by the time alone; infinity for never."""
        return max(0.0, min(self._baked_s, self._late_s) - now_s)

    # -- what happens ----------------------------------------------------------------------------------------------
    def begun(self, fleets: tuple[FleetSizes, ...], now_s: float, pace: float = 1.0) -> "Rollout":
        """The first step of a planned rollout of these fleets."""
        return replace(self._moved(RolloutEvent.BEGUN, now_s), fleets=fleets, step=1, started_s=now_s, pace=pace)

    def settled(self, now_s: float) -> "Rollout":
        """Both fleets are as the targets say. A wait goes on, and an end stays."""
        match self.phase:
            case RolloutPhase.CREATING:
                return replace(self._moved(RolloutEvent.SETTLED, now_s), active=self.step)
            case RolloutPhase.DELETING if self.step < self.steps:
                return replace(self._moved(RolloutEvent.NEXT, now_s), step=self.step + 1)
            case RolloutPhase.REMOVING if any(self._on(one, self.back) for one in self.fleets):
                return replace(self._moved(RolloutEvent.NEXT, now_s), back=self.back + 1)
            case (
                RolloutPhase.ACTIVATING
                | RolloutPhase.DELETING
                | RolloutPhase.RESTORING
                | RolloutPhase.RETURNING
                | RolloutPhase.REMOVING
            ):
                return self._moved(RolloutEvent.SETTLED, now_s)
            case _:
                return self

    def failed(self, reason: str, now_s: float) -> "Rollout":
        """An instance that the targets ask for cannot start, or what else makes the rollout impossible. Nothing comes
        of it where the rollout is over, or can only go on."""
        told = f"{self.reason} The rollback failed: {reason}"[:REASON_MAX]
        if self.phase is RolloutPhase.RESTORING:
            return replace(self._moved(RolloutEvent.FAILED_ROLLING, now_s), reason=told)
        if self.phase is RolloutPhase.RETURNING and self.must_return:
            return replace(self._moved(RolloutEvent.FAILED, now_s), reason=told)
        return self._turned_back(reason, now_s) if self._may_fail else self

    def narrowed(self) -> "Rollout":
        """The instances that the first batch of the rollback restores have no room beside those of the new fleet. One
        batch of the update had room: the rollback goes by such batches. Itself where it can be no smaller."""
        if self.phase is not RolloutPhase.RESTORING or self.back != 1:
            return self
        smaller = replace(self, narrow=True)
        return smaller if any(smaller._on(one, 1) > self._on(one, 1) for one in self.fleets) else self

    def abandoned(self, reason: str, now_s: float) -> "Rollout":
        """The new fleet cannot be served any more, and the old one is made whole at once: it goes back from whichever
        phase it is in. An end stays."""
        return self if self.ended or self.going_back else self._turned_back(reason, now_s)

    def looked(self, alarms: Collection[str], now_s: float) -> "Rollout":
        """A look at the clock, and at the alarms that are on. An alarm counts while the rollout bakes, of whichever
        fleet it is (AWS: "If alarms trip during any of the baking periods, 100% of the endpoint traffic rolls back").
        """
        if now_s < self.since_s:
            return self._set_back(now_s)
        if now_s >= self._late_s:
            limit_s = self.policy.execution_timeout_s
            return self.failed(f"The deployment exceeded MaximumExecutionTimeoutInSeconds: {limit_s:g}.", now_s)
        if self.phase is not RolloutPhase.BAKING:
            return self
        if names := [name for name in self.policy.alarms if name in alarms]:
            return self.failed(f"CloudWatch alarms went off while the deployment baked: {', '.join(names)}.", now_s)
        if now_s < self._baked_s:
            return self
        if self.policy.rolling or self.step >= self.steps:
            return self._moved(RolloutEvent.BAKED, now_s)
        return replace(self._moved(RolloutEvent.NEXT, now_s), step=self.step + 1, active=self.step + 1)

    def resumed(self, now_s: float) -> "Rollout":
        """After a restart of the control, which watched no alarm meanwhile: a step bakes from the beginning."""
        return replace(self, since_s=now_s)

    # -- times -----------------------------------------------------------------------------------------------------
    @property
    def _baked_s(self) -> float:
        return self.since_s + self.bake_s / self.pace if self.phase is RolloutPhase.BAKING else inf

    @property
    def _late_s(self) -> float:
        limit_s = self.policy.execution_timeout_s
        if limit_s is None or self.phase is RolloutPhase.PLANNED or not self._may_fail:
            return inf
        return self.started_s + limit_s / self.pace

    @property
    def _may_fail(self) -> bool:
        """Whether it may still go back: the blue fleet of the last step ends when all has gone well."""
        if self.phase is RolloutPhase.DELETING:
            return self.step < self.steps
        return not self.ended and not self.going_back

    # -- fleets ----------------------------------------------------------------------------------------------------
    def _target(self, fleet: FleetSizes) -> FleetTarget:
        if self.phase in (RolloutPhase.PLANNED, RolloutPhase.ROLLED_BACK):
            return FleetTarget(fleet.blue, 0, NOTHING)
        if self.policy.rolling:
            return self._back(fleet) if self.going_back else self._forth(fleet)
        if self.phase is RolloutPhase.STUCK:  # the blue fleet cannot serve
            return FleetTarget(fleet.blue, fleet.green, EVERYTHING)
        leaving = self.phase in (RolloutPhase.DELETING, RolloutPhase.FINISHED)
        share = NOTHING if self.going_back else self.policy.share(fleet.green, self.active)
        return FleetTarget(
            0 if leaving else fleet.blue, 0 if self.phase is RolloutPhase.REMOVING else fleet.green, share
        )

    def _forth(self, fleet: FleetSizes) -> FleetTarget:
        """A rolling update: the blue instances make up for what the green ones do not serve."""
        replaced = self.step if self.phase in (RolloutPhase.DELETING, RolloutPhase.FINISHED) else self.step - 1
        blue = _blue(fleet, self.policy.batches(fleet.green, replaced)) if replaced < self.steps else 0
        green = self.policy.batches(fleet.green, self.step)
        return FleetTarget(blue, green, self.policy.share(fleet.green, self.active))

    def _back(self, fleet: FleetSizes) -> FleetTarget:
        """The rollback of a rolling update, by batches of the blue fleet."""
        before, after = self._on(fleet, self.back - 1), self._on(fleet, self.back)
        returned = self.phase in (RolloutPhase.RETURNING, RolloutPhase.REMOVING)
        green = after if self.phase is RolloutPhase.REMOVING else before
        share = Share(after if returned else before, fleet.green) if fleet.green else NOTHING
        return FleetTarget(_blue(fleet, after), green, share)

    def _on(self, fleet: FleetSizes, back: int) -> int:
        """The green instances with traffic after so many batches of the rollback."""
        if not self.policy.rolling:
            return 0
        size = self.policy.rollback_size.instances(fleet.blue) * fleet.green // max(1, fleet.blue)
        if self.narrow:
            size = min(size, self.policy.batches(fleet.green, 1))
        return max(0, self.policy.batches(fleet.green, self.active) - back * max(1, size))

    def _turned_back(self, reason: str, now_s: float) -> "Rollout":
        event = RolloutEvent.FAILED_ROLLING if self.policy.rolling else RolloutEvent.FAILED
        return replace(self._moved(event, now_s), back=1, reason=reason[:REASON_MAX])

    def _set_back(self, now_s: float) -> "Rollout":
        """The clock was set back: the phase begins anew, and as much of the time limit is left as before."""
        return replace(self, since_s=now_s, started_s=now_s - (self.since_s - self.started_s))

    def _moved(self, event: RolloutEvent, now_s: float) -> "Rollout":
        return replace(self, phase=MOVES[self.phase][event], since_s=now_s)


def _blue(fleet: FleetSizes, green: int) -> int:
    """The blue instances beside so many green ones that have traffic."""
    return fleet.blue - fleet.blue * green // fleet.green if fleet.green else fleet.blue
