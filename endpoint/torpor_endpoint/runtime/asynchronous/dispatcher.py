"""Takes the requests that wait to instances: in the order of arrival per variant, as many at a time as those may have.

A request leaves the queue when its result or its failure is in S3: after a crash, it is sent again.
"""

import asyncio
import logging
import shutil
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.core.outages.waiting import pause_s
from torpor_account.log_lines import about
from torpor_account.metrics import metrics
from torpor_account.storage.failures import is_machines
from torpor_account.storage.outage_log import OutageLog
from torpor_endpoint.clocks.clock import Pause
from torpor_endpoint.core.async_inference.attempts import (
    MachineFailed,
    Outcome,
    PlatformFailed,
    Postponed,
    is_attempt,
    is_final,
)
from torpor_endpoint.core.async_inference.requests import AsyncState, KeptRequest
from torpor_endpoint.core.records import Variant
from torpor_endpoint.core.scaling import size_range
from torpor_endpoint.in_service.endpoints import ServedEndpoint, ServedEndpoints
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.asynchronous.attempt import Attempt, AttemptSite
from torpor_endpoint.runtime.asynchronous.ending import RequestEnds
from torpor_endpoint.runtime.asynchronous.line import Line
from torpor_endpoint.runtime.asynchronous.metering import AsyncMeter, QueueLevel
from torpor_endpoint.runtime.asynchronous.queue import AsyncQueue, Waiting

