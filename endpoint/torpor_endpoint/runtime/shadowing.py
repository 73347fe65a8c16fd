"""Sends copies of requests to the shadow variants of their endpoint. No caller waits for a copy, or sees its answer.

A copy is a `Passage` of its own. It begins when it is sent, goes to an instance of the shadow variant as any request
does, with holds and wakes, and ends before the same observers. So its metrics, its errors and its ledger rows stand
under the shadow variant. It shares the chunks of the request's body, and keeps them until it ends.

Copies leave together: `TOGETHER` of them while a caller's request is in its instance, and all that wait `WITHIN_S`
seconds after the first. To send each one between two requests takes several times the processor time, because endpoint,
instance and shadow variant wake each other for each, and the processor's caches lose what the callers' requests need
(benchmarks/README.md).

Two bounds hold for each shadow variant: requests in flight, and bytes of their bodies. A copy beyond them is dropped,
and so is one that the shadow variant refuses. Dropped copies are counted, and nothing tries them again.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NamedTuple
from weakref import WeakKeyDictionary

from torpor_account.log_lines import about
from torpor_account.outer_edge import outer_edge
from torpor_container.transport.upstream import JOINED_MAX_BYTES
from torpor_container.transport.upstream_answers import Body
from torpor_endpoint.core.traffic import SHADOW_LIMITS, ShadowLimits, shadow_share
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.admitting import Router, check_target, path_of, version_in
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.holding import PoolClosed
from torpor_endpoint.runtime.observing.metrics_observer import FAULT, REFUSED
from torpor_endpoint.runtime.passage import Passage, Route, Served, parsed
from torpor_endpoint.runtime.sending import RequestSender

log = logging.getLogger(__name__)

TOGETHER = 32
"""So many copies are sent together."""
WITHIN_S = 0.01
"""No copy waits longer than that to be sent. So long copies can come closer together than their requests did."""
WAITING_MAX = 64
"""All copies leave when so many wait, or when one with a body over `JOINED_MAX_BYTES` comes: what waits is bounded."""
LOGGED_EVERY_S = 60.0
"""The log has at most one line in so many seconds about the dropped copies of one variant."""
FAILED = "the copy of request %s to endpoint %s failed"

Outcome = Served | RuntimeFault
Ended = Callable[[Passage, Outcome], None]


# -- decisions; core.traffic has those that the simulator takes too ------------------------------------------------
def was_sent(outcome: Outcome | None) -> bool:
    """Whether an instance got the request. Requests that were refused before are not copied."""
    return isinstance(outcome, Served) or (outcome is not None and outcome.original is not None)


def refusal(outcome: Outcome) -> str | None:
    """Why a copy reached no model; None if it reached one."""
    if isinstance(outcome, RuntimeFault):
        return outcome.situation.name if outcome.original is None else None
    fault = outcome.answer.header(FAULT)
    return fault.decode() if fault in REFUSED else None


@dataclass(slots=True)
class ShadowWork:
    """The copies that one shadow variant has in flight, and those that it lost. Times are those of the steady clock."""

    requests: int = 0
    bytes: int = 0
    dropped: int = 0  # since the last line in the log
    logged_s: float = -inf

    def has_room(self, size_bytes: int, limits: ShadowLimits) -> bool:
        return self.requests < limits.requests and self.bytes + size_bytes <= limits.bytes

    def began(self, size_bytes: int) -> None:
        self.requests += 1
        self.bytes += size_bytes

    def ended(self, size_bytes: int) -> None:
        self.requests -= 1
        self.bytes -= size_bytes


# -- effects -------------------------------------------------------------------------------------------------------
class CopyEnds(NamedTuple):
    """What hears of each copy: `began` before it is sent, and `ended` with its outcome."""

    began: Callable[[Passage], object]
    ended: Ended


class WaitingCopy(NamedTuple):
    """A copy that waits to be sent: the request that has ended, where its copy goes, and the chunks of its body."""

    request: Passage
    route: Route
    body: Body
    ends: CopyEnds


class Shadowing:
    """`clock` is the router's; `draw` gives numbers from 0 to 1; `dropped` counts a copy for (endpoint, variant, epoch
    seconds) that reached no model.
    """

    def __init__(
        self,
        router: Router,
        sender: RequestSender,
        clock: Callable[[], float],
        draw: Callable[[], float],
        dropped: Callable[[str, str, float], None],
        limits: ShadowLimits = SHADOW_LIMITS,
    ) -> None:
        self._router = router
        self._sender = sender
        self._clock = clock
        self._draw = draw
        self._dropped = dropped
        self._limits = limits
        self._work: WeakKeyDictionary[VariantPool, ShadowWork] = WeakKeyDictionary()
        self._sending: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.TimerHandle | None = None
        self.waiting: list[WaitingCopy] = []
        """The copies that wait to be sent. It is the same list for ever."""

    def copy(self, request: Passage, route: Route, ends: CopyEnds) -> None:
        """Copy a request that has ended to the shadow variants of its endpoint, each by its share. Copies leave soon.

        The request's body must not be released yet. A copy is not copied.
        """
        if route.pool.variant.shadow or not was_sent(request.outcome):
            return
        production_weight = sum([weight for _, weight in route.live.weights])
        for pool in route.live.shadows:
            if self._draw() < shadow_share(pool.variant.weight, production_weight):
                to = route._replace(variant=pool.variant.name, pool=pool)
                self.waiting.append(WaitingCopy(request, to, request.body.copy(), ends))
        if not self.waiting:
            return
        if request.request_bytes > JOINED_MAX_BYTES or len(self.waiting) >= WAITING_MAX:
            self.settle()
        elif self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(WITHIN_S, self.settle)

    def meanwhile(self) -> None:
        """A caller's request has just been sent to an instance: there is time for copies."""
        if len(self.waiting) >= TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Send all copies that wait."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        waiting = self.waiting.copy()
        self.waiting.clear()
        for one in waiting:
            with outer_edge(log, FAILED, one.request.request_id, one.request.home.endpoint):
                self._begin(one)

    def _begin(self, waiting: WaitingCopy) -> None:
        request, route, body, ends = waiting
        size_bytes = request.request_bytes
        work = self._work.get(route.pool)
        if work is None:
            work = self._work[route.pool] = ShadowWork()
        if not work.has_room(size_bytes, self._limits):
            self._drop(route, request.ended_at_s, work, f"{work.requests} with {work.bytes} bytes are in flight")
            return
        work.began(size_bytes)
        copy = copy_of(request, route, body, self._clock())
        ends.began(copy)
        self._send(copy, route, partial(self._over, copy, route, work, ends.ended))

    def _send(self, copy: Passage, route: Route, over: Callable[[Outcome], None]) -> None:
        """Send the copy at once if it is small and an instance is ready; otherwise a task sends it."""
        try:
            path = path_of(route.pool.variant, parsed(copy), route.live.name)
            check_target(route.pool.variant, path, route.target)
            copy.route = route._replace(path=path)
            if route.asked is not None:  # the shadow variant may have another version than the one that answered
                copy.route = copy.route._replace(target=version_in(route.pool, route.asked))
            self._router.admit(copy)
        except RuntimeFault as fault:
            over(fault)
            return

        def then(outcome: Outcome | None) -> None:
            if outcome is None:  # no instance read it
                self._wait(copy, over)
            else:
                over(outcome)

        small = len(copy.body) == 1 and copy.request_bytes <= JOINED_MAX_BYTES
        if not small or not self._sender.send_inline(copy, then):
            self._wait(copy, over)

    def _wait(self, copy: Passage, over: Callable[[Outcome], None]) -> None:
        async def sent() -> None:
            over(await self._outcome(copy))

        task = asyncio.create_task(sent())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _outcome(self, copy: Passage) -> Outcome:
        known = about(request_id=copy.request_id, endpoint=copy.home.endpoint, shadow=True)
        with outer_edge(log, FAILED, copy.request_id, copy.home.endpoint, fields=known):
            try:
                return await self._sender.send(copy)
            except RuntimeFault as fault:
                return fault
            except PoolClosed:
                return RuntimeFault(Situation.NOT_READY, detail="The shadow variant was updated or deleted meanwhile.")
        return RuntimeFault(Situation.INTERNAL)

    def _over(self, copy: Passage, route: Route, work: ShadowWork, ended: Ended, outcome: Outcome) -> None:
        work.ended(copy.request_bytes)
        if (why := refusal(outcome)) is not None:
            self._drop(route, copy.at_s, work, f"the variant refused this one, {why}")
        ended(copy, outcome)

    def _drop(self, route: Route, at_s: float, work: ShadowWork, why: str) -> None:
        """Count a copy that reached no model. The log says so once in a while."""
        self._dropped(route.live.name, route.variant, at_s)
        work.dropped += 1
        if (now_s := self._clock()) - work.logged_s >= LOGGED_EVERY_S:
            text = "endpoint %s: dropped %d copies of requests for shadow variant %s: %s"
            known = about(endpoint=route.live.name, variant=route.variant, shadow=True)
            log.warning(text, route.live.name, work.dropped, route.variant, why, extra=known)
            work.dropped, work.logged_s = 0, now_s


def copy_of(request: Passage, route: Route, body: Body, now_s: float) -> Passage:
    """A copy of the request that begins now. It has the request's number, by which both answers can be found."""
    at_s, size_bytes = request.at_s + now_s - request.began_s, request.request_bytes
    scope, home, limits, invoke = request.scope, request.home, request.limits, request.request
    trace, number = request.trace and request.trace.copy(), request.request_id
    return Passage(scope, home, limits, at_s, now_s, body, size_bytes, invoke, route, trace=trace, request_id=number)
