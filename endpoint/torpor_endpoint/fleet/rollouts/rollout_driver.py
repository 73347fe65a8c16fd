"""Drives the rollouts of endpoints: carries out what the state machine asks for, and tells it what came of it.

Everything that a restart must know is in the endpoint's record, before it is done. A rollout that bakes has no task:
the chore looks once a second whether an alarm is on or the time is over, and the controller then acts on the record.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from torpor_account.log_lines import about
from torpor_endpoint.core.lifecycle import EndpointEvent, after
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus
from torpor_endpoint.core.rollouts.rollout import Rollout, RolloutPhase
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.rollouts.rollout_watch import AlarmsOn, RolloutWatch, no_alarm
from torpor_endpoint.fleet.rollouts.two_fleets import TwoFleets
from torpor_endpoint.fleet.variant_change import DeploymentFailed

LOOK_S = 1.0

log = logging.getLogger(__name__)

Stored = Callable[[EndpointRecord, EndpointRecord], Awaitable[bool]]
"""Stores the endpoint in place of what it was. False if somebody else has changed its status meanwhile."""

Warm = Callable[[TwoFleets], Awaitable[None]]
"""Has the green fleet load what the blue one holds."""


async def left_cold(fleets: TwoFleets) -> None:
    """Load nothing before the first request."""


class RolloutDriver:
    """`epoch` gives epoch seconds; waits pass `pace` times faster. A step waits `leave_s` for instances that drain."""

    def __init__(
        self,
        epoch: Callable[[], float],
        stored: Stored,
        *,
        alarms_on: AlarmsOn = no_alarm,
        warm: Warm = left_cold,
        pace: float = 1.0,
        leave_s: float = 30.0,
    ) -> None:
        self._epoch = epoch
        self._stored = stored
        self._warm = warm
        self._pace = pace
        self._leave_s = leave_s
        self._watch = RolloutWatch(epoch, alarms_on)
        self._fleets: dict[str, TwoFleets] = {}

    async def drive(self, endpoint: EndpointRecord, deployment: Deployment) -> None:
        """Bring the endpoint's rollout forward until it waits, or has ended."""
        while (rollout := endpoint.rollout) is not None and not rollout.ended:
            moved = await self._moved(endpoint, rollout, deployment)
            if moved == rollout:
                self._watch.going[endpoint.name] = rollout
                return
            self._watch.going[endpoint.name] = moved
            was, endpoint = endpoint, self._record(endpoint, moved)
            if not await self._stored(was, endpoint):
                break
            self._tell(endpoint.name, moved)
        self.forget(endpoint.name)

    def resumed(self, endpoint: EndpointRecord, deployment: Deployment) -> EndpointRecord:
        """After a restart, in mid-rollout: both fleets serve again as the record says. The endpoint as its record
        should be from now on, which the caller stores."""
        rollout = endpoint.rollout
        assert rollout is not None, "only an endpoint with a rollout resumes it"
        now_s = self._epoch()
        try:
            fleets = deployment.resume(rollout, endpoint.pending_variants or (), endpoint.pending_told)
        except DeploymentFailed as failure:
            deployment.abandon(endpoint.pending_variants or ())
            moved = rollout.abandoned(f"The deployment cannot go on after a restart: {failure}", now_s)
        else:
            self._fleets[endpoint.name] = fleets
            fleets.carry_out(rollout.targets())
            moved = rollout.resumed(now_s)
        if rollout.ended:  # a rollback that failed: both fleets stay as far as they can
            return endpoint
        going = "is rolled back" if moved.going_back else "goes on"
        text = "endpoint %s: its rollout %s after a restart, at step %d of %d (%s)"
        log.warning(
            text, endpoint.name, going, moved.step, moved.steps, moved.phase, extra=about(endpoint=endpoint.name)
        )
        return self._record(endpoint, moved)

    def due(self) -> list[str]:
        """The endpoints whose rollouts have something to do now. Those that are at work look at their time limit."""
        self._watch.tick()
        return [name for name, rollout in self._watch.going.items() if self._look(name, rollout) != rollout]

    def quiet_s(self) -> float:
        """Seconds in which no rollout has something to do, if no alarm goes off and no instance fails."""
        return self._watch.quiet_s()

    @property
    def watched(self) -> bool:
        """Whether a rollout bakes that an alarm can end."""
        return self._watch.alarmed

    def forget(self, name: str) -> None:
        """The endpoint has no rollout any more."""
        self._watch.going.pop(name, None)
        self._fleets.pop(name, None)

    # -- one move --------------------------------------------------------------------------------------------------
    async def _moved(self, endpoint: EndpointRecord, rollout: Rollout, deployment: Deployment) -> Rollout:
        """The rollout after its phase was carried out; itself while it waits."""
        if rollout.phase is RolloutPhase.PLANNED:
            return await self._begun(endpoint, rollout, deployment)
        if rollout.phase is RolloutPhase.BAKING:
            return self._look(endpoint.name, rollout)
        if rollout.phase is RolloutPhase.DELETING and rollout.step >= rollout.steps:
            deployment.finish()
            await deployment.until_left(self._leave_s)
            return rollout.settled(self._epoch())
        fleets = self._fleets.get(endpoint.name)
        if fleets is None:  # a planned rollout that was rolled back
            return rollout.settled(self._epoch())
        if rollout.phase is RolloutPhase.REMOVING and all(not one.green for one in rollout.targets().values()):
            deployment.give_up()
            await deployment.until_left(self._leave_s)
            return rollout.settled(self._epoch())
        if rollout.phase is RolloutPhase.RETURNING and rollout.must_return:
            return await self._returned(rollout, fleets)
        fleets.carry_out(rollout.targets())
        return await self._settled(rollout, fleets)

    async def _returned(self, rollout: Rollout, fleets: TwoFleets) -> Rollout:
        """Give the blue fleet its traffic back, once it can serve: where it cannot, the green one has all of it."""
        try:
            await fleets.able_to_return(rollout.targets())
        except DeploymentFailed as failure:
            moved = rollout.failed(str(failure), self._epoch())
            fleets.carry_out(moved.targets())
            return moved
        fleets.carry_out(rollout.targets())
        return rollout.settled(self._epoch())

    async def _begun(self, endpoint: EndpointRecord, rollout: Rollout, deployment: Deployment) -> Rollout:
        try:
            fleets = await deployment.begin(endpoint.pending_variants or endpoint.variants, endpoint.pending_told)
        except DeploymentFailed as failure:
            return rollout.failed(str(failure), self._epoch())
        self._fleets[endpoint.name] = fleets
        fleets.tell_apart(endpoint.config_name)
        return rollout.begun(fleets.sizes, self._epoch(), self._pace)

    async def _settled(self, rollout: Rollout, fleets: TwoFleets) -> Rollout:
        """Wait for the fleets, for no longer than the rollout may take."""
        try:
            return await self._watch.settled(rollout, self._until_settled(rollout, fleets))
        except DeploymentFailed as failure:
            return rollout.failed(str(failure), self._epoch())

    async def _until_settled(self, rollout: Rollout, fleets: TwoFleets) -> None:
        match rollout.phase:
            case RolloutPhase.CREATING:
                await fleets.brought(rollout.targets())
                await self._warm(fleets)
            case RolloutPhase.RESTORING:
                await fleets.restored(rollout.targets())
            case RolloutPhase.DELETING | RolloutPhase.REMOVING:
                await fleets.left(self._leave_s)
            case _:
                pass  # the traffic goes elsewhere at once

    def _look(self, name: str, rollout: Rollout) -> Rollout:
        fleets = self._fleets.get(name) if rollout.phase is RolloutPhase.BAKING else None
        if fleets is not None and (fault := fleets.fault(rollout.targets())) is not None:
            return rollout.failed(fault, self._epoch())
        return self._watch.look(rollout)

    def _record(self, endpoint: EndpointRecord, moved: Rollout) -> EndpointRecord:
        with_rollout = replace(endpoint, rollout=moved, modified_s=self._epoch())
        match moved.phase:
            case RolloutPhase.FINISHED:
                return after(with_rollout, EndpointEvent.READY)
            case RolloutPhase.ROLLED_BACK:
                return after(with_rollout, EndpointEvent.ROLLED_BACK)
            case RolloutPhase.STUCK:
                return after(with_rollout, EndpointEvent.ROLLBACK_FAILED, moved.reason)
            case _ if moved.going_back and endpoint.status is EndpointStatus.UPDATING:
                return after(with_rollout, EndpointEvent.FAILED, moved.reason)
            case _:
                return with_rollout

    def _tell(self, name: str, moved: Rollout) -> None:
        text = "endpoint %s: its rollout is at step %d of %d (%s)%s"
        why = "" if moved.reason is None else f": {moved.reason}"
        log.info(text, name, moved.step, moved.steps, moved.phase, why, extra=about(endpoint=name))
