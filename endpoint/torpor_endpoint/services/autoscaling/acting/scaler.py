"""Runs automatic scaling: looks at every target at intervals, and makes the changes that its policies require."""

import asyncio
from collections.abc import Awaitable, Callable

from torpor_account.metrics.registry import MetricRegistry
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.autoscaling.deciding import Change, NoChange
from torpor_endpoint.core.autoscaling.delays import TimeScale
from torpor_endpoint.core.autoscaling.samples import VariantLoad
from torpor_endpoint.services.autoscaling.acting import activity_texts
from torpor_endpoint.services.autoscaling.acting.alarm_states import state_changes
from torpor_endpoint.services.autoscaling.acting.change import Apply, CapacityChange, ChangeContext
from torpor_endpoint.services.autoscaling.acting.step_alarms import Invocations
from torpor_endpoint.services.autoscaling.acting.target_supervisor import SupervisedTarget, TargetRecords, capacity_of
from torpor_endpoint.services.autoscaling.acting.timetable import Timetable
from torpor_endpoint.services.autoscaling.context import Autoscaling

SET_BACK_S = 60.0
"""If the clock shows so much less than at the last look, it was set back."""

Samples = Callable[[str], VariantLoad | None]
"""Takes a resource id; returns None while the variant or inference component does not serve."""


@frozen
class World:
    """What a scaler reads and acts on."""

    samples: Samples
    registry: MetricRegistry
    apply: Apply


class Scaler:
    """Scales all targets, on the event loop, by the context's clock. `pause` sleeps for so many seconds."""

    def __init__(
        self,
        context: Autoscaling,
        world: World,
        scale: TimeScale,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._context = context
        self._world = world
        self._scale = scale
        self._pause = pause
        self._clock = context.clock
        self._change_context = ChangeContext(world.apply, context.activities, context.clock)
        self._timetable = Timetable(context, context.clock)
        self._supervised: dict[str, SupervisedTarget] = {}
        self._stepped = False  # whether a target has a step policy
        self._looked_s = 0.0

    async def run(self) -> None:
        """Look at every target at intervals, and at once when an operation wakes the scaler, for ever."""
        self._context.wakeup.listen()
        try:
            while True:
                await self.look()
                look_s = self._scale.look_s
                await self._context.wakeup.wait(self._pause(look_s - self._clock() % look_s))
        finally:
            await self.close()

    async def look(self) -> None:
        """Look at every target now."""
        now_s = self._clock()
        if now_s < self._looked_s - SET_BACK_S:
            self._timetable.restart()
            for supervised in self._supervised.values():
                supervised.restart()
        self._looked_s = now_s
        await self._timetable.look()
        new_bounds = self._context.new_bounds.take()  # before the targets, so that their new bounds are read
        every = await asyncio.to_thread(self._records)
        self._stepped = any(next(records.stepping(self._scale), None) for records in every)
        self._supervised = {records.target.name: self._supervision(records.target.name) for records in every}
        for records in every:
            supervised = self._supervised[records.target.name]
            supervised.new_bounds |= records.target.name in new_bounds
            await self._supervise(records, supervised)

    def quiet_s(self) -> float:
        """Seconds in which no target changes, by the targets of the last look: none has a policy or a change."""
        if any(supervised.samples or supervised.running for supervised in self._supervised.values()) or self._stepped:
            return 0.0
        return self._timetable.next_s - self._clock()

    @property
    def under_way(self) -> bool:
        """Whether a change of a target is being made."""
        return any(one.running is not None and one.running.under_way for one in self._supervised.values())

    async def close(self) -> None:
        """Begin no more changes. Running ones go on, but no activity records them."""
        running = [supervised.running for supervised in self._supervised.values() if supervised.running]
        await asyncio.gather(*(change.close() for change in running))

    # -- one target ------------------------------------------------------------------------------------------------
    async def _supervise(self, records: TargetRecords, supervised: SupervisedTarget) -> None:
        load = self._world.samples(records.target.resource_id)
        if load is None:
            return
        now_s = self._clock()
        await asyncio.to_thread(supervised.observe, records, load, now_s)  # reads metrics, as the decision does
        for policy, tracking in records.tracking():
            points = supervised.points(policy.arn, now_s)
            for name, standing in state_changes(records.alarms, policy.arn, tracking, points, now_s):
                await self._context.alarms.enter(name, standing)
        supervised.finish_change(now_s)  # right before the decision: a change may have ended during the writes
        if supervised.running is None or not supervised.running.under_way:
            decision = await asyncio.to_thread(supervised.decision, records, load, now_s)
            self._act(records, supervised, load, decision)

    def _act(
        self,
        records: TargetRecords,
        supervised: SupervisedTarget,
        load: VariantLoad,
        decision: Change | NoChange | None,
    ) -> None:
        waiting = supervised.running
        if isinstance(decision, Change) and (waiting is None or waiting.change.to != decision.to):
            if waiting is not None:
                waiting.override()
            supervised.held = None
            supervised.running = CapacityChange(records.target, decision, self._change_context)
        elif waiting is not None:
            waiting.start_try()
        elif isinstance(decision, NoChange) and decision.reason is not supervised.held:
            supervised.held = decision.reason
            capacity = capacity_of(records.target, load)
            self._context.activities.add(activity_texts.not_scaled(records.target, decision, capacity, self._clock()))

    # -- the records of a look -------------------------------------------------------------------------------------
    def _supervision(self, name: str) -> SupervisedTarget:
        if name in self._supervised:
            return self._supervised[name]
        return SupervisedTarget(self._world.registry, self._scale, Invocations(self._world.registry))

    def _records(self) -> list[TargetRecords]:
        targets = self._context.targets.all()
        if not targets:
            return []
        policies, alarms = self._context.policies.all(), self._context.alarms.all()
        return [
            TargetRecords(target, tuple(policy for policy in policies if policy.target == target.name), alarms)
            for target in targets
        ]
