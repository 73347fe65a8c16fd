"""Drives rolling updates of inference components: batch by batch, new copies beside old ones, with a share each.

`core.rollouts` says what holds in each phase, and the component's record keeps it, before anything is done. An update
that bakes has no task: `due` says whose wait is over, or whose alarm is on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from torpor_account.log_lines import about
from torpor_endpoint.core.components.component_lifecycle import ComponentEvent, component_after
from torpor_endpoint.core.components.component_records import ComponentRecord
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.rollouts.rollout import FleetSizes, FleetTarget, Rollout, RolloutPhase
from torpor_endpoint.fleet.components.component_deployment import ComponentDeployment, ComponentFailed, NoRoomForCopies
from torpor_endpoint.fleet.rollouts.rollout_watch import AlarmsOn, RolloutWatch

RESTORE_TRIES, RESTORE_PAUSE_S = 24, 5.0
"""A rollback tries for two minutes to start the old copies again."""

log = logging.getLogger(__name__)

Stored = Callable[[ComponentRecord, ComponentRecord], Awaitable[bool]]
"""Stores the component in place of what it was. False if somebody else has changed its status meanwhile."""


class ComponentRollouts:
    """`epoch` gives epoch seconds; waits pass `pace` times faster. A batch waits `leave_s` for copies that drain."""

    def __init__(
        self,
        epoch: Callable[[], float],
        stored: Stored,
        alarms_on: AlarmsOn,
        *,
        pace: float = 1.0,
        leave_s: float = 30.0,
    ) -> None:
        self._epoch = epoch
        self._stored = stored
        self._pace = pace
        self._leave_s = leave_s
        self._watch = RolloutWatch(epoch, alarms_on)

    async def drive(
        self, component: ComponentRecord, deployment: ComponentDeployment, blue: Variant, green: Variant
    ) -> None:
        """Bring the component's update forward until it waits, or has ended. `blue` are the copies before it, and
        `green` those after it."""
        while (rollout := component.rollout) is not None:
            moved = await self._moved(component, rollout, deployment, (blue, green))
            if moved == rollout:
                self._watch.going[component.name] = rollout
                return
            self._watch.going[component.name] = moved
            was, component = component, _record(component, moved)
            fields = about(endpoint=component.endpoint_name)
            text = "inference component %s: its update is at batch %d of %d (%s)"
            log.info(text, component.name, moved.step, moved.steps, moved.phase, extra=fields)
            if not await self._stored(was, component):
                break
        self.forget(component.name)

    def due(self) -> list[str]:
        """The components whose updates have something to do now. Those that are at work look at their time limit."""
        self._watch.tick()
        return [name for name, rollout in self._watch.going.items() if self._watch.look(rollout) != rollout]

    def quiet_s(self) -> float:
        """Seconds in which no update has something to do, if no alarm goes off; 0 while an alarm is watched."""
        return 0.0 if self._watch.alarmed else self._watch.quiet_s()

    def forget(self, name: str) -> None:
        """The component has no update any more."""
        self._watch.going.pop(name, None)

    # -- one move ----------------------------------------------------------------------------------------------------
    async def _moved(
        self,
        component: ComponentRecord,
        rollout: Rollout,
        deployment: ComponentDeployment,
        pair: tuple[Variant, Variant],
    ) -> Rollout:
        """The rollout after its phase was carried out; itself while it waits."""
        if rollout.phase is RolloutPhase.PLANNED:
            sizes = FleetSizes(component.name, component.copies, pair[1].instance_count)
            return rollout.begun((sizes,), self._epoch(), self._pace)
        target = rollout.targets()[component.name]
        try:
            deployment.two_generations(*pair, target.blue, target.green, target.share.fraction)
            if rollout.phase is RolloutPhase.BAKING:
                return self._watch.look(rollout)
            until_settled = _until_settled(rollout, deployment, pair, target, self._leave_s)
            moved = await self._watch.settled(rollout, until_settled)
        except ComponentFailed as failure:
            narrower = rollout.narrowed() if isinstance(failure, NoRoomForCopies) else rollout
            moved = rollout.failed(str(failure), self._epoch()) if narrower is rollout else narrower
        if moved.phase is RolloutPhase.STUCK:  # a component has no status between its two specifications
            stays = (
                RolloutPhase.FINISHED if deployment.has_more(pair[1].name, pair[0].name) else RolloutPhase.ROLLED_BACK
            )
            moved = replace(moved, phase=stays)
        if moved.phase is RolloutPhase.FINISHED:
            await deployment.one_generation(pair[1], pair[0].name)
        elif moved.phase is RolloutPhase.ROLLED_BACK:
            await deployment.one_generation(pair[0], pair[1].name)
        return moved


async def _until_settled(
    rollout: Rollout,
    deployment: ComponentDeployment,
    pair: tuple[Variant, Variant],
    target: FleetTarget,
    leave_s: float,
) -> None:
    """Returns once the copies are as the phase asks for. Raises ComponentFailed."""
    match rollout.phase:
        case RolloutPhase.CREATING:
            await deployment.ready(pair[1].name, target.green)
        case RolloutPhase.RESTORING:
            await _restored(rollout, deployment, pair, target)
        case RolloutPhase.DELETING | RolloutPhase.REMOVING:
            with suppress(TimeoutError):
                async with asyncio.timeout(leave_s):
                    await deployment.left((pair[0].name, pair[1].name))
        case _:
            pass  # requests go elsewhere at once


async def _restored(
    rollout: Rollout, deployment: ComponentDeployment, pair: tuple[Variant, Variant], target: FleetTarget
) -> None:
    """Wait for the old copies, which served before: what keeps them from starting now may pass. Raises
    ComponentFailed, at once where a smaller batch of them may have room."""
    for _ in range(RESTORE_TRIES):
        try:
            await deployment.ready(pair[0].name, target.blue)
        except ComponentFailed as failure:
            if isinstance(failure, NoRoomForCopies) and rollout.narrowed() is not rollout:
                raise
        else:
            return
        await asyncio.sleep(RESTORE_PAUSE_S)
        deployment.two_generations(*pair, target.blue, target.green, target.share.fraction)
    await deployment.ready(pair[0].name, target.blue)


def _record(component: ComponentRecord, moved: Rollout) -> ComponentRecord:
    with_rollout = replace(component, rollout=moved)
    match moved.phase:
        case RolloutPhase.FINISHED:
            finished = replace(with_rollout, generation=1 - component.generation)
            return replace(component_after(finished, ComponentEvent.READY), failure_reason=moved.reason)
        case RolloutPhase.ROLLED_BACK:
            return component_after(with_rollout, ComponentEvent.ROLLED_BACK, moved.reason)
        case _:
            return with_rollout
