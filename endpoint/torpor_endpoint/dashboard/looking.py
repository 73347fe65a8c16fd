"""Looks at the running endpoint for the feed: refreshes the collector's readings, and makes a snapshot of them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.record_table import Card
from torpor_endpoint.core.resource_records import EndpointRecord
from torpor_endpoint.dashboard.figures import figures
from torpor_endpoint.dashboard.rollout_rows import rollout_row
from torpor_endpoint.dashboard.snapshot import snapshot
from torpor_endpoint.dashboard.timeline import rows
from torpor_endpoint.fleet.collector import Wanted
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.readings import Readings
from torpor_endpoint.storage.store import ComponentCard

LINGER_LOOKS = 5
"""So many more looks read the instances of a pool after its last request: a load may go on without its caller. Later
the collector's own period is enough, so that a quiet endpoint costs a viewer nothing."""


@dataclass(frozen=True)
class SeenPool:
    """A pool at one look: its requests since the start, and how many looks have seen no new one."""

    invocations: int
    quiet: int


@dataclass(frozen=True)
class Looking:
    """The parts of the endpoint that the feed reads.

    `cards` lists the stored endpoints; `refresh` reads the instances that are wanted, and all metrics; `record` reads
    one endpoint, and is asked only for those with a rollout. `components` lists the stored inference components.
    """

    roster: FleetRoster
    cards: Callable[[], Awaitable[Sequence[Card]]]
    registry: MetricRegistry
    readings: Readings
    refresh: Callable[[Wanted], Awaitable[None]]
    clock: Callable[[], float]
    record: Callable[[str], Awaitable[EndpointRecord | None]]
    components: Callable[[], Awaitable[Sequence[ComponentCard]]]
    _seen: dict[InstancePool, SeenPool] = field(default_factory=dict)

    async def look(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """A new snapshot; `before` is the previous one."""
        busy = self._busy()
        await self.refresh(lambda pool, incarnation: pool in busy or incarnation.id not in self.readings.latest)
        rollouts = await self._rollouts()
        seen = figures(self.registry, self.clock())
        statuses = await self._statuses()
        return snapshot(await self.cards(), self.roster, self.readings.latest, seen, before, rollouts, statuses)

    async def _statuses(self) -> dict[str, str]:
        """The status of each inference component, by its name."""
        if not any(live.takes_components for live in self.roster):
            return {}
        return {card.name: card.status for card in await self.components()}

    async def _rollouts(self) -> dict[str, dict[str, Any]]:
        """The row of each rollout, by endpoint."""
        shifting = [live.name for live in self.roster if live.shift is not None]
        records = [await self.record(name) for name in shifting]
        rows = {record.name: rollout_row(record) for record in records if record is not None}
        return {name: row for name, row in rows.items() if row is not None}

    def _busy(self) -> set[InstancePool]:
        """The pools that have had a request in the last few looks."""
        now = {pool: self._look_at(pool) for live in self.roster for pool in live.every_pool}
        self._seen.clear()
        self._seen.update(now)
        return {pool for pool, seen in now.items() if seen.quiet <= LINGER_LOOKS}

    def _look_at(self, pool: InstancePool) -> SeenPool:
        traffic = pool.traffic
        before = self._seen.get(pool, SeenPool(traffic.invocations, LINGER_LOOKS))  # the collector has read it lately
        called = traffic.in_flight > 0 or traffic.invocations != before.invocations
        return SeenPool(traffic.invocations, 0 if called else before.quiet + 1)

    def later(self, number: int) -> tuple[list[dict[str, Any]], int]:
        """The timeline's rows after this number, and the last number."""
        return rows(self.readings.after(number)), self.readings.last_number
