"""Sends the requests of one variant that wait to its instances: in their order, as many at a time as those may have.

A request leaves the queue when its result or its failure is in S3: after a crash, it is sent again.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field

from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.core.outages.waiting import pause_s
from torpor_account.log_lines import about
from torpor_account.metrics import metrics
from torpor_account.outer_edge import outer_edge
from torpor_account.storage.outage_log import OutageLog
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.async_inference.attempts import (
    MachineFailed,
    Outcome,
    PlatformFailed,
    Postponed,
    is_attempt,
    is_final,
)
from torpor_endpoint.core.async_inference.requests import KeptRequest
from torpor_endpoint.core.components.component_variants import component_of
from torpor_endpoint.core.routing.weighted_choice import in_turn
from torpor_endpoint.core.scaling import size_range
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint, ServedEndpoints
from torpor_endpoint.runtime.asynchronous.async_queue import AsyncQueue, Waiting
from torpor_endpoint.runtime.asynchronous.attempt import Attempt, AttemptSite
from torpor_endpoint.runtime.asynchronous.line import Line
from torpor_endpoint.runtime.asynchronous.metering import AsyncMeter
from torpor_endpoint.runtime.asynchronous.request_ends import RequestEnds

LOOK_S = 0.2
"""How soon to look again for an endpoint that is not there yet, or for an instance of one that does not wake."""
PAUSES_S = (0.5, 5.0)
"""Before a request is sent again, by the number of its attempts."""

log = logging.getLogger(__name__)


@frozen
class SendingDesk:
    """What all lines share. `clock` gives epoch seconds."""

    queue: AsyncQueue
    roster: ServedEndpoints
    site: AttemptSite
    ends: RequestEnds
    meter: AsyncMeter
    clock: Callable[[], float]
    taken: Counter[VariantPool] = field(default_factory=Counter)
    """How many requests each pool has, from their way to S3 for the input until their answer. The lines of variants
    that an update removed share the pool of their successor."""
    freed: asyncio.Event = field(default_factory=asyncio.Event)


class LineSending:
    """The line of one variant, and the tasks that send it. It sends until it is stopped."""

    def __init__(self, desk: SendingDesk, endpoint: str, variant: str) -> None:
        self.line = Line()
        self._desk = desk
        self._endpoint = endpoint
        self._variant = variant
        self._serving: asyncio.Task[None] | None = None
        self._attempts: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._sent = 0  # requests, until now
        requests = f"asynchronous requests of endpoint {endpoint}"
        self._outage_log = OutageLog(f"{requests} wait for the machine", f"{requests} go on")
        desk.meter.begin(endpoint, variant)

    def add(self, one: Waiting) -> None:
        """A request was accepted. Does nothing if it waits or runs already."""
        if self.line.has(one.number):
            return
        self.line.add(one)
        if (found := self.pool()) is not None:
            found[1].traffic.queued += 1  # until the next look counts anew
        self._go_on()

    async def stop(self) -> None:
        """Send nothing more, and stop what is on its way: it keeps its place in the line."""
        self._stopped = True
        tasks = [*self._attempts, *((self._serving,) if self._serving else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def pool(self) -> tuple[ServedEndpoint, VariantPool] | None:
        """The variant's instances; those of another variant if an update has removed it. The requests of an inference
        component wait for that component alone, whichever of its generations is current."""
        live = self._desk.roster.get(self._endpoint)
        if live is None or not live.production:
            return None
        pool = self._in_shift(live) or live.pools.get(self._variant)
        if pool is None and live.takes_components:
            pool = live.components.get(component_of(self._variant) or "")
        elif pool is None:
            pool = next(iter(live.production.values()))
        return None if pool is None or pool.closed else (live, pool)

    def _in_shift(self, live: ServedEndpoint) -> VariantPool | None:
        """The fleet for the next request, during a rollout: also few requests are divided by the shares. A fleet that
        is empty until somebody scales it, which waits for the end of the rollout, leaves its share to the other one."""
        every = live.fleets_of(self._variant)
        parts = [(pool, part) for pool, part in every if part and (pool.size or _wakes(pool))] or every
        return in_turn(parts, self._sent) if parts else None

    @property
    def under_way(self) -> bool:
        """Whether requests run, or can be sent."""
        found = self.pool()
        return bool(self.line.running) or (len(self.line) > 0 and found is not None and bool(found[1].ready))

    # -- the line --------------------------------------------------------------------------------------------------
    def _go_on(self) -> None:
        if self._serving is None and not self._stopped:
            self._serving = asyncio.create_task(self._serve(), name=f"async {self._endpoint}")

    async def _serve(self) -> None:
        line, desk = self.line, self._desk
        try:
            while len(line):
                found = self.pool()
                if found is None:
                    await asyncio.sleep(LOOK_S)
                    continue
                live, pool = found
                if not pool.ready:
                    await self._until_ready(pool)
                elif (one := self._next(pool)) is None:
                    await self._until_freed()
                else:
                    line.probe = one.number if line.outage.lasts else None
                    desk.taken[pool] += 1
                    self._sent += 1
                    task = asyncio.create_task(self._send(one, live, pool), name=f"async {one.number}")
                    self._attempts.add(task)
                    task.add_done_callback(self._attempts.discard)
        finally:
            self._serving = None

    def _next(self, pool: VariantPool) -> Waiting | None:
        """The next request that may be sent now. While the machine fails, one at a time tries whether it still does."""
        line, now_s = self.line, self._desk.site.steady()
        if self._desk.taken[pool] >= _room(pool) or not pool.ready.has_room:
            return None
        if line.outage.lasts and (line.probe is not None or now_s < line.outage.next_try_s):
            return None
        return line.take(now_s)

    async def _until_freed(self) -> None:
        """Returns when a request has ended, and after `LOOK_S`: there may be more instances meanwhile."""
        self._desk.freed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self._desk.freed.wait()

    async def _until_ready(self, pool: VariantPool) -> None:
        """A variant that sleeps by itself wakes. One whose size somebody sets, such as a scaling policy, does not."""
        if not pool.size and not pool.closed and _wakes(pool):
            pool.wake()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await pool.until(lambda: bool(pool.ready) or pool.closed)

    # -- one request -----------------------------------------------------------------------------------------------
    async def _send(self, one: Waiting, live: ServedEndpoint, pool: VariantPool) -> None:
        desk, line = self._desk, self.line
        kept: KeptRequest | None = None
        began_s = desk.clock()
        outcome: Outcome = MachineFailed("it cannot be sent now")  # it waits for better times
        try:
            known = about(endpoint=one.endpoint)
            with outer_edge(log, "asynchronous request %d cannot be sent", one.number, fields=known):
                kept = await desk.queue.begin(one.number, one.attempts + 1)
                if kept is None:  # it was cancelled
                    line.ended(one.number)
                    return
                outcome = await Attempt(desk.site, one.number, kept.request, live, pool).outcome()
        finally:
            line.probe = None if line.probe == one.number else line.probe
            desk.taken[pool] -= 1
            desk.freed.set()
        self._note(outcome)
        if kept is None or not is_final(outcome, kept.attempts):
            await self._again(one, kept, outcome)
            return
        if kept.attempts == 1:
            waited_s = max(0.0, began_s - kept.request.received_s)
            desk.meter.took(metrics.TIME_IN_BACKLOG, one.endpoint, one.variant, waited_s)
        await desk.ends.end(one.number, kept.request, outcome)
        line.ended(one.number)

    def _note(self, outcome: Outcome) -> None:
        """The log has the first attempt that the machine fails, and the first one after it that it does not."""
        if isinstance(outcome, MachineFailed):
            self.line.outage.failed(self._desk.site.steady())
            self._outage_log.began(outcome.reason)
        elif is_attempt(outcome):
            self.line.outage.worked()
            self._outage_log.ended()

    async def _again(self, one: Waiting, kept: KeptRequest | None, outcome: Outcome) -> None:
        line, desk = self.line, self._desk
        if isinstance(outcome, PlatformFailed) and kept is not None:
            log.warning("asynchronous request %d is sent again: %s", one.number, outcome.reason)
            one = one._replace(attempts=kept.attempts)
            rest_s = PAUSES_S[min(kept.attempts, len(PAUSES_S)) - 1]
        elif isinstance(outcome, Postponed) and not outcome.reason:
            rest_s = LOOK_S
        else:
            rest_s = 2 * pause_s(line.set_back(one.number))  # so another one tries next
        if kept is not None and not is_attempt(outcome):
            with suppress(RecordsFault):  # the next attempt has the same number, which a restart alone counts
                await desk.queue.uncount(one.number, one.attempts)
        line.back(one, desk.site.steady() + rest_s)
        self._go_on()


def _wakes(pool: VariantPool) -> bool:
    """Whether the pool starts an instance by itself where a request needs one."""
    return size_range(pool.variant, pool.settings.concurrency) is not None


def _room(pool: VariantPool) -> int:
    """How many requests the variant's ready instances may have at the same time."""
    config, concurrency = pool.variant.asynchronous, pool.settings.concurrency
    return len(pool.ready) * (concurrency if config is None else config.each(concurrency))
