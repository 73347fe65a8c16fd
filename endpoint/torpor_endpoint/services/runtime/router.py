"""From a checked request to an instance and back: picks the variant and the instance, holds while none is ready, sends.

Which instance is placement's decision; how many there should be is asked of the pool. It keeps no table of models.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torpor_container import wire
from torpor_container.transport.upstream import (
    Body,
    UpstreamAnswer,
    UpstreamBroken,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimedOut,
    size_of,
)
from torpor_endpoint.core.placement import weighted
from torpor_endpoint.fleet.incarnation import Incarnation
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.roster import Fleet, LiveEndpoint
from torpor_endpoint.services.runtime.errors import ErrorPlace, RuntimeFault, Situation, no_response, timed_out
from torpor_endpoint.services.runtime.request import (
    EXPLANATIONS,
    INFERENCE_COMPONENT,
    LENGTHS,
    TARGET_CONTAINER,
    TARGET_MODEL,
    TARGET_VARIANT,
    Invoke,
)

OF_SEVERAL_CONTAINERS = (TARGET_CONTAINER, INFERENCE_COMPONENT)
"""The headers that choose one of several containers, in the order in which they are refused."""


@dataclass(frozen=True)
class Limits:
    """Bounds of the hold queue of one variant, and of one attempt."""

    hold_s: float = 60.0
    hold_requests: int = 1000
    hold_bytes: int = 256 * 1024 * 1024
    attempt_margin_s: float = 5.0
    body_bytes: int = 6_291_456
    serverless_body_bytes: int = 4 * 1024 * 1024


class Route(NamedTuple):
    """Where a request goes: decided before its body is sent anywhere."""

    live: LiveEndpoint
    variant: str
    pool: InstancePool
    target: str | None


class Served(NamedTuple):
    """An instance's answer and what the way to it took, in seconds."""

    answer: UpstreamAnswer
    instance: str
    instances: int
    in_flight: int  # on the variant as it came, itself included
    waited: dict[str, float]  # by step
    sent_s: float


class PoolClosed(Exception):
    """The pool that a request waited for is no more: its endpoint was updated or deleted meanwhile."""


