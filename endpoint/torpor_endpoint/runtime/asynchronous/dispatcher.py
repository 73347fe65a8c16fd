"""Takes the requests that wait to instances, a line for each variant, and gives up those that wait too long."""

import asyncio
import logging
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Coroutine
from math import inf
from typing import Any

from torpor_account.core.outages.records_fault import RecordsFault
from torpor_endpoint.clocks.clock import Pause
from torpor_endpoint.core.components.component_variants import GENERATIONS, component_of, copies_name
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint, ServedEndpoints
from torpor_endpoint.runtime.asynchronous.async_queue import AsyncQueue, Waiting
from torpor_endpoint.runtime.asynchronous.attempt import AttemptSite
from torpor_endpoint.runtime.asynchronous.given_up import GivenUpRequests
from torpor_endpoint.runtime.asynchronous.line import Line
from torpor_endpoint.runtime.asynchronous.line_sending import LineSending, SendingDesk
from torpor_endpoint.runtime.asynchronous.metering import AsyncMeter, QueueLevel
from torpor_endpoint.runtime.asynchronous.request_ends import RequestEnds

LOOKING_S = 1.0
PRUNING_S = 3600.0
DELETED = "ClientError: The endpoint was deleted."
COMPONENT_DELETED = "ClientError: The inference component was deleted."

Key = tuple[str, str]

log = logging.getLogger(__name__)


