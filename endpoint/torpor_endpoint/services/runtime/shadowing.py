"""Sends copies of requests to the shadow variants of their endpoint. No caller waits for a copy, or sees its answer.

A copy is a `Passage` of its own. It begins when the caller has its answer, goes to an instance of the shadow variant as
any request does, with holds and wakes, and ends before the same observers. So its metrics, its errors and its ledger
rows stand under the shadow variant. It shares the chunks of the request's body, and keeps them until it ends.

Two bounds hold for each shadow variant: requests in flight, and bytes of their bodies. A copy beyond them is dropped,
and so is one that the shadow variant refuses. Dropped copies are counted, and nothing tries them again.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from weakref import WeakKeyDictionary

from torpor_container.transport.upstream import JOINED_MAX_BYTES
from torpor_endpoint.core.traffic import SHADOW_LIMITS, ShadowLimits, shadow_share
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.log_lines import about
from torpor_endpoint.services.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.services.runtime.legs import path_of
from torpor_endpoint.services.runtime.metrics_observer import FAULT, REFUSED
from torpor_endpoint.services.runtime.passage import Passage, Route, Served, parsed
from torpor_endpoint.services.runtime.router import Router, check_target
from torpor_endpoint.services.runtime.sending import PoolClosed, RequestSender

log = logging.getLogger(__name__)

LOGGED_EVERY_S = 60.0
"""The log has at most one line in so many seconds about the dropped copies of one variant."""

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
        self._work: WeakKeyDictionary[InstancePool, ShadowWork] = WeakKeyDictionary()
        self._waiting: set[asyncio.Task[None]] = set()

    def copy(self, request: Passage, route: Route, ended: Ended) -> None:
        """Send copies of a request that has ended to the shadow variants of its endpoint, each by its share.

        `ended` gets each copy with its outcome. The request's body must not be released yet. A copy is not copied.
        """
        if route.pool.variant.shadow or not was_sent(request.outcome):
            return
        production_weight = sum([weight for _, weight in route.live.weights])
        for pool in route.live.shadows:
            if self._draw() < shadow_share(pool.variant.weight, production_weight):
                self._begin(request, route._replace(variant=pool.variant.name, pool=pool), ended)

    def _begin(self, request: Passage, route: Route, ended: Ended) -> None:
        work = self._work.get(route.pool)
        if work is None:
            work = self._work[route.pool] = ShadowWork()
        if not work.has_room(request.request_bytes, self._limits):
            self._drop(route, request.ended_at_s, work, f"{work.requests} with {work.bytes} bytes are in flight")
            return
        work.began(request.request_bytes)
        copy = copy_of(request, route, self._clock())
        self._send(copy, route, partial(self._over, copy, route, work, ended))

    def _send(self, copy: Passage, route: Route, over: Callable[[Outcome], None]) -> None:
        """Send the copy at once if it is small and an instance is ready; otherwise a task sends it."""
        try:
            path = path_of(route.pool.variant, parsed(copy), route.live.name)
            check_target(route.pool.variant, path, route.target)
            copy.route = route._replace(path=path)
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
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _outcome(self, copy: Passage) -> Outcome:
        try:
            return await self._sender.send(copy)
        except RuntimeFault as fault:
            return fault
        except PoolClosed:
            return RuntimeFault(Situation.NOT_READY, detail="The shadow variant was updated or deleted meanwhile.")
        except Exception:  # the outer edge: the fault of one copy is logged, and harms no other
            known = about(request_id=copy.request_id, endpoint=copy.place.endpoint, shadow=True)
            text = "the copy of request %s to endpoint %s failed"
            log.exception(text, copy.request_id, copy.place.endpoint, extra=known)
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


def copy_of(request: Passage, route: Route, now_s: float) -> Passage:
    """A copy of the request that begins now. It has the request's number, by which both answers can be found."""
    at_s = request.at_s + now_s - request.began_s
    body, size_bytes = list(request.body), request.request_bytes
    of_request = (request.scope, request.place, request.limits, at_s, now_s, body, size_bytes, request.request, route)
    return Passage(*of_request, trace=request.trace and request.trace.copy())