LOOK_S = 0.2
"""How soon to look again for an endpoint that is not there yet, or for an instance of one that does not wake."""
LOOKING_S = 1.0
PRUNING_S = 3600.0
PAUSES_S = (0.5, 5.0)
"""Before a request is sent again, by the number of its attempts."""
GIVEN_UP_AT_ONCE = 8
DELETED = "ClientError: The endpoint was deleted."

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
        self._queue = queue
        self._roster = roster
        self._site = site
        self._ends = ends
        self._meter = meter
        self._clock = clock
        self._lines: dict[Key, Line] = {}
        self._serving: dict[Key, asyncio.Task[None]] = {}
        self._attempts: dict[int, asyncio.Task[None]] = {}
        self._taken = Counter[VariantPool]()
        """How many requests each pool has, from their way to S3 for the input until their answer."""
        self._setbacks = Counter[int]()
        """How often in a row each request's attempt was none."""
        self._given_up: deque[int] = deque()
        self._unsure = False
        self._outages: dict[Key, OutageLog] = {}
        self._freed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # between start and close
        self._others: set[asyncio.Task[None]] = set()

    # -- the life of the dispatcher --------------------------------------------------------------------------------
    async def start(self) -> None:
        """Go on with what waited when the endpoint stopped."""
        self._loop = asyncio.get_running_loop()
        await self._site.threads.finished(shutil.rmtree, self._site.folder, ignore_errors=True)
        self._begin(self._ends.board.run(), "async notices")
        for one in await asyncio.to_thread(self._queue.waiting):
            self.add(one)

    async def close(self) -> None:
        """Stop, and send nothing more. What runs waits again after the next start."""
        self._loop = None
        tasks = [*self._serving.values(), *self._attempts.values(), *self._others]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def add(self, one: Waiting) -> None:
        """A request was accepted."""
        key = (one.endpoint, one.variant)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line()
            self._meter.begin(*key)
            self._outages.setdefault(key, _outage_log(one.endpoint))
        if line.has(one.number):  # it was found in the queue before its own task came here
            return
        line.add(one)
        if (found := self._pool(*key)) is not None:
            found[1].traffic.queued += 1  # until the next look counts anew
        self._go_on(key, line)

    def unsure(self) -> None:
        """The queue may have a request of which nobody knows here: look for it, once the queue answers."""
        self._unsure = True

    def introduce(self, endpoint: str, variants: Collection[Variant]) -> None:
        """Send a test message to the topics of an endpoint that was created with these variants, or updated to them.
        For any thread. Does nothing before `start` and after `close`."""
        config = next((one.asynchronous for one in variants if one.asynchronous is not None), None)
        if config is None or (loop := self._loop) is None:
            return
        variant, board = next(iter(variants)).name, self._ends.board
        loop.call_soon_threadsafe(lambda: self._begin(board.introduce(endpoint, variant, config), "async test message"))

    async def cancel(self, number: int) -> bool:
        """Cancel a request that waits. False if it does not. Raises RecordsFault: then it waits as before, unless the
        queue has the cancellation all the same."""
        if not any(line.remove(number) for line in self._lines.values()):
            return False
        try:
            return await self._queue.cancel(number)
        except RecordsFault:
            self.unsure()
            raise

    async def deleted(self, endpoint: str) -> None:
        """The endpoint is gone: its requests stop, and fail in the background."""
        await self._queue.doom(endpoint, DELETED)
        for key in [key for key in self._lines if key[0] == endpoint]:
            line = self._lines.pop(key)
            tasks = [self._attempts[number] for number in line.running if number in self._attempts]
            serving = self._serving.pop(key, None)
            for task in (*tasks, *((serving,) if serving else ())):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._given_up += sorted([*line.running, *(one.number for one in line)])
        self._give_up()

    # -- what others want to know ----------------------------------------------------------------------------------
    def running(self, endpoint: str | None) -> list[int]:
        """The numbers of the requests that run, of one endpoint or of all."""
        lines = [line for (name, _), line in self._lines.items() if endpoint in (None, name)]
        return [number for line in lines for number in line.running]

    def level(self, endpoint: str) -> QueueLevel:
        lines = [line for (name, _), line in self._lines.items() if name == endpoint]
        came_s = [line.oldest_s for line in lines if line.oldest_s is not None]
        return QueueLevel(sum(map(len, lines)), sum(len(line.running) for line in lines), min(came_s, default=None))

    def under_way(self) -> str | None:
        """The first endpoint whose requests run or can be sent; None if there is none."""
        for key, line in self._lines.items():
            found = self._pool(*key)
            if line.running or (len(line) and found is not None and found[1].ready):
                return f"endpoint {key[0]} answers asynchronous requests"
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
        for line in self._lines.values():
            self._given_up += [one.number for one in line.expired(self._clock())]
        self._give_up()

    def put_levels(self) -> None:
        """Put the levels, and tell the sizer what waits."""
        for live in self._roster:
            if _is_async(live):
                ready = sum(len(pool.ready) for pool in live.pools.values())
                self._meter.level(live.name, self.level(live.name), ready)
                self._put_demand(live)

    def quiet_s(self, period_s: float) -> float:
        """Seconds in which there is nothing to do, if nothing else happens; 0 while requests run. `period_s` is that
        of the levels' samples."""
        if not any(_is_async(live) for live in self._roster):
            return inf
        if self.under_way() is not None:
            return 0.0
        ends_s = [line.next_end_s for line in self._lines.values() if line.next_end_s is not None]
        return min(period_s, max(0.0, min(ends_s, default=inf) - self._clock()))

    def _put_demand(self, live: ServedEndpoint) -> None:
        waiting = Counter[VariantPool]()
        for (endpoint, variant), line in self._lines.items():
            if endpoint == live.name and (found := self._pool(endpoint, variant)) is not None:
                waiting[found[1]] += len(line)
        for pool in live.pools.values():
            unsent = max(0, self._taken[pool] - pool.traffic.in_flight)
            pool.traffic.queued = waiting[pool] + unsent

    # -- one variant -----------------------------------------------------------------------------------------------
    def _go_on(self, key: Key, line: Line) -> None:
        if key not in self._serving and self._lines.get(key) is line and self._loop is not None:
            self._serving[key] = asyncio.create_task(self._serve(key, line), name=f"async {key[0]}")

    async def _serve(self, key: Key, line: Line) -> None:
        try:
            while len(line):
                found = self._pool(*key)
                if found is None:
                    await asyncio.sleep(LOOK_S)
                    continue
                live, pool = found
                if not pool.ready:
                    await self._until_ready(pool)
                elif (one := self._next(line, pool)) is None:
                    await self._until_freed()
                else:
                    line.probe = one.number if line.outage.lasts else None
                    self._taken[pool] += 1
                    task = asyncio.create_task(self._send(key, line, one, live, pool), name=f"async {one.number}")
                    self._attempts[one.number] = task
                    task.add_done_callback(partial(self._forget, one.number))
        finally:
            if self._serving.get(key) is asyncio.current_task():
                del self._serving[key]

    def _next(self, line: Line, pool: VariantPool) -> Waiting | None:
        """The next request that may be sent now. While the machine fails, one at a time tries whether it still does."""
        now_s, outage = self._site.steady(), line.outage
        if self._taken[pool] >= _room(pool) or not pool.ready.has_room:
            return None
        if outage.lasts and (line.probe is not None or now_s < outage.next_try_s):
            return None
        return line.take(now_s)

    async def _until_freed(self) -> None:
        """Returns when a request has ended, and after `LOOK_S`: there may be more instances meanwhile."""
        self._freed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self._freed.wait()

    async def _until_ready(self, pool: VariantPool) -> None:
        """A variant that sleeps by itself wakes. One whose size somebody sets, such as a scaling policy, does not."""
        if not pool.size and not pool.closed and size_range(pool.variant, pool.settings.concurrency) is not None:
            pool.wake()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await pool.until(lambda: bool(pool.ready) or pool.closed)

    def _pool(self, endpoint: str, variant: str) -> tuple[ServedEndpoint, VariantPool] | None:
        """The variant's instances; those of another variant if an update has removed it."""
        live = self._roster.get(endpoint)
        if live is None or not live.production:
            return None
        pool = live.production.get(variant) or next(iter(live.production.values()))
        return None if pool.closed else (live, pool)

    # -- one request -----------------------------------------------------------------------------------------------
    async def _send(self, key: Key, line: Line, one: Waiting, live: ServedEndpoint, pool: VariantPool) -> None:
        kept: KeptRequest | None = None
        began_s = self._clock()
        try:
            kept = await self._queue.begin(one.number, one.attempts + 1)
            if kept is None:  # it was cancelled
                line.ended(one.number)
                return
            outcome = await Attempt(self._site, one.number, kept.request, live, pool).outcome()
        except RecordsFault as fault:
            if not fault.told:
                log.error("asynchronous request %d cannot be sent: %s", one.number, fault, extra=about(endpoint=key[0]))
            outcome = MachineFailed(str(fault))
        except Exception:  # outer edge of one request: it waits for better times
            log.exception("asynchronous request %d cannot be sent", one.number, extra=about(endpoint=one.endpoint))
            outcome = MachineFailed("an unknown error")
        finally:
            line.probe = None if line.probe == one.number else line.probe
            self._taken[pool] -= 1
            self._freed.set()
        self._note(key, line, outcome)
        if kept is None or not is_final(outcome, kept.attempts):
            await self._again(key, line, one, kept, outcome)
            return
        if kept.attempts == 1:
            waited_s = max(0.0, began_s - kept.request.received_s)
            self._meter.took(metrics.TIME_IN_BACKLOG, one.endpoint, one.variant, waited_s)
        self._setbacks.pop(one.number, None)
        await self._ends.end(one.number, kept.request, outcome)
        line.ended(one.number)

    def _note(self, key: Key, line: Line, outcome: Outcome) -> None:
        """The log has the first attempt that the machine fails, and the first one after it that it does not."""
        if isinstance(outcome, MachineFailed):
            line.outage.failed(self._site.steady())
            self._outages[key].began(outcome.reason)
        elif is_attempt(outcome):
            line.outage.worked()
            self._outages[key].ended()

    async def _again(self, key: Key, line: Line, one: Waiting, kept: KeptRequest | None, outcome: Outcome) -> None:
        if isinstance(outcome, PlatformFailed) and kept is not None:
            log.warning("asynchronous request %d is sent again: %s", one.number, outcome.reason)
            one = one._replace(attempts=kept.attempts)
            rest_s = PAUSES_S[min(kept.attempts, len(PAUSES_S)) - 1]
        elif isinstance(outcome, Postponed) and not outcome.reason:
            rest_s = LOOK_S
        else:
            self._setbacks[one.number] += 1
            rest_s = 2 * pause_s(self._setbacks[one.number])  # so another one tries next
        if kept is not None and not is_attempt(outcome):
            with suppress(RecordsFault):  # the next attempt has the same number, which a restart alone counts
                await self._queue.uncount(one.number, one.attempts)
        if one.number in line.running:  # else its endpoint was deleted meanwhile
            line.back(one, self._site.steady() + rest_s)
        self._go_on(key, line)

    def _give_up(self) -> None:
        """End the requests that are given up, a few at a time."""
        if self._given_up and not any(task.get_name() == GIVING_UP for task in self._others):
            self._begin(self._ended_all(), GIVING_UP)

    async def _ended_all(self) -> None:
        while self._given_up:
            some = [self._given_up.popleft() for _ in range(min(GIVEN_UP_AT_ONCE, len(self._given_up)))]
            ended = await asyncio.gather(*map(self._give_up_one, some), return_exceptions=True)
            failed = [number for number, outcome in zip(some, ended, strict=True) if isinstance(outcome, Exception)]
            if failed:
                why = next(one for one in ended if isinstance(one, Exception))
                if not is_machines(why):
                    log.error("asynchronous requests cannot be given up yet: %s", why)
                self._given_up.extendleft(reversed(failed))
                await asyncio.sleep(LOOKING_S)

    async def _give_up_one(self, number: int) -> None:
        self._setbacks.pop(number, None)
        kept = await asyncio.to_thread(self._queue.get, number)
        if kept is not None and kept.state is AsyncState.QUEUED:
            await self._ends.give_up(kept)

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    def _forget(self, number: int, attempt: "asyncio.Task[None]") -> None:
        self._attempts.pop(number, None)


GIVING_UP = "async requests given up"


def _outage_log(endpoint: str) -> OutageLog:
    requests = f"asynchronous requests of endpoint {endpoint}"
    return OutageLog(f"{requests} wait for the machine", f"{requests} go on")


def _is_async(live: ServedEndpoint) -> bool:
    return any(pool.variant.asynchronous is not None for pool in live.pools.values())


def _room(pool: VariantPool) -> int:
    """How many requests the variant's ready instances may have at the same time."""
    config, concurrency = pool.variant.asynchronous, pool.settings.concurrency
    return len(pool.ready) * (concurrency if config is None else config.each(concurrency))
