"""Watches rollouts that go on, of endpoints and of inference components: waits, alarms, time limits."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from math import inf
from typing import Any

from torpor_endpoint.core.rollouts.rollout import Rollout, RolloutPhase

AlarmsOn = Callable[[Sequence[str]], Collection[str]]
"""Those of the CloudWatch alarms with these names that are in the state ALARM now."""


def no_alarm(names: Sequence[str]) -> Collection[str]:
    """There is no CloudWatch."""
    return ()


class RolloutWatch:
    """`going` has the rollouts that go on, by name, as their records have them. `epoch` gives epoch seconds."""

    def __init__(self, epoch: Callable[[], float], alarms_on: AlarmsOn) -> None:
        self.going: dict[str, Rollout] = {}
        self._epoch = epoch
        self._alarms_on = alarms_on
        self._tick = asyncio.Event()

    def tick(self) -> None:
        """Have those that are at work look at their time limit."""
        self._tick.set()
        self._tick = asyncio.Event()

    def look(self, rollout: Rollout) -> Rollout:
        """The rollout after a look at the clock and at its alarms."""
        on = self._alarms_on(rollout.policy.alarms) if rollout.policy.alarms else ()
        return rollout.looked(on, self._epoch())

    @property
    def alarmed(self) -> bool:
        """Whether a rollout bakes that an alarm can end."""
        return any(one.policy.alarms and one.phase is RolloutPhase.BAKING for one in self.going.values())

    def quiet_s(self) -> float:
        """Seconds in which no rollout has something to do, if no alarm goes off and nothing fails."""
        now_s = self._epoch()
        return min((rollout.due_in_s(now_s) for rollout in self.going.values()), default=inf)

    async def settled(self, rollout: Rollout, until_settled: Coroutine[Any, Any, None]) -> Rollout:
        """The rollout once both fleets are as its phase asks for, or its time is over. Raises what `until_settled`
        raises."""
        work = asyncio.create_task(until_settled)
        try:
            while not work.done():
                tick = asyncio.create_task(self._tick.wait())
                await asyncio.wait({work, tick}, return_when=asyncio.FIRST_COMPLETED)
                tick.cancel()
                late = rollout.looked((), self._epoch())
                if not work.done() and late != rollout:
                    return late
            work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        return rollout.settled(self._epoch())
