"""What a router counts of its requests, on its way to the control's metrics and ledger: rows, in numbered batches.

A router keeps each row until the control has it. The control takes a batch once, however often it comes: the number of
a router's last batch is in the ledger, in the same transaction as its rows.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from torpor_endpoint.core.ledger_records import InvocationRecord, WarmRequests
from torpor_endpoint.services.runtime.observing.ledger_observer import LedgerWriter
from torpor_endpoint.services.runtime.observing.meter import AlikeRequests, Concurrency
from torpor_endpoint.services.runtime.observing.metrics_observer import RequestMeters

ROWS_MAX = 50_000
"""The most rows that wait while the control is away. A row is of one cold request, or of up to 32 warm ones."""
BATCH_ROWS = 2_000

log = logging.getLogger(__name__)

Row = list[Any]
"""A kind, and the arguments of its counter."""


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
                    "the control is away: more than %d rows wait for its ledger, and the oldest are lost", len(self)
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
        """The number of the router's last batch; 0 if none came."""

    def batched(self, router: str, number: int) -> None:
        """Note, with the rows that were just written, that the router's batch of this number has come."""


class ControlMeters(RequestMeters, Protocol):
    """The meters of the control, for everything that routers count."""

    def dropped(self, endpoint: str, variant: str, at_s: float) -> None: ...

    def untraced(self, endpoint: str, variant: str, requests: int) -> None: ...

    def captured(self, endpoint: str, variant: str, records: int, delivered: bool) -> None: ...


class AccountTaker:
    """Writes the rows of routers into the ledger and the metrics, each batch once."""

    def __init__(self, ledger: ReportedLedger, meters: ControlMeters) -> None:
        self._ledger = ledger
        self._meters = meters
        self._kinds: Mapping[str, Callable[..., None]] = {
            "invoked": lambda *row: ledger.invoked(InvocationRecord(*row)),
            "warmed": lambda *row: ledger.warmed(_warm(*row)),
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
        """Write the batch, unless it has come before. Its number. Raises KeyError, TypeError, ValueError before
        anything is written for what is no batch of this release."""
        number, rows = int(batch["number"]), batch["rows"]
        counters = [(self._kinds[kind], arguments) for kind, *arguments in rows]
        if number > self._ledger.last_batch(router):
            for count, arguments in counters:
                count(*arguments)
            self._ledger.batched(router, number)
        return number

    def _samples(self, endpoint: str, variant: str, at_s: float, *samples: Any) -> None:
        found = AlikeRequests(*samples)
        concurrency = [Concurrency(*one) for one in found.concurrency]
        self._meters.add(endpoint, variant, found._replace(concurrency=concurrency), at_s)


def _warm(*row: Any) -> WarmRequests:
    warm = WarmRequests(*row)
    return warm if warm.span_s is None else warm._replace(span_s=(warm.span_s[0], warm.span_s[1]))
