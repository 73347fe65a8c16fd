"""Looks at the running endpoint for the feed: refreshes the collector's readings, and makes a snapshot of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_endpoint.dashboard.figures import figures
from torpor_endpoint.dashboard.snapshot import snapshot
from torpor_endpoint.dashboard.timeline import rows
from torpor_endpoint.fleet.readings import Readings
from torpor_endpoint.fleet.roster import Roster
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.storage.store import Store


@dataclass(frozen=True)
class Looking:
    """The parts of the endpoint that the feed reads. `refresh` brings the readings and metrics up to date."""

    roster: Roster
    store: Store
    registry: MetricRegistry
    readings: Readings
    refresh: Callable[[], Awaitable[None]]
    clock: Callable[[], float]

    async def look(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """A new snapshot; `before` is the previous one."""
        await self.refresh()
        cards = await asyncio.to_thread(self.store.endpoint_cards)
        return snapshot(cards, self.roster, self.readings.latest, figures(self.registry, self.clock()), before)

    def later(self, number: int) -> tuple[list[dict[str, Any]], int]:
        """The timeline's rows after this number, and the last number."""
        return rows(self.readings.after(number)), self.readings.last_number
