"""Looks at the running endpoint for the feed: refreshes the collector's readings, and makes a snapshot of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_endpoint.dashboard.figures import figures
from torpor_endpoint.dashboard.snapshot import snapshot
from torpor_endpoint.dashboard.timeline import rows
from torpor_endpoint.fleet.collector import Wanted
from torpor_endpoint.fleet.incarnation import Incarnation
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.readings import Readings
from torpor_endpoint.fleet.roster import Roster
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.storage.store import Store

QUIET_S = 5.0
"""An instance that nobody calls is read this often. Its models may still rest, or be unloaded by hand."""


@dataclass(frozen=True)
class Looking:
    """The parts of the endpoint that the feed reads. `refresh` reads the instances that are wanted, and all metrics."""

    roster: Roster
    store: Store
    registry: MetricRegistry
    readings: Readings
    refresh: Callable[[Wanted], Awaitable[None]]
    clock: Callable[[], float]
    _invocations: dict[InstancePool, int] = field(default_factory=dict)
    """The requests of each pool at the previous look."""

    async def look(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """A new snapshot; `before` is the previous one."""
        busy = self._busy()
        await self.refresh(lambda pool, incarnation: pool in busy or self._old(incarnation))
        cards = await asyncio.to_thread(self.store.endpoint_cards)
        return snapshot(cards, self.roster, self.readings.latest, figures(self.registry, self.clock()), before)

    def _busy(self) -> set[InstancePool]:
        """The pools that have had a request since the previous look."""
        pools = {pool for live in self.roster for pool in live.pools.values()}
        busy = {one for one in pools if one.traffic.in_flight or one.traffic.invocations != self._invocations.get(one)}
        self._invocations.clear()
        self._invocations.update({pool: pool.traffic.invocations for pool in pools})
        return busy

    def _old(self, incarnation: Incarnation) -> bool:
        reading = self.readings.latest.get(incarnation.id)
        return reading is None or not 0 <= self.clock() - reading.at_s < QUIET_S

    def later(self, number: int) -> tuple[list[dict[str, Any]], int]:
        """The timeline's rows after this number, and the last number."""
        return rows(self.readings.after(number)), self.readings.last_number
