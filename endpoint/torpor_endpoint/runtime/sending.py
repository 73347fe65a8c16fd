"""The step send: to an instance that is ready, and to another one if the request never arrived.

Placement decides which instance serves a model; the sizer decides how many there are. The sender keeps no table of
models. A request that passes several containers is sent to each in its turn (`legs`).
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from torpor_container import wire
from torpor_container.transport.stream_client import StreamConnection, streamed
from torpor_container.transport.upstream import (
    JOINED_MAX_BYTES,
    UpstreamAnswer,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimedOut,
)
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.runtime.choosing import kept, let_go, note_session, pick, use, used
from torpor_endpoint.runtime.errors import RuntimeFault, no_response, timed_out
from torpor_endpoint.runtime.holding import HELD, Holding, HoldLimits, NobodyReady, PoolClosed
from torpor_endpoint.runtime.legs import current_leg, lacked_room, next_leg, note
from torpor_endpoint.runtime.passage import Leg, Passage, Served, routed

STREAM_IN_PARTS = (wire.STREAM.lower().encode(), wire.STREAM_IN_PARTS.encode())

Result = UpstreamAnswer | UpstreamError
Then = Callable[[Served | RuntimeFault | None], None]


class RequestSender:
    """`clock` gives seconds that only go forward. `strict`: AWS's limits hold between containers too. `traffic_clock`
    is that of the variants' idle times, unless it is `clock`."""

    def __init__(
        self,
        clock: Callable[[], float],
        strict: bool,
        held: HoldLimits = HELD,
        traffic_clock: Callable[[], float] | None = None,
    ) -> None:
        self._clock = clock
        self._traffic_clock = traffic_clock or clock
        self._strict = strict
        self._holding = Holding(clock, held)

    # -- whole answers ---------------------------------------------------------------------------------------------
    async def send(self, passage: Passage, sent: Callable[[], None] | None = None) -> Served:
        """Hold until an instance is ready, send, and wait for the answer. A request that no instance read is sent to
        another one.

        `sent` is called once the body is not needed for sending any more. Raises RuntimeFault, or PoolClosed before
        anything was sent: route the passage again then.
        """
        pool = routed(passage).pool
        pool.traffic.came(self._traffic_clock())
        in_flight = pool.traffic.in_flight
        until_s = self._clock() + passage.limits.hold_s
        try:
            outcome: Served | RuntimeFault | None = None
            while outcome is None:
                incarnation = await self._held_until_ready(passage, pool, until_s)
                outcome = await self._attempt(passage, incarnation, in_flight, sent)
        finally:
            let_go(passage)
            pool.traffic.went(self._traffic_clock())
        if isinstance(outcome, RuntimeFault):
            raise outcome
        return outcome

    def send_inline(self, passage: Passage, then: Then) -> bool:
        """Send the request if an instance is ready and the connection to it is open; else do nothing, and answer False.

        `then` is called once, with what `send` returns or raises, or with None if the rest needs `send`: no instance
        read the request, or its next container cannot be sent to at once.
        """
        pool = routed(passage).pool
        if not pool.ready:
            return False
        leg, now_s = current_leg(passage), self._clock()

        def ended(outcome: Served | RuntimeFault | None) -> None:
            pool.traffic.went(self._traffic_clock())
            then(outcome)

        if not self._send_leg(passage, leg, pool.traffic.in_flight + 1, now_s, ended):
            return False
        pool.traffic.came(self._traffic_clock())
        return True

    def _send_leg(self, passage: Passage, leg: Leg, in_flight: int, sent_at_s: float, then: Then) -> bool:
        """Send one part inline. False, and `then` is not called, where the connection is not open."""
        incarnation = pick(passage)

        def ended(result: Result) -> None:
            used(passage, incarnation)
            outcome = self._outcome(passage, leg, incarnation, in_flight, sent_at_s, result)
            if passage.trail is not None:
                if outcome is None and self._send_next(passage, leg, in_flight, then):
                    return
                if outcome is not None:
                    let_go(passage)
            then(outcome)

        (body,) = leg.body
        if not incarnation.containers[leg.container].multiplexed.send(leg.headers, body, leg.timeout_s, ended):
            return False
        use(passage, incarnation)
        return True

    def _send_next(self, passage: Passage, done: Leg, in_flight: int, then: Then) -> bool:
        """Send the next container its part inline, if there is one and that can be done at once."""
        leg = current_leg(passage)
        if leg.step == done.step or not (kept(passage, leg) or routed(passage).pool.ready):
            return False
        if len(leg.body) != 1 or len(leg.body[0]) > JOINED_MAX_BYTES:
            return False
        return self._send_leg(passage, leg, in_flight, self._clock(), then)

    # -- streams ---------------------------------------------------------------------------------------------------
    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Callable[[], None] | None = None, *, waits: bool = True
    ) -> AsyncIterator[tuple[StreamConnection | None, Served]]:
        """As `send`; the block begins when the head of the answer is there, and the instance is in use until it ends.
        Of several containers, the last one streams.

        The answer of `Served` has chunks only if it is no success, and then there may be no connection; `sent_s` is the
        time to the head. In the block, the connection raises StreamFailed and UpstreamBroken. Raises RuntimeFault and
        PoolClosed as `send`; without `waits`, NobodyReady in place of a wait for an instance with room.
        """
        pool = routed(passage).pool
        if not waits and not pool.ready.has_room:
            raise NobodyReady
        pool.traffic.came(self._traffic_clock())
        in_flight = pool.traffic.in_flight
        until_s = self._clock() + passage.limits.hold_s
        last = len(routed(passage).path) - 1
        async with AsyncExitStack() as uses:
            uses.callback(lambda: pool.traffic.went(self._traffic_clock()))
            uses.callback(let_go, passage)
            outcome: Served | RuntimeFault | None = None
            connection: StreamConnection | None = None
            while outcome is None:
                if not waits and not _has_room(passage, pool):
                    raise NobodyReady
                incarnation = await self._held_until_ready(passage, pool, until_s)
                leg, sent_at_s = current_leg(passage), self._clock()
                if leg.step < last:
                    outcome = await self._attempt(passage, incarnation, in_flight, sent)
                    continue
                attempt = await self._stream_attempt(leg, passage, incarnation, sent, uses)
                connection = attempt if isinstance(attempt, StreamConnection) else None
                result = attempt.answer if isinstance(attempt, StreamConnection) else attempt
                outcome = self._outcome(passage, leg, incarnation, in_flight, sent_at_s, result)
            let_go(passage)
            if isinstance(outcome, RuntimeFault):
                raise outcome
            try:
                yield connection, outcome
            finally:
                if connection is not None and connection.broken:
                    pool.suspect(incarnation)

    async def _stream_attempt(
        self,
        leg: Leg,
        passage: Passage,
        incarnation: Incarnation,
        sent: Callable[[], None] | None,
        uses: AsyncExitStack,
    ) -> StreamConnection | UpstreamError:
        """One try to begin a stream. One that begins keeps the instance in use until the end of `uses`."""
        headers = [*leg.headers, STREAM_IN_PARTS]
        async with AsyncExitStack() as begun:
            begun.enter_context(routed(passage).pool.streaming(incarnation))
            to = incarnation.containers[leg.container].upstream.address
            call = streamed(to, wire.INVOCATIONS, headers, leg.body, leg.timeout_s, _sent(leg, sent))
            try:
                connection = await begun.enter_async_context(call)
            except UpstreamError as error:
                return error
            uses.push_async_exit(begun.pop_all())
        return connection

    # -- one try ---------------------------------------------------------------------------------------------------
    async def _attempt(
        self, passage: Passage, incarnation: Incarnation, in_flight: int, sent: Callable[[], None] | None
    ) -> Served | RuntimeFault | None:
        """One try to send one part, to one instance: its outcome (see `_outcome`)."""
        leg, sent_at_s = current_leg(passage), self._clock()
        use(passage, incarnation)
        try:
            result: Result = await incarnation.containers[leg.container].upstream.send(
                "POST",
                wire.INVOCATIONS,
                leg.headers,
                leg.body,
                leg.timeout_s,
                sent=_sent(leg, sent),
                answer_max_bytes=passage.limits.answer_bytes,
            )
        except UpstreamError as error:
            result = error
        finally:
            used(passage, incarnation)
        return self._outcome(passage, leg, incarnation, in_flight, sent_at_s, result)

    def _outcome(
        self,
        passage: Passage,
        leg: Leg,
        incarnation: Incarnation,
        in_flight: int,
        sent_at_s: float,
        result: Result,
    ) -> Served | RuntimeFault | None:
        """What an attempt came to; None if `current_leg` is to be sent: no instance read this part, or another one
        follows."""
        pool = routed(passage).pool
        if isinstance(result, UpstreamAnswer):
            note_session(passage, incarnation, result)
            served = Served(result, incarnation.id, len(pool.ready), in_flight, self._clock() - sent_at_s)
            if passage.trail is None:
                return served
            if lacked_room(result):
                incarnation.lacked_room(leg.container)
            served = note(passage, leg, served)
            try:
                passage.trail.leg = next_leg(passage, leg, result, self._strict)
            except RuntimeFault as fault:
                return fault
            return served if passage.trail.leg is None else None
        if isinstance(result, UpstreamTimedOut):
            return timed_out(passage.place)
        pool.suspect(incarnation)
        return None if isinstance(result, UpstreamRefused) else no_response(passage.place)

    # -- hold ------------------------------------------------------------------------------------------------------
    async def _held_until_ready(self, passage: Passage, pool: VariantPool, until_s: float) -> Incarnation:
        """The instance to send to. Raises RuntimeFault, or PoolClosed if nothing was sent yet."""
        while not pool.ready and not kept(passage, current_leg(passage)):
            try:
                await self._holding.hold(passage, pool, until_s)
            except PoolClosed:
                if passage.trail is not None and passage.trail.leg is not None:
                    raise no_response(passage.place) from None  # the first container has acted on the request
                raise
        return pick(passage)


def _has_room(passage: Passage, pool: VariantPool) -> bool:
    """Whether a part of the request can be sent now."""
    return kept(passage, current_leg(passage)) or pool.ready.has_room


def _sent(leg: Leg, sent: Callable[[], None] | None) -> Callable[[], None] | None:
    """The caller's body is the caller's to release; a body between two containers is released once it is sent."""
    return sent if leg.step == 0 else leg.body.clear
