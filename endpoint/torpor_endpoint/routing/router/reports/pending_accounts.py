"""A router's rows of its requests: kept until the control has them, and sent in numbered batches."""

import logging
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import replace

from torpor_account.core.access.explaining.denial import Denial
from torpor_container.typed_json import written
from torpor_endpoint.core.ledger_records import InvocationRecord, WarmRequests
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.routing.warm_sums import WarmSums
from torpor_endpoint.routing.protocol.account_rows import AccountBatch, Row
from torpor_endpoint.runtime.observing.meter import AlikeRequests
from torpor_endpoint.runtime.observing.tallied_requests import RequestSums

ROWS_MAX = 50_000
"""The most rows that wait while the control is away. A row is of one cold request, or of all warm ones for a model at
an instance in a minute."""
BATCH_ROWS = 2_000

log = logging.getLogger(__name__)


class PendingAccounts:
    """Keeps the rows that the control does not have yet, the oldest first. Beyond `rows_max` the oldest are lost."""

    def __init__(self, rows_max: int = ROWS_MAX) -> None:
        self._rows: deque[Row] = deque()
        self._warm: dict[Hashable, WarmSums] = {}  # added up until they are sent
        self._samples: dict[Hashable, tuple[str, str, float, RequestSums]] = {}
        self._rows_max = rows_max
        self._batch: AccountBatch | None = None
        self._number = 0
        self.lost = 0

    def __len__(self) -> int:
        unsent = len(self._rows) + len(self._warm) + len(self._samples)
        return unsent + (0 if self._batch is None else len(self._batch.rows))

    @property
    def urgent(self) -> bool:
        """Whether rows wait for which somebody may look soon."""
        return bool(self._rows)

    def add(self, kind: str, *arguments: object) -> None:
        self._rows.append([kind, *arguments])
        self._bound()

    def add_warm(self, warm: WarmRequests) -> None:
        """Add warm requests to those like them that are not sent yet."""
        sums = WarmSums.of(warm)
        before = self._warm.get(sums.alike)
        self._warm[sums.alike] = sums if before is None else before | sums
        self._bound()

    def add_samples(self, endpoint: str, variant: str, samples: AlikeRequests, at_s: float) -> None:
        """Add requests of one minute to those like them that are not sent yet."""
        key = endpoint, variant, at_s, RequestSums.alike(samples)
        if key not in self._samples:
            self._samples[key] = endpoint, variant, at_s, RequestSums(samples)
        self._samples[key][-1].add(samples)
        self._bound()

    def _bound(self) -> None:
        """Lose the oldest rows beyond the bound."""
        if len(self) > self._rows_max:
            self._add_up()
            if not self.lost:
                log.error(
                    "the control does not take this router's rows: %d wait, and the oldest are lost from now on. Costs "
                    "and metrics of this time stay incomplete. Have the control run, reachable, with a ledger that it "
                    "can write: its log says what it lacks",
                    len(self) - 1,
                )
            if self._rows:
                self._rows.popleft()
                self.lost += 1

    def _add_up(self) -> None:
        """What was added up so far becomes rows."""
        self._rows.extend(["warmed", *sums] for sums in self._warm.values())
        self._rows.extend(["samples", *of, *sums.sent()] for *of, sums in self._samples.values())
        self._warm.clear()
        self._samples.clear()

    def batch(self) -> AccountBatch | None:
        """The batch to send now: the one before until it is taken, or else the oldest rows; None if there are none."""
        if self._batch is None:
            self._add_up()
        if self._batch is None and self._rows:
            self._number += 1
            count = min(BATCH_ROWS, len(self._rows))
            self._batch = AccountBatch(self._number, [self._rows.popleft() for _ in range(count)])
        return self._batch

    def taken(self, number: int) -> None:
        """The control has the batch of this number."""
        if self._batch is not None and self._batch.number <= number:
            self._batch = None


class DenialRows:
    """Keeps what is denied here for the control, which shows all denials. `clock` gives epoch seconds."""

    def __init__(self, accounts: PendingAccounts, clock: Callable[[], float]) -> None:
        self._accounts = accounts
        self._clock = clock

    async def keep(self, denied: Denial, request_id: str) -> None:
        """See `DenialNotes`."""
        self._accounts.add("denied", written(replace(denied, request_id=request_id, at_s=self._clock())))


class LedgerRows:
    """A `LedgerWriter` whose rows go to the control."""

    def __init__(self, accounts: PendingAccounts) -> None:
        self._accounts = accounts

    def invoked(self, invocation: InvocationRecord) -> None:
        self._accounts.add("invoked", *invocation)

    def warmed(self, warm: WarmRequests) -> None:
        self._accounts.add_warm(warm)

    def chosen(self, made: MadeChoices) -> None:
        self._accounts.add("chosen", written(made))


class MeterRows:
    """`RequestMeters` whose samples go to the control."""

    def __init__(self, accounts: PendingAccounts) -> None:
        self._accounts = accounts

    def of(self, endpoint: str, variant: str) -> "VariantRows":
        return VariantRows(self._accounts, endpoint, variant)

    def add(self, endpoint: str, variant: str, samples: AlikeRequests, at_s: float) -> None:
        self._accounts.add_samples(endpoint, variant, samples, at_s)

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
