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
from torpor_endpoint.services.autoscaling.acting.target_supervisor import Supervised, TargetRecords, reach_of
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
        self._supervised: dict[str, Supervised] = {}
        self._looked_s = 0.0

    async def run(self) -> None:
        """Look at every target at its pace, and as soon as there is something to do, for ever."""
        self._context.wakeup.listen()
        try:
            while True:
                await self.look()
                look_s = self._scale.look_s
                await self._context.wakeup.heard(self._pause(look_s - self._clock() % look_s))
        finally:
            await self.close()

    async def look(self) -> None:
        now_s = self._clock()
        if now_s < self._looked_s - SET_BACK_S:
            self._timetable.begin_anew()
            for supervised in self._supervised.values():
                supervised.begin_anew()
        self._looked_s = now_s
        await self._timetable.look()
        rebounded = self._context.rebounded.take()  # first: of those the new bounds are read now
        every = await asyncio.to_thread(self._kept)
        self._supervised = {kept.target.name: self._supervision(kept.target.name) for kept in every}
        for kept in every:
            supervised = self._supervised[kept.target.name]
            supervised.rebounded |= kept.target.name in rebounded
            await self._supervise(kept, supervised)

    async def close(self) -> None:
        """Begin nothing more. What is being done goes on without anybody who tells of it."""
        doing = [supervised.undertaking for supervised in self._supervised.values() if supervised.undertaking]
        await asyncio.gather(*(undertaking.close() for undertaking in doing))

    # -- one target ------------------------------------------------------------------------------------------------
    async def _supervise(self, kept: TargetRecords, supervised: Supervised) -> None:
        named = VARIANT.fullmatch(kept.target.resource_id)
        load = self._world.samples(named["endpoint"], named["variant"]) if named else None
        if load is None:
            return
        now_s = self._clock()
        await asyncio.to_thread(supervised.saw, kept, load, now_s)  # reads metrics, as the decision does
        for policy, tracking in kept.tracking():
            points = supervised.points(policy.arn, now_s)
            for name, standing in moved(kept.alarms, policy.arn, tracking, points, now_s):
                await self._context.alarms.enter(name, standing)
        supervised.settled(now_s)  # right before it counts: a change may have ended while an alarm was entered
        if supervised.undertaking is None or not supervised.undertaking.under_way:
            decision = await asyncio.to_thread(supervised.decision, kept, load, now_s)
            self._act(kept, supervised, load, decision)

    def _act(
        self, kept: TargetRecords, supervised: Supervised, load: VariantLoad, decision: Change | NoChange | None
    ) -> None:
        waiting = supervised.undertaking
        if isinstance(decision, Change) and (waiting is None or waiting.change.to != decision.to):
            if waiting is not None:
                waiting.overridden()
            supervised.held = None
            supervised.undertaking = Undertaking(kept.target, decision, self._means)
        elif waiting is not None:
            waiting.tried()
        elif isinstance(decision, NoChange) and decision.reason is not supervised.held:
            supervised.held = decision.reason
            reach = reach_of(kept.target, load)
            self._context.activities.add(wording.not_scaled(kept.target, decision, reach, self._clock()))

    # -- what there is ---------------------------------------------------------------------------------------------
    def _supervision(self, name: str) -> Supervised:
        if name in self._supervised:
            return self._supervised[name]
        return Supervised(self._world.registry, self._scale, Invocations(self._world.registry))

    def _kept(self) -> list[TargetRecords]:
        targets = self._context.targets.all()
        if not targets:
            return []
        policies, alarms = self._context.policies.all(), self._context.alarms.all()
        return [
            TargetRecords(target, tuple(policy for policy in policies if policy.target == target.name), alarms)
            for target in targets
        ]
