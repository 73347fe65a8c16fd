"""A ledger that the live endpoint writes on virtual time: each request and each instance's life."""

import asyncio
from dataclasses import replace
from pathlib import Path

from tests.helpers.ledger_with_pages import NOON_S, LedgerWithPages
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.runtime.errors import RuntimeFault
from torpor_endpoint.runtime.observing.ledger_observer import LedgerObserver
from torpor_endpoint.runtime.passage import InvokeAnswer, Passage, Served


class WrittenLedger:
    """It begins at noon."""

    def __init__(self, folder: Path) -> None:
        self.written = LedgerWithPages(folder)
        self.path = folder / "ledger.sqlite"
        self._observer = LedgerObserver(self.written.ledger)

    def ended(self, request: Passage, answered: Served | RuntimeFault) -> None:
        request.outcome = answered
        if isinstance(answered, Served):
            request.measured(answered.answer)
        request.end(
            200 if isinstance(answered, Served) else 429, 0, asyncio.get_running_loop().time() - request.began_s
        )
        request.at_s += NOON_S
        self._observer.ended(request, InvokeAnswer(request.status, [], []))

    def set_up(self, endpoint: str, variant: Variant) -> None:
        self.written.ledger.set_up(endpoint, variant)

    def lived(self, life: InstanceLife) -> None:
        ready_s, stopped_s = _at(life.ready_s), _at(life.stopped_s)
        self.written.ledger.lived(
            replace(life, started_s=NOON_S + life.started_s, ready_s=ready_s, stopped_s=stopped_s)
        )


def _at(virtual_s: float | None) -> float | None:
    return None if virtual_s is None else NOON_S + virtual_s
