"""Gives variants the instances that their callers need: asks the scaling rule once a second and does as it says."""

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

from torpor_container.core.keepalive import keep_alive
from torpor_endpoint.core.scaling import Habits, size_range
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.roster import Fleet

PERIOD_S = 1.0


class Sizer:
    """`clock` is the router's."""

    def __init__(self, fleet: Fleet, clock: Callable[[], float]) -> None:
        self._fleet = fleet
        self._clock = clock
        self._known: WeakKeyDictionary[InstancePool, Habits] = WeakKeyDictionary()

    async def run(self) -> None:
        """Look at every variant once a second, for ever."""
        while True:
            for live in self._fleet:
                for pool in live.pools.values():
                    self.look(pool)
            await asyncio.sleep(PERIOD_S)

    def look(self, pool: InstancePool) -> None:
        allowed = size_range(pool.variant, pool.settings.concurrency)
        if allowed is None:
            return
        habits, now_s = self._habits_of(pool), self._clock()
        if pool.told:
            habits.told(now_s)
            pool.told = False
        wanted = habits.wanted(allowed.with_at_least(pool.at_least), pool.size, pool.traffic, now_s)
        if wanted is not None:
            pool.scale(wanted.size, wanted.why)

    def _habits_of(self, pool: InstancePool) -> Habits:
        """A pool's callers so far. An update that changes the keep-alive makes another pool, which learns anew."""
        known = self._known.get(pool)
        if known is None:
            known = self._known[pool] = Habits(keep_alive(pool.settings.keep_alive, pool.settings.idle_s))
        return known
