"""Notes in the ledger, every ten minutes and at the end, which variants exist: also those without any request."""

import asyncio
from collections.abc import Awaitable, Callable

from torpor_endpoint.fleet.endpoint_roster import FleetRoster

PERIOD_S = 600.0
"""Ten minutes: an idle endpoint does next to nothing."""


class LedgerHeartbeat:
    """`served` gets the names of an endpoint and a variant."""

    def __init__(
        self,
        roster: FleetRoster,
        served: Callable[[str, str], None],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._roster = roster
        self._pause = pause
        self._served = served

    async def run(self) -> None:
        """Note the variants each PERIOD_S, for ever."""
        while True:
            self.call()
            await self._pause(PERIOD_S)

    def call(self) -> None:
        """Note the variants now."""
        for live in self._roster:
            for variant in live.pools:
                self._served(live.name, variant)
