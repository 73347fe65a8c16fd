"""Judges every alarm at its own intervals, and changes the states of those that differ."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf

from torpor_account.aws.errors import AwsError
from torpor_account.cloudwatch.alarms.alarm_record import Alarm, Standing
from torpor_account.cloudwatch.alarms.alarm_store import Alarms
from torpor_account.cloudwatch.alarms.observing import observed
from torpor_account.cloudwatch.alarms.shapes import period_s, statistic
from torpor_account.cloudwatch.alarms.state_reasons import reason, reason_data
from torpor_account.core.alarms import State, judged
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.metrics.series import MINUTE_S

TICK_S = 10
""" "If the alarm period is 10 seconds, 20 seconds, or 30 seconds, the alarm is evaluated every 10 seconds"; others
are every minute, as soon as it is over."""

Turn = tuple[float, float, int, int]
"""The time of a configuration, the time of a standing, and an interval with its number: an alarm is judged once for
each."""


def every_alarm(alarm: Alarm) -> bool:
    """The default of `judges`: the watch judges every alarm."""
    return True


@dataclass
class Watch:
    """Judges the alarms for which `judges` is true. `refresh` updates the metrics before."""

    alarms: Alarms
    registry: MetricRegistry
    refresh: Callable[[], Awaitable[None]]
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    judges: Callable[[Alarm], bool] = every_alarm
    _turns: dict[str, Turn] = field(default_factory=dict)

    async def run(self) -> None:
        """Look at every alarm that is due, for ever."""
        while True:
            await self.look()
            await self.pause(TICK_S - self.alarms.clock() % TICK_S)

    def quiet_s(self) -> float:
        """Seconds in which no alarm is due, by the alarms of the last look."""
        if not self._turns:
            return inf
        short = any(interval_s < MINUTE_S for *_, interval_s, _ in self._turns.values())
        return 0.0 if short else MINUTE_S - self.alarms.clock() % MINUTE_S

    async def look(self) -> None:
        """Judge each alarm that is due: also one that was configured or set to a state since its last evaluation."""
        now_s = self.alarms.clock()
        every = [alarm for alarm in await asyncio.to_thread(self.alarms.all) if self.judges(alarm)]
        due = [alarm for alarm in every if self._turns.get(alarm.name) != _turn(alarm, now_s)]
        self._turns = {alarm.name: _turn(alarm, now_s) for alarm in every}
        if due:
            await self.refresh()
        await asyncio.gather(*(self._judge(alarm, now_s) for alarm in due))

    async def _judge(self, alarm: Alarm, now_s: float) -> None:
        standing = await asyncio.to_thread(next_standing, self.registry, alarm, now_s)
        if standing.state is not alarm.standing.state:
            await self.alarms.enter(alarm.name, standing)


def next_standing(registry: MetricRegistry, alarm: Alarm, now_s: float) -> Standing:
    try:
        rule, points = observed(registry, alarm.request, now_s)
    except AwsError as error:  # an expression may fail only with certain samples
        return Standing(State.INSUFFICIENT_DATA, now_s, error.message)
    state = judged(rule, [value for _, value in points], alarm.standing.state)
    data = reason_data(rule, points, statistic(alarm.request), period_s(alarm.request), now_s)
    return Standing(state, now_s, reason(rule, points, state), data)


def _turn(alarm: Alarm, now_s: float) -> Turn:
    interval_s = TICK_S if period_s(alarm.request) < MINUTE_S else MINUTE_S
    return alarm.configured_s, alarm.standing.since_s, interval_s, int(now_s // interval_s)