class AsyncDispatcher:
    """`clock` gives epoch seconds. All methods but `introduce` are for the event loop's thread."""

    def __init__(
        self,
        queue: AsyncQueue,
        roster: ServedEndpoints,
        site: AttemptSite,
        ends: RequestEnds,
        meter: AsyncMeter,
        clock: Callable[[], float],
    ) -> None:
        self._desk = SendingDesk(queue, roster, site, ends, meter, clock)
        self._queue = queue
        self._roster = roster
        self._board = ends.board
        self._meter = meter
        self._clock = clock
        self._lines: dict[Key, LineSending] = {}
        self._given_up = GivenUpRequests(queue, ends)
        self._unsure = False
        self._loop: asyncio.AbstractEventLoop | None = None  # between start and close
        self._others: set[asyncio.Task[None]] = set()

    # -- the life of the dispatcher --------------------------------------------------------------------------------
    async def start(self) -> None:
        """Go on with what waited when the endpoint stopped."""
        self._loop = asyncio.get_running_loop()
        site = self._desk.site
        await site.threads.finished(shutil.rmtree, site.folder, ignore_errors=True)
        self._begin(self._board.run(), "async notices")
        for one in await asyncio.to_thread(self._queue.waiting):
            self.add(one)

    async def close(self) -> None:
        """Stop, and send nothing more. What runs waits again after the next start."""
        self._loop = None
        for task in self._others:
            task.cancel()
        stops = [line.stop() for line in self._lines.values()]
        await asyncio.gather(*stops, self._given_up.stop(), *self._others, return_exceptions=True)

    def add(self, one: Waiting) -> None:
        """A request was accepted. One that was found in the queue before may come a second time."""
        if self._loop is None or one.number in self._given_up:
            return
        key = (one.endpoint, one.variant)
        if key not in self._lines:
            self._lines[key] = LineSending(self._desk, *key)
        self._lines[key].add(one)

    def unsure(self) -> None:
        """The queue may have a request of which nobody knows here: look for it, once the queue answers."""
        self._unsure = True

    def introduce(self, endpoint: str, variants: Collection[Variant]) -> None:
        """Send a test message to the topics of an endpoint that was created with these variants, or updated to them.
        For any thread. Does nothing before `start` and after `close`."""
        config = next((one.asynchronous for one in variants if one.asynchronous is not None), None)
        if config is None or (loop := self._loop) is None:
            return
        variant, board = next(iter(variants)).name, self._board
        loop.call_soon_threadsafe(lambda: self._begin(board.introduce(endpoint, variant, config), "async test message"))

    async def cancel(self, number: int) -> bool:
        """Cancel a request that waits. False if it does not. Raises RecordsFault: then it waits as before, unless the
        queue has the cancellation all the same."""
        if not any(line.remove(number) for line in self._every_line()):
            return False
        try:
            return await self._queue.cancel(number)
        except RecordsFault:
            self.unsure()
            raise

    async def deleted(self, endpoint: str) -> None:
        """The endpoint is gone: its requests stop, and fail in the background."""
        await self._queue.doom(endpoint, DELETED)
        await self._give_up([key for key in self._lines if key[0] == endpoint])

    async def component_deleted(self, endpoint: str, component: str) -> None:
        """The inference component is gone: its requests fail in the background."""
        variants = [copies_name(component, generation) for generation in GENERATIONS]
        await self._queue.doom(endpoint, COMPONENT_DELETED, variants)
        await self._give_up([key for key in self._lines if key[0] == endpoint and key[1] in variants])

    async def came_too_late(self, one: Waiting) -> None:
        """A request was accepted for instances that are gone now. If its component was deleted, it fails."""
        component, live = component_of(one.variant), self._roster.get(one.endpoint)
        if component is not None and live is not None and component not in live.components:
            await self.component_deleted(one.endpoint, component)

    # -- what others want to know ----------------------------------------------------------------------------------
    def running(self, endpoint: str | None) -> list[int]:
        """The numbers of the requests that run, of one endpoint or of all."""
        return [number for line in self._every_line(endpoint) for number in line.running]

    def level(self, endpoint: str) -> QueueLevel:
        lines = self._every_line(endpoint)
        came_s = [line.oldest_s for line in lines if line.oldest_s is not None]
        return QueueLevel(sum(map(len, lines)), sum(len(line.running) for line in lines), min(came_s, default=None))

    def under_way(self) -> str | None:
        """The first endpoint whose requests run or can be sent; None if there is none."""
        for (endpoint, _), line in self._lines.items():
            if line.under_way:
                return f"endpoint {endpoint} answers asynchronous requests"
        return "asynchronous requests are given up" if self._given_up else None

    # -- a chore ---------------------------------------------------------------------------------------------------
    async def run(self, pause: Pause) -> None:
        """Look once a second, and forget once an hour what ended long ago, for ever."""
        while True:
            try:
                await self._queue.prune()
            except RecordsFault as fault:  # what needs no room goes on, and the next hour prunes more
                if not fault.told:
                    log.error("the queue of asynchronous requests cannot be pruned: %s", fault)
            pruned_s = self._clock()
            while 0 <= self._clock() - pruned_s < PRUNING_S:  # not so if the clock was set back
                await self.look()
                await pause(LOOKING_S)

    async def look(self) -> None:
        """Put the levels of every queue, and give up what has waited too long, or waits for what is deleted."""
        self.put_levels()
        if self._unsure:
            waiting = await asyncio.to_thread(self._queue.waiting)
            self._unsure = False
            for one in waiting:
                self.add(one)
        for name in {name for name, _ in self._lines if self._roster.get(name) is None}:
            await self.deleted(name)
        for line in self._every_line():
            self._given_up.add([one.number for one in line.expired(self._clock())])

    def put_levels(self) -> None:
        """Put the levels, and tell the sizer what waits."""
        for live in self._roster:
            if _is_async(live):
                ready = sum(len(pool.ready) for pool in live.every_pool)
                self._meter.level(live.name, self.level(live.name), ready)
                self._put_demand(live)

    def quiet_s(self, period_s: float) -> float:
        """Seconds in which there is nothing to do, if nothing else happens; 0 while requests run. `period_s` is that
        of the levels' samples."""
        if not any(_is_async(live) for live in self._roster):
            return inf
        if self.under_way() is not None:
            return 0.0
        ends_s = [line.next_end_s for line in self._every_line() if line.next_end_s is not None]
        return min(period_s, max(0.0, min(ends_s, default=inf) - self._clock()))

    def _put_demand(self, live: ServedEndpoint) -> None:
        waiting = Counter[VariantPool]()
        for (endpoint, _), sending in self._lines.items():
            if endpoint == live.name and (found := sending.pool()) is not None:
                waiting[found[1]] += len(sending.line)
        for pool in live.every_pool:
            unsent = max(0, self._desk.taken[pool] - pool.traffic.in_flight)
            pool.traffic.queued = waiting[pool] + unsent

    # -- inside ----------------------------------------------------------------------------------------------------
    async def _give_up(self, keys: Collection[Key]) -> None:
        """Send nothing more of these lines, and end their requests."""
        for gone in [self._lines.pop(key) for key in keys]:  # at once: another call may give up the same ones
            await gone.stop()
            self._given_up.add(sorted([*gone.line.running, *(one.number for one in gone.line)]))

    def _every_line(self, endpoint: str | None = None) -> list[Line]:
        """The lines of one endpoint, or of all."""
        return [sending.line for (name, _), sending in self._lines.items() if endpoint in (None, name)]

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._others.add(task)
        task.add_done_callback(self._others.discard)


def _is_async(live: ServedEndpoint) -> bool:
    return any(pool.variant.asynchronous is not None for pool in live.every_pool)