class Router:
    """`draw` gives numbers from 0 to 1 for the weights; `clock` seconds that only go forward."""

    def __init__(
        self, fleet: Fleet, limits: Limits, draw: Callable[[], float], clock: Callable[[], float], strict: bool
    ) -> None:
        self.limits = limits
        self._fleet = fleet
        self._draw = draw
        self._clock = clock
        self._strict = strict

    def find(self, name: str) -> LiveEndpoint:
        live = self._fleet.get(name)
        if live is not None and live.trouble is not None:
            raise RuntimeFault(Situation.PARAMETER, detail=live.trouble)
        if live is None or not live.pools:
            raise RuntimeFault(Situation.ENDPOINT_UNKNOWN)
        return live

    def route(self, live: LiveEndpoint, request: Invoke) -> Route:
        """Raises the ValidationError of the first rule that the request breaks."""
        request.check()
        variant = self._variant(live, request.text(TARGET_VARIANT))
        pool = live.pools[variant]
        target = request.text(TARGET_MODEL)
        if pool.variant.container.multi_model and target is None:
            raise RuntimeFault(Situation.TARGET_MISSING)
        if not pool.variant.container.multi_model and target is not None:
            raise RuntimeFault(Situation.TARGET_NOT_SUPPORTED)
        if (header := request.first_of(OF_SEVERAL_CONTAINERS)) is not None:
            raise RuntimeFault(
                Situation.PARAMETER,
                detail=f"Endpoint {live.name} takes no {LENGTHS[header][0]}: its variants have one container each.",
            )
        if EXPLANATIONS in request.headers:
            raise RuntimeFault(
                Situation.PARAMETER, detail=f"Endpoint {live.name} has no explainer: it takes no EnableExplanations."
            )
        return Route(live, variant, pool, target)

    async def send(self, route: Route, request: Invoke, body: Body, place: ErrorPlace) -> Served:
        """Hold until an instance is ready, send, answer. What was never sent is sent to another instance; the body is
        emptied once it is.

        Raises PoolClosed before anything was sent: look again where the request should go.
        """
        pool = route.pool
        self._admit(pool)
        pool.traffic.came(self._clock())
        in_flight = pool.traffic.in_flight
        waited: dict[str, float] = {}
        until_s = self._clock() + self.limits.hold_s
        try:
            while True:
                if not pool.ready:
                    await self._hold(pool, size_of(body), until_s, waited)
                member = self._pick(pool, route.target)
                sent_at_s = self._clock()
                try:
                    answer = await self._attempt(pool, member, request.forwarded(route.target), body, place)
                except UpstreamRefused:
                    pool.suspect(member)
                    continue
                took_s = self._clock() - sent_at_s
                return Served(answer, member.incarnation, len(pool.ready), in_flight, waited, took_s)
        finally:
            pool.traffic.went(self._clock())

    def send_at_once(
        self,
        route: Route,
        request: Invoke,
        body: bytes,
        place: ErrorPlace,
        then: Callable[[Served | RuntimeFault | None], None],
    ) -> bool:
        """Send it if an instance is ready and its connection is open; else do nothing, and answer False.

        `then` is called once, with what `send` returns or raises, or with None where it was never sent: `send` it then.
        Raises the fault of a request that is not let in.
        """
        pool = route.pool
        self._admit(pool)
        if not pool.ready:
            return False
        member = self._pick(pool, route.target)
        sent_at_s = self._clock()

        def ended(outcome: UpstreamAnswer | UpstreamError) -> None:
            now_s = self._clock()
            found: Served | RuntimeFault | None
            if isinstance(outcome, UpstreamRefused):
                pool.suspect(member)
                found = None
            elif isinstance(outcome, UpstreamError):
                found = self._fault(outcome, pool, member, place)
            else:
                found = Served(outcome, member.incarnation, len(pool.ready), in_flight, {}, now_s - sent_at_s)
            pool.released(member)
            pool.traffic.went(now_s)
            then(found)

        headers = request.forwarded(route.target)
        if not member.multiplexed.send(headers, body, self._patience_s(pool), ended):
            return False
        pool.traffic.came(sent_at_s)
        in_flight = pool.traffic.in_flight
        member.in_flight += 1
        return True

    # -- inside ----------------------------------------------------------------------------------------------------
    def _variant(self, live: LiveEndpoint, wanted: str | None) -> str:
        if wanted is None and len(live.pools) == 1:
            return next(iter(live.pools))
        if wanted is None:
            return weighted(live.weights, self._draw())
        if wanted not in live.pools:
            raise RuntimeFault(Situation.VARIANT_UNKNOWN, variant=wanted, variants=", ".join(live.pools))
        return wanted

    def _admit(self, pool: InstancePool) -> None:
        serverless = pool.variant.serverless
        if serverless is not None and pool.traffic.in_flight >= serverless.max_concurrency:
            raise RuntimeFault(Situation.THROTTLED)
        if self._strict and serverless is None and not pool.ready and not pool.size:
            # AWS fails invocations at zero instances, and does not queue them; serverless ones wait.
            raise RuntimeFault(Situation.NO_CAPACITY, variant=pool.variant.name)

    async def _hold(self, pool: InstancePool, size_bytes: int, until_s: float, waited: dict[str, float]) -> None:
        """Wait, within bounds, until some instance is ready: for it to `wake`, or to become free to take requests."""
        if pool.closed:
            raise PoolClosed
        traffic = pool.traffic
        if traffic.held >= self.limits.hold_requests or traffic.held_bytes + size_bytes > self.limits.hold_bytes:
            raise RuntimeFault(Situation.HOLD_FULL, held=traffic.held)
        began_s = self._clock()
        step = wire.WaitStep.HOLD if pool.size else wire.WaitStep.WAKE
        traffic.held += 1
        traffic.held_bytes += size_bytes
        try:
            async with asyncio.timeout(until_s - began_s):
                await _woken(pool)
        except TimeoutError:
            detail = _not_ready(pool, self.limits.hold_s)
            waited[step.value] = waited.get(step.value, 0.0) + self._clock() - began_s
            raise RuntimeFault(Situation.NOT_READY, detail=detail, steps=waited) from None
        finally:
            traffic.held -= 1
            traffic.held_bytes -= size_bytes
        waited[step.value] = waited.get(step.value, 0.0) + self._clock() - began_s
        if pool.closed:
            raise PoolClosed
        if not pool.ready:
            raise RuntimeFault(Situation.NOT_READY, detail=_not_ready(pool, self._clock() - began_s), steps=waited)

    def _pick(self, pool: InstancePool, target: str | None) -> Incarnation:
        return pool.ready.pick(target) if target is not None else pool.ready.least_busy()

    async def _attempt(
        self,
        pool: InstancePool,
        member: Incarnation,
        headers: list[tuple[bytes, bytes]],
        body: Body,
        place: ErrorPlace,
    ) -> UpstreamAnswer:
        member.in_flight += 1
        try:
            return await member.upstream.send("POST", wire.INVOCATIONS, headers, body, self._patience_s(pool))
        except (UpstreamTimedOut, UpstreamBroken) as error:
            raise self._fault(error, pool, member, place) from None
        finally:
            pool.released(member)

    def _fault(self, error: UpstreamError, pool: InstancePool, member: Incarnation, place: ErrorPlace) -> RuntimeFault:
        """What it means that the request was sent and no answer came."""
        if isinstance(error, UpstreamTimedOut):
            return timed_out(place)
        pool.suspect(member)
        return no_response(place)

    def _patience_s(self, pool: InstancePool) -> float:
        """The instance keeps its own time limits and says so; this one is for an instance that says nothing."""
        return pool.answer_within_s + self.limits.attempt_margin_s


async def _woken(pool: InstancePool) -> None:
    """Returns when it can be used, or nobody should wait for it. One whose instances are taken away is woken again."""

    def settled() -> bool:
        return bool(pool.ready) or pool.closed or pool.hopeless

    while True:
        pool.wake()  # before it is asked: an asleep one may be hopeless from an earlier start
        await pool.until(lambda: settled() or not pool.size)
        if settled():
            return


def _not_ready(pool: InstancePool, waited_s: float) -> str:
    why = f" ({pool.trouble.reason})" if pool.trouble is not None else ""
    return f"No instance of production variant {pool.variant.name} was ready within {waited_s:g} s{why}. Try again."
