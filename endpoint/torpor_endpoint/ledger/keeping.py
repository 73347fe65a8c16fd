"""The ledger as the endpoint keeps it: told on the event loop, written by a chore. It loses rows, never a request."""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from torpor_endpoint.core.ledger import UNKNOWN, Looks, Room, Span, Sums, UseKind, WarmSpan, adds_up, is_cold, minute_of
from torpor_endpoint.core.ledger_records import InstanceLife, InvocationRecord, MemoryReading, WarmRequests
from torpor_endpoint.ledger.tables import RETENTION, Batch, Retention, Tables

PERIOD_S = 1.0
PRUNING_PERIODS = 600
COLD_PENDING_MAX = 10_000
"""Cold starts that wait to be written, at most: more of them in a second are counted in their minutes only."""
SIZE_KEPT_S = 60.0
"""How long the size of an instance that ended is remembered, for the last answers it gave."""

log = logging.getLogger(__name__)


class Ledger:
    """What tells it something is for the event loop's thread. `clock` gives epoch seconds. Raises SchemaTooNew."""

    def __init__(self, path: Path, clock: Callable[[], float], retention: Retention = RETENTION) -> None:
        self._clock = clock
        self._retention = retention
        self.tables = Tables(path)
        self._pending = Batch()
        self._written = _Writing(self.tables)
        self._lives: dict[str, InstanceLife] = {}
        self._doubted = False
        self._written.bury()

    def invoked(self, invocation: InvocationRecord) -> None:
        """One more invocation. A cold one is kept whole; all are counted in the minute in which they came."""
        if invocation.cold is not None and "own_bytes" in invocation.cold and "budget_bytes" in invocation.cold:
            known = invocation.cold["budget_bytes"], invocation.cold["own_bytes"], bool(invocation.cold["victims"])
            self.looked(
                MemoryReading(invocation.at_s, invocation.endpoint, invocation.variant, invocation.instance, *known)
            )
        cold = is_cold(invocation.steps)
        if not cold:
            self._span(invocation, Span(invocation.at_s, invocation.at_s))
        self._sums(invocation).add(invocation, cold)
        if cold:
            self._doubt(invocation)
            if len(self._pending.cold_starts) < COLD_PENDING_MAX:
                self._pending.cold_starts.append(invocation)

    def warmed(self, warm: WarmRequests) -> None:
        """Many more at once."""
        self._sums(warm).add_warm(warm)
        if warm.span_s is not None:
            self._span(warm, Span(*warm.span_s))

    def looked(self, look: MemoryReading) -> None:
        """What an instance took beside its models."""
        size = self._size(look.instance)
        room = Room(minute_of(look.at_s), look.endpoint, look.variant, size, look.budget_bytes)
        self._pending.memory.setdefault(room, Looks()).add(look)

    def lived(self, life: InstanceLife) -> None:
        """What is known of an instance now, instead of what was known of it before."""
        self._lives[life.instance] = self._pending.lives[life.instance] = life

    def served(self, endpoint: str, variant: str) -> None:
        """The variant is there now, whether it has an instance or sleeps."""
        self._pending.served[endpoint, variant] = self._clock()

    async def run(self) -> None:
        """Write every second and prune now and then, for ever."""
        while True:
            await asyncio.to_thread(self._written.prune, self._retention, self._clock())
            for _ in range(PRUNING_PERIODS):
                await asyncio.sleep(PERIOD_S)
                await self.flush()

    async def flush(self) -> None:
        """Write what is pending: what was told before can be read after."""
        self._take()
        await asyncio.to_thread(self._written.catch_up)

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._take()
        self._written.close()

    # -- inside ----------------------------------------------------------------------------------------------------
    def _sums(self, told: InvocationRecord | WarmRequests) -> Sums:
        kind = UseKind(minute_of(told.at_s), told.endpoint, told.variant, told.model, self._size(told.instance))
        sums = self._pending.minutes.get(kind)
        if sums is None:
            sums = self._pending.minutes[kind] = Sums()
        return sums

    def _span(self, told: InvocationRecord | WarmRequests, span: Span) -> None:
        called = WarmSpan(minute_of(told.at_s), told.endpoint, told.variant, told.model)
        before = self._pending.spans.get(called)
        self._pending.spans[called] = span if before is None else before | span

    def _size(self, instance: str) -> str:
        if not instance:
            return ""
        life = self._lives.get(instance)
        return UNKNOWN if life is None else life.size

    def _take(self) -> None:
        """Hand the pending rows to the writer, and a sign of life; nothing while nothing runs and nothing is told."""
        now_s, batch = self._clock(), self._pending
        self._lives = {name: life for name, life in self._lives.items() if _remembered(life, now_s)}
        if self._lives or batch.minutes or batch.memory or batch.lives or batch.served:
            self._pending = Batch()
            self._written.add(batch, now_s)

    def _doubt(self, invocation: InvocationRecord) -> None:
        """Steps that do not add up are a fault of ours: it is said, once, and the row is kept as it is."""
        if not self._doubted and not adds_up(invocation):
            self._doubted = True
            steps_s = sum(invocation.steps.values())
            message = "the steps of request %s add up to %.6f s, and it took %.6f s"
            log.error(message, invocation.request_id, steps_s, invocation.total_s)


def _remembered(life: InstanceLife, now_s: float) -> bool:
    return life.stopped_s is None or now_s - life.stopped_s < SIZE_KEPT_S


class _Writing:
    """Batches in their order, whichever thread writes them. What fails is logged once, until it works again."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._batches: deque[tuple[Batch, float]] = deque()
        self._late: dict[str, InstanceLife] = {}
        self._lock = Lock()
        self._failing = False
        self._closed = False

    def add(self, batch: Batch, at_s: float) -> None:
        self._batches.append((batch, at_s))

    def catch_up(self) -> None:
        with self._lock:
            while self._batches:
                self._write(*self._batches.popleft())

    def bury(self) -> None:
        self._tried(self._tables.bury)

    def prune(self, retention: Retention, now_s: float) -> None:
        with self._lock:
            if not self._closed:
                self._tried(lambda: self._tables.prune(retention, now_s))

    def close(self) -> None:
        self.catch_up()
        with self._lock:
            self._closed = True
            self._tables.close()

    def _write(self, batch: Batch, at_s: float) -> None:
        """Lives are written until it works: an end that is lost would be paid for for ever."""
        batch.lives = {**self._late, **batch.lives}
        written = self._tried(lambda: self._tables.write(batch, at_s))
        self._late = {} if written else batch.lives

    def _tried(self, write: Callable[[], None]) -> bool:
        try:
            write()
        except sqlite3.Error as error:
            if not self._failing:
                log.error("the ledger cannot be written, and loses rows until it can: %s", error)
            self._failing = True
            return False
        if self._failing:
            log.warning("the ledger is written again")
        self._failing = False
        return True
