"""The steps of a passage between the caller and an instance: route, admit, hold, send.

Placement decides which instance serves a model; the sizer decides how many there are. The router keeps no table of
models.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from torpor_container import wire
from torpor_container.transport.streaming import StreamConnection, streamed
from torpor_container.transport.upstream import (
    UpstreamAnswer,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimedOut,
    size_of,
)
from torpor_endpoint.core.placement import weighted
from torpor_endpoint.core.sessions import SessionHolder, SessionKey
from torpor_endpoint.fleet.incarnation import Incarnation
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.roster import LiveEndpoint, Roster
from torpor_endpoint.services.runtime.errors import RuntimeFault, Situation, no_response, timed_out
from torpor_endpoint.services.runtime.passage import Passage, Route, Served
from torpor_endpoint.services.runtime.request import (
    EXPLANATIONS,
    INFERENCE_COMPONENT,
    MEMBERS,
    SESSION_ID,
    TARGET_CONTAINER,
    TARGET_MODEL,
    TARGET_VARIANT,
    Invoke,
)

NEW_SESSION = wire.NEW_SESSION_ID.lower().encode()
CLOSED_SESSION = wire.CLOSED_SESSION_ID.lower().encode()
OF_SEVERAL_CONTAINERS = (TARGET_CONTAINER, INFERENCE_COMPONENT)
"""The headers that choose one of several containers, in the order in which they are refused."""


@dataclass(frozen=True)
class HoldLimits:
    """How many requests one variant holds at a time while no instance is ready, and bytes of their bodies together."""

    requests: int = 1000
    bytes: int = 256 * 1024 * 1024


HELD = HoldLimits()
DRAW = "torpor.draw"
"""The key of the scope under which a request keeps its draw between the inline way and the way by ASGI."""
STREAM_IN_PARTS = (wire.STREAM.lower().encode(), wire.STREAM_IN_PARTS.encode())


class PoolClosed(Exception):
    """The pool that a request waited for is no more: its endpoint was updated or deleted meanwhile."""


class Router:
    """`draw` gives numbers from 0 to 1 for the weights; `clock` seconds that only go forward."""

    def __init__(
        self,
        roster: Roster,
        draw: Callable[[], float],
        clock: Callable[[], float],
        strict: bool,
        held: HoldLimits = HELD,
        traffic_clock: Callable[[], float] | None = None,
    ) -> None:
        """`traffic_clock` is that of the variants' idle times, unless it is `clock`."""
        self._roster = roster
        self._draw = draw
        self._clock = clock
        self._traffic_clock = traffic_clock or clock
        self._strict = strict
        self._held = held

    # -- route -----------------------------------------------------------------------------------------------------
    def route(self, passage: Passage) -> None:
        """Raises RuntimeFault for the first rule that the request breaks."""
        passage.route = None
        request = _parsed(passage)
        live = self._endpoint(passage.place.endpoint)
        if passage.request_bytes > passage.limits.body_bytes:
            raise RuntimeFault(Situation.OVERSIZE, limit=passage.limits.body_bytes)
        request.check()
        named = request.text(TARGET_VARIANT)
        variant = self._variant(live, _variant_of_session(live, request) if named is None else named, passage)
        pool, target = live.pools[variant], request.text(TARGET_MODEL)
        check_target(pool, target)
        _check_supported(live, request)
        if pool.variant.serverless is not None and passage.request_bytes > passage.limits.serverless_body_bytes:
            raise RuntimeFault(Situation.OVERSIZE_SERVERLESS)
        passage.route = Route(live, variant, pool, target)

    def _endpoint(self, name: str) -> LiveEndpoint:
        live = self._roster.get(name)
        if live is not None and live.trouble is not None:
            raise RuntimeFault(Situation.PARAMETER, detail=live.trouble)
        if live is None or not live.pools:
            raise RuntimeFault(Situation.ENDPOINT_UNKNOWN)
        return live

    def _variant(self, live: LiveEndpoint, named: str | None, passage: Passage) -> str:
        """Draws once for each request, whichever way it goes: a request that cannot go inline keeps its variant."""
        if named is None and len(live.production) == 1:
            return next(iter(live.production))
        if named is None:
            if DRAW not in passage.scope:
                passage.scope[DRAW] = self._draw()
            return weighted(live.weights, passage.scope[DRAW])
        if named not in live.production:  # a shadow variant answers no caller, not even one that names it
            raise RuntimeFault(Situation.VARIANT_UNKNOWN, variant=named, variants=", ".join(live.production))
        return named

    # -- admit -----------------------------------------------------------------------------------------------------
    def admit(self, passage: Passage) -> None:
        """Raises RuntimeFault for a request that the variant does not take now."""
        pool = _routed(passage).pool
        serverless = pool.variant.serverless
        if serverless is not None and pool.traffic.in_flight >= serverless.max_concurrency:
            raise RuntimeFault(Situation.THROTTLED)
        if self._strict and serverless is None and not pool.ready and not pool.size:
            # AWS fails invocations at zero instances, and does not queue them; serverless ones wait.
            raise RuntimeFault(Situation.NO_CAPACITY, variant=pool.variant.name)

    # -- hold and send ---------------------------------------------------------------------------------------------
    async def send(self, passage: Passage, sent: Callable[[], None] | None = None) -> Served:
        """Hold until an instance is ready, send, and wait for the answer. A request that no instance read is sent to
        another one.

        `sent` is called once the body is not needed for sending any more. Raises RuntimeFault, or PoolClosed before
        anything was sent: route the passage again then.
        """
        pool = _routed(passage).pool
        pool.traffic.came(self._traffic_clock())
        in_flight = pool.traffic.in_flight
        until_s = self._clock() + passage.limits.hold_s
        try:
            while True:
                if not pool.ready:
                    await self._hold(passage, pool, until_s)
                incarnation, sent_at_s = self._pick(passage), self._clock()
                result = await self._attempt(passage, incarnation, sent)
                outcome = self._outcome(passage, incarnation, in_flight, sent_at_s, result)
                if isinstance(outcome, Served):
                    return outcome
                if outcome is not None:
                    raise outcome
        finally:
            pool.traffic.went(self._traffic_clock())

    def send_inline(self, passage: Passage, then: Callable[[Served | RuntimeFault | None], None]) -> bool:
        """Send the request if an instance is ready and the connection to it is open; else do nothing, and answer False.

        `then` is called once, with what `send` returns or raises, or with None if no instance read the request: `send`
        it then.
        """
        pool = _routed(passage).pool
        if not pool.ready:
            return False
        incarnation, sent_at_s = self._pick(passage), self._clock()

        def ended(result: UpstreamAnswer | UpstreamError) -> None:
            pool.released(incarnation)
            pool.traffic.went(self._traffic_clock())
            then(self._outcome(passage, incarnation, in_flight, sent_at_s, result))

        (body,) = passage.body
        if not incarnation.multiplexed.send(_forwarded(passage), body, _timeout_s(passage), ended):
            return False
        pool.traffic.came(self._traffic_clock())
        in_flight = pool.traffic.in_flight
        incarnation.in_flight += 1
        return True

    # -- streams ---------------------------------------------------------------------------------------------------
    def route_stream(self, passage: Passage) -> None:
        """As `route`, for InvokeEndpointWithResponseStream. AWS has no route for it to one of many models."""
        live = self._endpoint(passage.place.endpoint)
        if self._strict and any(pool.variant.container.multi_model for pool in live.pools.values()):
            detail = f"Endpoint {live.name} has many models: InvokeEndpointWithResponseStream takes no TargetModel."
            raise RuntimeFault(Situation.PARAMETER, detail=detail)
        self.route(passage)

    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Callable[[], None] | None = None
    ) -> AsyncIterator[tuple[StreamConnection, Served]]:
        """As `send`; the block begins when the head of the answer is there, and the instance is in use until it ends.

        The answer of `Served` has chunks only if it is no success, and its `sent_s` is the time to the head. In the
        block, the connection raises StreamFailed and UpstreamBroken. Raises RuntimeFault and PoolClosed as `send`.
        """
        pool = _routed(passage).pool
        pool.traffic.came(self._traffic_clock())
        in_flight = pool.traffic.in_flight
        until_s = self._clock() + passage.limits.hold_s
        async with AsyncExitStack() as use:
            use.callback(lambda: pool.traffic.went(self._traffic_clock()))
            outcome: Served | RuntimeFault | None = None
            while outcome is None:
                if not pool.ready:
                    await self._hold(passage, pool, until_s)
                incarnation, sent_at_s = self._pick(passage), self._clock()
                attempt = await self._stream_attempt(passage, incarnation, sent, use)
                result = attempt.answer if isinstance(attempt, StreamConnection) else attempt
                outcome = self._outcome(passage, incarnation, in_flight, sent_at_s, result)
            if isinstance(outcome, RuntimeFault):
                raise outcome
            assert isinstance(attempt, StreamConnection), "only an answer is served"
            yield attempt, outcome

    async def _stream_attempt(
        self, passage: Passage, incarnation: Incarnation, sent: Callable[[], None] | None, use: AsyncExitStack
    ) -> StreamConnection | UpstreamError:
        """One try to begin a stream. One that begins keeps the instance in use until the end of `use`."""
        headers = [*_forwarded(passage), STREAM_IN_PARTS]
        async with AsyncExitStack() as begun:
            begun.enter_context(_routed(passage).pool.streaming(incarnation))
            to = incarnation.upstream.address
            call = streamed(to, wire.INVOCATIONS, headers, passage.body, _timeout_s(passage), sent)
            try:
                connection = await begun.enter_async_context(call)
            except UpstreamError as error:
                return error
            use.push_async_exit(begun.pop_all())
        return connection

    def _pick(self, passage: Passage) -> Incarnation:
        route = _routed(passage)
        if (holder := _holder(passage, route)) is not None:
            return holder
        return route.pool.ready.pick(route.target) if route.target is not None else route.pool.ready.least_busy()

    async def _attempt(
        self, passage: Passage, incarnation: Incarnation, sent: Callable[[], None] | None
    ) -> UpstreamAnswer | UpstreamError:
        """One try to send the request, to one instance."""
        incarnation.in_flight += 1
        try:
            return await incarnation.upstream.send(
                "POST",
                wire.INVOCATIONS,
                _forwarded(passage),
                passage.body,
                _timeout_s(passage),
                sent=sent,
                answer_max_bytes=passage.limits.answer_bytes,
            )
        except UpstreamError as error:
            return error
        finally:
            _routed(passage).pool.released(incarnation)

    def _outcome(
        self,
        passage: Passage,
        incarnation: Incarnation,
        in_flight: int,
        sent_at_s: float,
        result: UpstreamAnswer | UpstreamError,
    ) -> Served | RuntimeFault | None:
        """What an attempt came to; None if no instance read the request, which is to be sent again."""
        pool = _routed(passage).pool
        if isinstance(result, UpstreamAnswer):
            _note_session(passage, incarnation, result)
            return Served(result, incarnation.id, len(pool.ready), in_flight, self._clock() - sent_at_s)
        if isinstance(result, UpstreamTimedOut):
            return timed_out(passage.place)
        pool.suspect(incarnation)
        return None if isinstance(result, UpstreamRefused) else no_response(passage.place)

    async def _hold(self, passage: Passage, pool: InstancePool, until_s: float) -> None:
        """Wait, within bounds, until an instance is ready: the variant wakes, or an instance is free to take requests.

        Raises RuntimeFault, or PoolClosed.
        """
        if pool.closed:
            raise PoolClosed
        traffic, size_bytes = pool.traffic, size_of(passage.body)
        if traffic.held >= self._held.requests or traffic.held_bytes + size_bytes > self._held.bytes:
            raise RuntimeFault(Situation.HOLD_FULL, held=traffic.held)
        began_s = self._clock()
        step = (wire.WaitStep.HOLD if pool.size else wire.WaitStep.WAKE).value
        traffic.held += 1
        traffic.held_bytes += size_bytes
        try:
            async with asyncio.timeout(until_s - began_s):
                await _woken(pool)
        except TimeoutError:
            passage.waited(step, self._clock() - began_s)
            raise _not_ready(passage, pool, passage.limits.hold_s) from None
        finally:
            traffic.held -= 1
            traffic.held_bytes -= size_bytes
        passage.waited(step, self._clock() - began_s)
        if pool.closed:
            raise PoolClosed
        if not pool.ready:
            raise _not_ready(passage, pool, self._clock() - began_s)


