"""Gives variants the instances that their callers need: asks the scaling rule once a second and does as it says."""

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

from torpor_container.core.keepalive import keep_alive
from torpor_endpoint.core.scaling import Habits, size_range
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.roster import Fleet
from torpor_endpoint.storage.records import Variant

PERIOD_S = 1.0
IDLE_S = 20 * 60.0


class Sizer:
    """`clock` is the router's."""

    def __init__(self, fleet: Fleet, clock: Callable[[], float]) -> None:
        self._fleet = fleet
        self._clock = clock
        self._known: WeakKeyDictionary[InstancePool, tuple[tuple[str, float], Habits]] = WeakKeyDictionary()

    async def run(self) -> None:
        """Look at every variant once a second, for ever."""
        while True:
            for live in self._fleet:
                for pool in live.pools.values():
                    self.look(pool)
            await asyncio.sleep(PERIOD_S)

    def look(self, pool: InstancePool) -> None:
        allowed = size_range(pool.variant)
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
        """They are learned anew when the variant's keep-alive is another one."""
        chosen = keep_alive_of(pool.variant)
        known = self._known.get(pool)
        if known is None or known[0] != chosen:
            known = self._known[pool] = chosen, Habits(keep_alive(*chosen))
        return known[1]


def keep_alive_of(variant: Variant) -> tuple[str, float]:
    """The policy's name, and its fixed time in seconds, from the container's environment."""
    settings = variant.container.environment
    return settings.get("TORPOR_KEEP_ALIVE", "fixed"), float(settings.get("TORPOR_IDLE_SECONDS", IDLE_S))
