"""The chore that scales: it looks at every target now and then, and has what its policies want carried out."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from torpor_endpoint.core.autoscaling.deciding import Change, NoChange
from torpor_endpoint.core.autoscaling.delays import TimeScale
from torpor_endpoint.core.autoscaling.samples import VariantLoad
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.services.autoscaling.acting import wording
from torpor_endpoint.services.autoscaling.acting.change import Apply, Means, Undertaking
from torpor_endpoint.services.autoscaling.acting.standing import moved
from torpor_endpoint.services.autoscaling.acting.stepped import Invocations
from torpor_endpoint.services.autoscaling.acting.target_supervisor import TargetRecords, Tended, reach_of
from torpor_endpoint.services.autoscaling.acting.timetable import Timetable
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.autoscaling.resources import VARIANT

SET_BACK_S = 60.0
"""A clock that shows so much less than at the last look was set back."""

Samples = Callable[[str, str], VariantLoad | None]
"""Endpoint and variant in; None while the variant does not serve."""


@dataclass(frozen=True)
class World:
    """What a scaler looks at and acts on."""

    samples: Samples
    registry: MetricRegistry
    apply: Apply


class Scaler:
    """Runs on the event loop. The context's clock is the scaler's; `pause` sleeps for so many seconds."""

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
        self._means = Means(world.apply, context.activities, context.clock)
        self._timetable = Timetable(context, context.clock)
        self._tended: dict[str, Tended] = {}
        self._looked_s = 0.0

    async def run(self) -> None:
        """Look at every target at its pace, and as soon as there is something to do, for ever."""
        self._context.bell.listen()
        try:
            while True:
                await self.look()
                look_s = self._scale.look_s
                await self._context.bell.heard(self._pause(look_s - self._clock() % look_s))
        finally:
            await self.close()

    async def look(self) -> None:
        now_s = self._clock()
        if now_s < self._looked_s - SET_BACK_S:
            self._timetable.begin_anew()
            for tended in self._tended.values():
                tended.begin_anew()
        self._looked_s = now_s
        await self._timetable.look()
        rebounded = self._context.rebounded.take()  # first: of those the new bounds are read now
        every = await asyncio.to_thread(self._kept)
        self._tended = {kept.target.name: self._tending(kept.target.name) for kept in every}
        for kept in every:
            tended = self._tended[kept.target.name]
            tended.rebounded |= kept.target.name in rebounded
            await self._tend(kept, tended)

    async def close(self) -> None:
        """Begin nothing more. What is being done goes on without anybody who tells of it."""
        doing = [tended.undertaking for tended in self._tended.values() if tended.undertaking]
        await asyncio.gather(*(undertaking.close() for undertaking in doing))

    # -- one target ------------------------------------------------------------------------------------------------
    async def _tend(self, kept: TargetRecords, tended: Tended) -> None:
        named = VARIANT.fullmatch(kept.target.resource_id)
        load = self._world.samples(named["endpoint"], named["variant"]) if named else None
        if load is None:
            return
        now_s = self._clock()
        await asyncio.to_thread(tended.saw, kept, load, now_s)  # reads metrics, as the decision does
        for policy, tracking in kept.tracking():
            points = tended.points(policy.arn, now_s)
            for name, standing in moved(kept.alarms, policy.arn, tracking, points, now_s):
                await self._context.alarms.enter(name, standing)
        tended.settled(now_s)  # right before it counts: a change may have ended while an alarm was entered
        if tended.undertaking is None or not tended.undertaking.under_way:
            decision = await asyncio.to_thread(tended.decision, kept, load, now_s)
            self._act(kept, tended, load, decision)

    def _act(self, kept: TargetRecords, tended: Tended, load: VariantLoad, decision: Change | NoChange | None) -> None:
        waiting = tended.undertaking
        if isinstance(decision, Change) and (waiting is None or waiting.change.to != decision.to):
            if waiting is not None:
                waiting.overridden()
            tended.held = None
            tended.undertaking = Undertaking(kept.target, decision, self._means)
        elif waiting is not None:
            waiting.tried()
        elif isinstance(decision, NoChange) and decision.reason is not tended.held:
            tended.held = decision.reason
            reach = reach_of(kept.target, load)
            self._context.activities.add(wording.not_scaled(kept.target, decision, reach, self._clock()))

    # -- what there is ---------------------------------------------------------------------------------------------
    def _tending(self, name: str) -> Tended:
        if name in self._tended:
            return self._tended[name]
        return Tended(self._world.registry, self._scale, Invocations(self._world.registry))

    def _kept(self) -> list[TargetRecords]:
        targets = self._context.targets.all()
        if not targets:
            return []
        policies, alarms = self._context.policies.all(), self._context.alarms.all()
        return [
            TargetRecords(target, tuple(policy for policy in policies if policy.target == target.name), alarms)
            for target in targets
        ]