def _parsed(passage: Passage) -> Invoke:
    assert passage.request is not None, "the step parse comes first"
    return passage.request


def _routed(passage: Passage) -> Route:
    assert passage.route is not None, "the step route comes first"
    return passage.route


def _forwarded(passage: Passage) -> list[tuple[bytes, bytes]]:
    return _parsed(passage).forwarded(_routed(passage).target)


def _timeout_s(passage: Passage) -> float:
    return _routed(passage).pool.answer_within_s + passage.limits.attempt_margin_s


def check_target(pool: InstancePool, target: str | None) -> None:
    """A multi-model variant needs a target model, and no other variant takes one. Raises RuntimeFault."""
    if pool.variant.container.multi_model and target is None:
        raise RuntimeFault(Situation.TARGET_MISSING)
    if not pool.variant.container.multi_model and target is not None:
        raise RuntimeFault(Situation.TARGET_NOT_SUPPORTED)


def _check_supported(live: LiveEndpoint, request: Invoke) -> None:
    """Raises RuntimeFault for a header that asks for what no variant has."""
    if (header := request.first_of(OF_SEVERAL_CONTAINERS)) is not None:
        detail = f"Endpoint {live.name} takes no {MEMBERS[header].name}: its variants have one container each."
        raise RuntimeFault(Situation.PARAMETER, detail=detail)
    if EXPLANATIONS in request.headers:
        detail = f"Endpoint {live.name} has no explainer: it takes no EnableExplanations."
        raise RuntimeFault(Situation.PARAMETER, detail=detail)


