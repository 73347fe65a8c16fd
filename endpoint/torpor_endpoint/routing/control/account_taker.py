"""Takes the rows of routers into the control's ledger, its metrics and its log of denials, each batch once."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from torpor_account.core.access.explaining.denial import Denial
from torpor_container.typed_json import read
from torpor_endpoint.core.ledger_records import InvocationRecord
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.routing.warm_sums import WarmSums
from torpor_endpoint.runtime.composed_router import RouterMeters
from torpor_endpoint.runtime.observing.ledger_observer import LedgerWriter
from torpor_endpoint.runtime.observing.meter import TalliedRequests
from torpor_endpoint.runtime.observing.tallied_requests import SentRequests

Counter = Callable[..., None]
UNKNOWN = "unknown"
SKIPPED = (
    "a row of the kind %r of router %s cannot be read, and is skipped, as all such rows from now on: install the same "
    "release of Torpor on control and router (%r)"
)

log = logging.getLogger(__name__)


class ReportedLedger(LedgerWriter, Protocol):
    """The ledger, as far as it knows the batches of routers."""

    def summed(self, warm: WarmSums) -> None:
        """Add warm invocations that a router has added up."""

    def last_batch(self, router: str) -> int:
        """The number of the router's last batch that came; 0 if none did."""

    def written_batch(self, router: str) -> int:
        """The number of the router's last batch that is written; 0 if none is."""

    def batched(self, router: str, number: int) -> None:
        """Note, with the rows that were just written, that the router's batch of this number has come."""


class ReportedMeters(RouterMeters, Protocol):
    """The metrics of all variants, as far as routers report them."""

    def merge(self, endpoint: str, variant: str, tallied: TalliedRequests, at_s: float) -> None:
        """Add requests of one minute that were added up."""


class AccountTaker:
    """Counts the rows of routers in the ledger and in the metrics, each batch once. `keep_denials` may block."""

    def __init__(
        self,
        ledger: ReportedLedger,
        meters: ReportedMeters,
        keep_denials: Callable[[Sequence[Denial]], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._meters = meters
        self._keep_denials = keep_denials
        self._denied: list[Denial] = []
        self._metered: dict[str, int] = {}  # by router: the last batch that the metrics have
        self._skipped: set[str] = set()  # the kinds of which a row could not be read
        self._in_ledger: Mapping[str, Counter] = {
            "invoked": lambda *row: ledger.invoked(read(InvocationRecord, row)),
            "warmed": lambda *row: ledger.summed(read(WarmSums, row)),
            "chosen": lambda row: ledger.chosen(read(MadeChoices, row)),
        }
        self._in_metrics: Mapping[str, Counter] = {
            "samples": self._samples,
            "no_capacity": meters.no_capacity,
            "dropped": meters.dropped,
            "untraced": meters.untraced,
            "captured": meters.captured,
            "cold_start": lambda one, two, *row: meters.of(one, two).add_cold_start(*row),
            "container": lambda one, two, *row: meters.of(one, two).add_container(*row),
            "stream": lambda one, two, *row: meters.of(one, two).add_stream(*row),
            "denied": lambda row: self._denied.append(read(Denial, row)),
        }

    def take(self, router: str, batch: Mapping[str, Any]) -> int:
        """Count the rows of the batch, unless it was counted before. Returns its number.

        A row that cannot be read is skipped, and the others count. If the ledger lost the batch, and it comes again,
        the ledger alone counts it.

        Raises KeyError, TypeError, ValueError for what is no batch, before anything is counted.
        """
        number, rows = int(batch["number"]), list(batch["rows"])
        counters: dict[str, Counter] = {}
        is_new = number > self._ledger.last_batch(router)  # once: the writer may take a lost batch back meanwhile
        if is_new:
            counters |= self._in_ledger
        if number > max(self._metered.get(router, 0), self._ledger.written_batch(router)):
            counters |= self._in_metrics
        for row in rows if counters else ():
            self._count(router, row, counters)
        if is_new:
            self._ledger.batched(router, number)
        self._metered[router] = max(number, self._metered.get(router, 0))
        return number

    async def write_denied(self) -> None:
        """Keep what was denied in the batches that were taken."""
        denied, self._denied = self._denied, []
        if denied:
            await asyncio.to_thread(self._keep_denials, denied)

    def _count(self, router: str, row: Any, counters: Mapping[str, Counter]) -> None:
        """Count a row by the counter of its kind. One of another kind was counted before."""
        kind = UNKNOWN
        try:
            name, *arguments = row
            if name in self._in_ledger or name in self._in_metrics:
                kind = name
            if kind == UNKNOWN or kind in counters:
                counters[name](*arguments)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if kind not in self._skipped:
                self._skipped.add(kind)
                log.error(SKIPPED, kind, router, error)

    def _samples(self, endpoint: str, variant: str, at_s: float, *samples: Any) -> None:
        self._meters.merge(endpoint, variant, read(SentRequests, samples).tallied(), at_s)
