"""The chore that judges every alarm at its own pace, and has those that change enter their new state."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from torpor_endpoint.aws.errors import AwsError
from torpor_endpoint.core.alarms import State, judged
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.metrics.series import MINUTE_S
from torpor_endpoint.services.cloudwatch.alarms.keeping import Alarms
from torpor_endpoint.services.cloudwatch.alarms.observing import observed
from torpor_endpoint.services.cloudwatch.alarms.reasons import reason, reason_data
from torpor_endpoint.services.cloudwatch.alarms.records import Alarm, Standing
from torpor_endpoint.services.cloudwatch.alarms.shapes import period_s, statistic

TICK_S = 10
""" "If the alarm period is 10 seconds, 20 seconds, or 30 seconds, the alarm is evaluated every 10 seconds"; others
are every minute, as soon as it is over."""

Turn = tuple[float, float, int]
"""A configuration, a standing and a stretch of time: an alarm is judged once in each."""


def every_alarm(alarm: Alarm) -> bool:
    """There is nobody else who says how alarms stand."""
    return True


@dataclass
class Watch:
    """`judges` says which alarms are its own. `refresh` brings levels up to date, and is awaited before them."""

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

    async def look(self) -> None:
        """Judge each alarm whose turn it is: also one that was configured or set to a state since."""
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
    except AwsError as error:  # an expression may turn out to be none only when there are samples
        return Standing(State.INSUFFICIENT_DATA, now_s, error.message)
    state = judged(rule, [value for _, value in points], alarm.standing.state)
    data = reason_data(rule, points, statistic(alarm.request), period_s(alarm.request), now_s)
    return Standing(state, now_s, reason(rule, points, state), data)


def _turn(alarm: Alarm, now_s: float) -> Turn:
    pace_s = TICK_S if period_s(alarm.request) < MINUTE_S else MINUTE_S
    return alarm.configured_s, alarm.standing.since_s, int(now_s // pace_s)
