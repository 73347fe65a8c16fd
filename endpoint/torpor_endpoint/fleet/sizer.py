"""Sizes the pool of each variant once a second, by the scaling rule of `core.scaling`."""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from weakref import WeakKeyDictionary

from torpor_container.core.keepalive import keep_alive
from torpor_endpoint.core.scaling import Habits, InstanceRange, size_range
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool

PERIOD_S = 1.0


class Sizer:
    """Sizes every pool of the fleet. `clock` is the router's, in seconds: both write times of one `Traffic`."""

    def __init__(
        self,
        roster: FleetRoster,
        clock: Callable[[], float],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._roster = roster
        self._clock = clock
        self._pause = pause
        self._known: WeakKeyDictionary[InstancePool, Habits] = WeakKeyDictionary()

    async def run(self) -> None:
        """Size every pool once a second, until cancelled."""
        while True:
            for live in self._roster:
                for pool in live.every_pool:
                    self.resize(pool)
            await self._pause(PERIOD_S)

    def quiet_s(self) -> float:
        """Seconds in which no pool changes its size, unless a request comes; 0 if one may change at the next look."""
        return min((self._quiet_s(pool) for live in self._roster for pool in live.every_pool), default=inf)

    def _quiet_s(self, pool: InstancePool) -> float:
        allowed = _range(pool)
        if allowed is None:
            return inf
        if pool.resized:
            return 0.0
        allowed = allowed.with_at_least(pool.at_least)
        return self._habits_of(pool).quiet_s(allowed, pool.size, pool.traffic, self._clock())

    def resize(self, pool: InstancePool) -> None:
        """Scale the pool to the number of instances that its traffic needs. A variant of a fixed size keeps it."""
        allowed = _range(pool)
        if allowed is None:
            return
        habits, now_s = self._habits_of(pool), self._clock()
        if pool.resized:
            habits.resized(now_s)
            pool.resized = False
        wanted = habits.wanted(allowed.with_at_least(pool.at_least), pool.size, pool.traffic, now_s)
        if wanted is not None:
            pool.scale(wanted.size, wanted.why)

    def _habits_of(self, pool: InstancePool) -> Habits:
        """The pool's habits so far. An update that changes the keep-alive makes another pool with new habits."""
        known = self._known.get(pool)
        if known is None:
            known = self._known[pool] = Habits(keep_alive(pool.settings.keep_alive, pool.settings.idle_s))
        return known


def _range(pool: InstancePool) -> InstanceRange | None:
    """None for a pool of a fixed size, and for instances that follow the copies of inference components."""
    return None if pool.variant.for_components else size_range(pool.variant, pool.settings.concurrency)
