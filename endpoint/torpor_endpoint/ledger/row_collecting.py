"""Collects the ledger's rows on the event loop, and has them written in a thread each second.

A fault of the ledger may lose rows. It never fails a request.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from math import inf

from torpor_account.storage.databases.database import Database
from torpor_container.typed_json import written
from torpor_endpoint.core.ledger import (
    ERROR_FROM,
    LOAD,
    MINUTE_S,
    PREDICT,
    STREAM,
    UNKNOWN,
    ContainerKey,
    ContainerSums,
    FaceKey,
    FaceSums,
    MemoryKey,
    MemorySums,
    Span,
    SpanKey,
    Sums,
    UseKey,
    add_sums,
    adds_up,
    is_cold,
    minute_of,
)
from torpor_endpoint.core.ledger_records import (
    ON_PROVISIONED,
    InstanceLife,
    InvocationRecord,
    MemoryReading,
    WarmRequests,
)
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.routing.warm_sums import WarmSums
from torpor_endpoint.core.variant_setup import setup_of
from torpor_endpoint.core.versions.version_steps import VersionStep
from torpor_endpoint.ledger.choice_table import choice_key, merge_choices
from torpor_endpoint.ledger.row_batch import Batch
from torpor_endpoint.ledger.tables import RETENTION, Retention, Tables
from torpor_endpoint.ledger.writing import BatchWriter

PERIOD_S = 1.0
PRUNING_S = 600.0
COLD_PENDING_MAX = 10_000
"""The most cold starts that wait to be written. Further ones in the same second count only in their minutes."""
CHOICES_PENDING_MAX = 1_000
"""The most rows of choices that wait to be written. Further ones in the same second are not kept."""
SETUPS_REMEMBERED = 1_000
"""The most variants whose setup is remembered, so that it is not written again at each wake."""
SIZE_KEPT_S = 60.0
"""How long the size of an ended instance is remembered, for its last answers."""

log = logging.getLogger(__name__)


class Ledger:
    """The ledger that the endpoint writes. Its methods are for the event loop's thread.

    `clock` gives epoch seconds.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float],
        retention: Retention = RETENTION,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._pause = pause
        self._retention = retention
        self.tables = Tables(database)
        self._pending = Batch()
        self._writer = BatchWriter(self.tables)
        self._lives: dict[str, InstanceLife] = {}
        self._set_up: dict[tuple[str, str], Variant] = {}
        self._mismatch_logged = False
        self.had_routers = bool(self._writer.written)  # whether routers reported to an earlier life of the control
        self._writer.bury()

    def invoked(self, invocation: InvocationRecord) -> None:
        """Add an invocation to the sums of its minute. A cold one gets a row of its own too."""
        if invocation.cold is not None and "own_bytes" in invocation.cold and "budget_bytes" in invocation.cold:
            known = invocation.cold["budget_bytes"], invocation.cold["own_bytes"], bool(invocation.cold["victims"])
            self.looked(
                MemoryReading(invocation.at_s, invocation.endpoint, invocation.variant, invocation.instance, *known)
            )
        cold = is_cold(invocation.steps)
        if not cold:
            at_s = invocation.at_s
            whole_s, at_ms = divmod(int(at_s * 1000), 1000)
            second = whole_s % MINUTE_S  # the moment is as `arrival_moments` writes it, without its calls
            span = Span(at_s, at_s, 1 << second, f"{second * 1000 + at_ms:04x}")
            self._span(invocation, span, whole_s - second)
        self._sums(invocation).add(invocation, cold)
        if invocation.face:
            busy_s = sum(invocation.steps.get(step, 0.0) for step in (LOAD, PREDICT, STREAM))
            failed = invocation.status >= ERROR_FROM
            self._face(invocation, FaceSums(1, int(cold), int(failed), invocation.total_s, busy_s))
        if invocation.container_s:
            self._containers(invocation, 1, not cold and invocation.status < ERROR_FROM)
        if cold:
            self._check_steps(invocation)
            if len(self._pending.cold_starts) < COLD_PENDING_MAX:
                self._pending.cold_starts.append(invocation)

    def warmed(self, warm: WarmRequests) -> None:
        """Add many warm invocations at once."""
        self._sums(warm).add_warm(warm)
        if warm.face:
            self._face(warm, FaceSums(len(warm.totals_s), 0, 0, sum(warm.totals_s), sum(warm.predicts_s)))
        if warm.container_s:
            self._containers(warm, len(warm.totals_s), True)
        if warm.span_s is not None:
            self._span(warm, Span(*warm.span_s, warm.seconds, warm.moments), minute_of(warm.at_s))

    def chosen(self, made: MadeChoices) -> None:
        """Add choices of a model of a group. Callers choose the needs: there is a bound on the rows of a second."""
        if choice_key(made) in self._pending.choices or len(self._pending.choices) < CHOICES_PENDING_MAX:
            merge_choices(self._pending.choices, made)

    def stepped(self, step: VersionStep) -> None:
        """Add a step by which a version of a model takes over."""
        self._pending.steps.append((self._clock() - step.ago_s, step))

    def summed(self, warm: WarmSums) -> None:
        """Add warm invocations that a router has added up."""
        warm.add_to(self._sums(warm))
        if warm.face:
            self._face(warm, FaceSums(warm.requests, 0, 0, warm.total_s, warm.predict_s))
        if warm.container_s:
            self._containers(warm, warm.requests, True)
        if warm.span is not None:
            self._span(warm, warm.span, minute_of(warm.at_s))

    def looked(self, reading: MemoryReading) -> None:
        """Add a reading of the memory that an instance uses beside its models."""
        size = self._size(reading.instance)
        of = reading.endpoint, reading.variant, size, reading.budget_bytes, reading.container
        key = MemoryKey(minute_of(reading.at_s), *of)
        self._pending.memory.setdefault(key, MemorySums()).add(reading)

    def lived(self, life: InstanceLife) -> None:
        """Replace what is known of an instance's life."""
        self._lives[life.instance] = self._pending.lives[life.instance] = life

    def served(self, endpoint: str, variant: str) -> None:
        """Note that the variant exists now, with instances or without."""
        self._pending.served[endpoint, variant] = self._clock()

    def set_up(self, endpoint: str, variant: Variant) -> None:
        """Note how the variant is set up now."""
        one = endpoint, variant.name
        if self._set_up.get(one) is not variant:
            if len(self._set_up) >= SETUPS_REMEMBERED:
                self._set_up.clear()
            self._set_up[one] = variant
            self._pending.setups[one] = self._clock(), json.dumps(written(setup_of(variant)), sort_keys=True)

    def met(self, router: str) -> None:
        """Note that there is this router: the next life of the control expects it."""
        if router not in self._writer.added:
            self.batched(router, 0)

    def last_batch(self, router: str) -> int:
        """The number of the last batch of rows that this router sent; 0 if none came. One whose rows are lost did not
        come."""
        return self._writer.added.get(router, 0)

    def written_batch(self, router: str) -> int:
        """The number of the router's last batch that is written; 0 if none is. The router may forget its rows."""
        return self._writer.written.get(router, 0)

    def batched(self, router: str, number: int) -> None:
        """Note that all rows of a router's batch were added just now: they and this note are written together."""
        self._writer.added[router] = self._pending.routers[router] = number

    async def run(self) -> None:
        """Write every second and prune every ten minutes, for ever."""
        pruned_s = -inf
        while True:
            now_s = self._clock()
            if not 0 <= now_s - pruned_s < PRUNING_S:  # or the clock was set back
                await asyncio.to_thread(self._writer.prune, self._retention, now_s)
                pruned_s = now_s
            await self._pause(PERIOD_S)
            await self.flush()

    async def flush(self) -> bool:
        """Write all pending rows, so that they can be read: whether that was possible."""
        self._take()
        return await asyncio.to_thread(self._writer.catch_up)

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._take()
        self._writer.close()

    # -- inside ----------------------------------------------------------------------------------------------------
    def _sums(self, one: InvocationRecord | WarmRequests | WarmSums) -> Sums:
        kind = UseKey(minute_of(one.at_s), one.endpoint, one.variant, one.model, self._size(one.instance))
        sums = self._pending.minutes.get(kind)
        if sums is None:
            sums = self._pending.minutes[kind] = Sums()
        return sums

    def _containers(self, one: InvocationRecord | WarmRequests | WarmSums, requests: int, warm: bool) -> None:
        """Add what these requests of a pipeline spent in each container."""
        minute_s = minute_of(one.at_s)
        for position, (container, seconds) in enumerate(one.container_s.items()):
            key = ContainerKey(minute_s, one.endpoint, one.variant, one.model, position, container)
            self._pending.containers.setdefault(key, ContainerSums()).add(requests, seconds, warm)

    def _face(self, one: InvocationRecord | WarmRequests | WarmSums, sums: FaceSums) -> None:
        """Add requests of another protocol than SageMaker's."""
        key = FaceKey(minute_of(one.at_s), one.endpoint, one.variant, one.face)
        add_sums(self._pending.faces.setdefault(key, FaceSums()), sums)

    def _span(self, one: InvocationRecord | WarmRequests | WarmSums, span: Span, minute_s: int) -> None:
        called = SpanKey(minute_s, one.endpoint, one.variant, one.model)
        before = self._pending.spans.get(called)
        self._pending.spans[called] = span if before is None else before | span

    def _size(self, instance: str) -> str:
        if not instance:
            return ""
        life = self._lives.get(instance)
        if life is None:
            return UNKNOWN
        return life.size + ON_PROVISIONED if life.provisioned else life.size

    def _take(self) -> None:
        """Hand the pending rows to the writer, with a heartbeat. An endpoint at rest, with no rows, writes nothing."""
        now_s, batch = self._clock(), self._pending
        self._lives = {name: life for name, life in self._lives.items() if _remembered(life, now_s)}
        if self._lives or batch.rows or batch.served or batch.routers or batch.setups:
            self._pending = Batch()
            self._writer.add(batch, now_s)

    def _check_steps(self, invocation: InvocationRecord) -> None:
        """Log, once, a request whose steps do not add up: that is a fault of Torpor. Its row stays as it is."""
        if not self._mismatch_logged and not adds_up(invocation):
            self._mismatch_logged = True
            steps_s = sum(invocation.steps.values())
            message = "the steps of request %s add up to %.6f s, but the request took %.6f s"
            log.error(message, invocation.request_id, steps_s, invocation.total_s)


def _remembered(life: InstanceLife, now_s: float) -> bool:
    return life.stopped_s is None or now_s - life.stopped_s < SIZE_KEPT_S
