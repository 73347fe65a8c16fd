"""What a router counts of its requests, on its way to the control's metrics and ledger: rows, in numbered batches.

A router keeps each row until the control has it. The control takes a batch once, however often it comes: the number of
a router's last batch is in the ledger, in the same transaction as its rows. A batch whose rows the ledger lost, before
it could write them, is taken when it comes again.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from torpor_endpoint.core.ledger_records import InvocationRecord, WarmRequests
from torpor_endpoint.runtime.observing.ledger_observer import LedgerWriter
from torpor_endpoint.runtime.observing.meter import AlikeRequests, Concurrency
from torpor_endpoint.runtime.observing.metrics_observer import RequestMeters

ROWS_MAX = 50_000
"""The most rows that wait while the control is away. A row is of one cold request, or of up to 32 warm ones."""
BATCH_ROWS = 2_000

log = logging.getLogger(__name__)

Row = list[Any]
"""A kind, and the arguments of its counter."""


Counter = Callable[..., None]
UNKNOWN = "unknown"
SKIPPED = (
    "a row of the kind %r of router %s cannot be read, and is skipped, as all such rows from now on: install the same "
    "release of Torpor on control and router (%r)"
)


class AccountBatch(NamedTuple):
    number: int
    rows: Sequence[Row]

    def json(self) -> dict[str, Any]:
        return {"number": self.number, "rows": self.rows}


# -- at the router -----------------------------------------------------------------------------------------------------
class PendingAccounts:
    """Keeps the rows that the control does not have yet, the oldest first. Beyond `rows_max` the oldest are lost."""

    def __init__(self, rows_max: int = ROWS_MAX) -> None:
        self._rows: deque[Row] = deque()
        self._rows_max = rows_max
        self._batch: AccountBatch | None = None
        self._number = 0
        self.lost = 0

    def __len__(self) -> int:
        return len(self._rows) + (0 if self._batch is None else len(self._batch.rows))

    def add(self, kind: str, *arguments: object) -> None:
        self._rows.append([kind, *arguments])
        if len(self) > self._rows_max:
            if not self.lost:
                log.error(
                    "the control does not take this router's rows: %d wait, and the oldest are lost from now on. Costs "
                    "and metrics of this time stay incomplete. Have the control run, reachable, with a ledger that it "
                    "can write: its log says what it lacks",
                    len(self) - 1,
                )
            self._rows.popleft()
            self.lost += 1

    def batch(self) -> AccountBatch | None:
        """The batch to send now: the one before until it is taken, or else the oldest rows; None if there are none."""
        if self._batch is None and self._rows:
            self._number += 1
            count = min(BATCH_ROWS, len(self._rows))
            self._batch = AccountBatch(self._number, [self._rows.popleft() for _ in range(count)])
        return self._batch

    def taken(self, number: int) -> None:
        """The control has the batch of this number."""
        if self._batch is not None and self._batch.number <= number:
            self._batch = None


class LedgerRows:
    """A `LedgerWriter` whose rows go to the control."""

    def __init__(self, accounts: PendingAccounts) -> None:
        self._accounts = accounts

    def invoked(self, invocation: InvocationRecord) -> None:
        self._accounts.add("invoked", *invocation)

    def warmed(self, warm: WarmRequests) -> None:
        self._accounts.add("warmed", *warm)


class MeterRows:
    """`RequestMeters` whose samples go to the control."""

    def __init__(self, accounts: PendingAccounts) -> None:
        self._accounts = accounts

    def of(self, endpoint: str, variant: str) -> "VariantRows":
        return VariantRows(self._accounts, endpoint, variant)

    def add(self, endpoint: str, variant: str, samples: AlikeRequests, at_s: float) -> None:
        self._accounts.add("samples", endpoint, variant, at_s, *samples)

    def no_capacity(self, endpoint: str, variant: str, at_s: float) -> None:
        self._accounts.add("no_capacity", endpoint, variant, at_s)

    def dropped(self, endpoint: str, variant: str, at_s: float) -> None:
        self._accounts.add("dropped", endpoint, variant, at_s)

    def untraced(self, endpoint: str, variant: str, requests: int) -> None:
        self._accounts.add("untraced", endpoint, variant, requests)

    def captured(self, endpoint: str, variant: str, records: int, delivered: bool) -> None:
        self._accounts.add("captured", endpoint, variant, records, delivered)


class VariantRows:
    """The meter of one variant, whose samples go to the control."""

    def __init__(self, accounts: PendingAccounts, endpoint: str, variant: str) -> None:
        self._accounts = accounts
        self._of = endpoint, variant

    def add_cold_start(self, waited_s: float, at_s: float) -> None:
        self._accounts.add("cold_start", *self._of, waited_s, at_s)

    def add_container(self, name: str, status: int, took_s: float, overhead_s: float | None, at_s: float) -> None:
        self._accounts.add("container", *self._of, name, status, took_s, overhead_s, at_s)

    def add_stream(self, first_s: float, model_s: float, failed: bool, at_s: float) -> None:
        self._accounts.add("stream", *self._of, first_s, model_s, failed, at_s)


# -- at the control ----------------------------------------------------------------------------------------------------
class ReportedLedger(LedgerWriter, Protocol):
    """The ledger, as far as it knows the batches of routers."""

    def last_batch(self, router: str) -> int:
        """The number of the router's last batch that came; 0 if none did."""

    def written_batch(self, router: str) -> int:
        """The number of the router's last batch that is written; 0 if none is."""

    def batched(self, router: str, number: int) -> None:
        """Note, with the rows that were just written, that the router's batch of this number has come."""


class ControlMeters(RequestMeters, Protocol):
    """The meters of the control, for everything that routers count."""

    def dropped(self, endpoint: str, variant: str, at_s: float) -> None: ...

    def untraced(self, endpoint: str, variant: str, requests: int) -> None: ...

    def captured(self, endpoint: str, variant: str, records: int, delivered: bool) -> None: ...


class AccountTaker:
    """Counts the rows of routers in the ledger and in the metrics, each batch once."""

    def __init__(self, ledger: ReportedLedger, meters: ControlMeters) -> None:
        self._ledger = ledger
        self._meters = meters
        self._metered: dict[str, int] = {}  # by router: the last batch that the metrics have
        self._skipped: set[str] = set()  # the kinds of which a row could not be read
        self._in_ledger: Mapping[str, Counter] = {
            "invoked": lambda *row: ledger.invoked(InvocationRecord(*row)),
            "warmed": lambda *row: ledger.warmed(_warm(*row)),
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
        found = AlikeRequests(*samples)
        concurrency = [Concurrency(*one) for one in found.concurrency]
        self._meters.add(endpoint, variant, found._replace(concurrency=concurrency), at_s)


def _warm(*row: Any) -> WarmRequests:
    warm = WarmRequests(*row)
    return warm if warm.span_s is None else warm._replace(span_s=(warm.span_s[0], warm.span_s[1]))