def _holder(passage: Passage, route: Route) -> Incarnation | None:
    """The instance that holds the request's session; None if the request has none, or that instance is not ready."""
    session = _parsed(passage).headers.get(SESSION_ID)
    if session is None:
        return None
    held = route.pool.sessions.holder(_session_key(route.target, session))
    ready = held and route.pool.ready.get(held.slot)
    return ready if held and ready and ready.id == held.incarnation else None


def _note_session(passage: Passage, incarnation: Incarnation, answer: UpstreamAnswer) -> None:
    """Remember a session that a model began, and forget one that it ended."""
    if SESSION_ID not in _parsed(passage).headers:
        return
    route = _routed(passage)
    if (began := answer.header(NEW_SESSION)) is not None:
        session = _session_key(route.target, began.partition(b";")[0])
        route.pool.sessions.began(session, SessionHolder(str(incarnation.slot), incarnation.id))
    if (ended := answer.header(CLOSED_SESSION)) is not None:
        route.pool.sessions.ended(_session_key(route.target, ended))


def _session_key(target: str | None, session: bytes) -> SessionKey:
    return SessionKey(target and target.removeprefix("/"), session)


def _variant_of_session(live: LiveEndpoint, request: Invoke) -> str | None:
    """The variant that has the request's session; None if no variant has it, or there is only one variant."""
    if len(live.production) == 1 or (session := request.headers.get(SESSION_ID)) is None:
        return None
    key = _session_key(request.text(TARGET_MODEL), session)
    return next((name for name, pool in live.production.items() if pool.sessions.holder(key) is not None), None)


async def _woken(pool: InstancePool) -> None:
    """Returns when the pool has a ready instance, or nobody should wait for one. A pool whose instances are taken away
    meanwhile is woken again."""

    def settled() -> bool:
        return bool(pool.ready) or pool.closed or pool.hopeless

    while True:
        pool.wake()  # first: a pool at zero instances may be hopeless from an earlier start
        await pool.until(lambda: settled() or not pool.size)
        if settled():
            return


def _not_ready(passage: Passage, pool: InstancePool, waited_s: float) -> RuntimeFault:
    why = f" ({pool.trouble.reason})" if pool.trouble is not None else ""
    detail = f"No instance of production variant {pool.variant.name} was ready within {waited_s:g} s{why}. Try again."
    return RuntimeFault(Situation.NOT_READY, detail=detail, steps=dict(passage.steps))
