"""Tells the ledger which variants are there, now and then and at the end, so that it knows of the quiet too."""

import asyncio
from collections.abc import Callable

from torpor_endpoint.fleet.roster import Fleet

PERIOD_S = 600.0
"""What sleeps is written of so seldom: at rest next to nothing is done."""


class LedgerHeartbeat:
    """`served` is told endpoint and variant."""

    def __init__(self, fleet: Fleet, served: Callable[[str, str], None]) -> None:
        self._fleet = fleet
        self._served = served

    async def run(self) -> None:
        """Call it now and then, for ever."""
        while True:
            self.call()
            await asyncio.sleep(PERIOD_S)

    def call(self) -> None:
        for live in self._fleet:
            for variant in live.pools:
                self._served(live.name, variant)
