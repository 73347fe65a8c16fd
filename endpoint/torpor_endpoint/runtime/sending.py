"""The step send: drives the machine of a request (`core.sending.machine`) to its end, over connections to instances.

Placement decides which instance serves a model; the sizer decides how many there are. The sender keeps no table of
models.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from torpor_container.transport.frames import lines
from torpor_container.transport.parts import IN_PARTS
from torpor_container.transport.stream_client import StreamConnection
from torpor_container.transport.upstream import JOINED_MAX_BYTES, size_of
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.resource_records import CopyNeeds
from torpor_endpoint.core.sending.adapter_headers import INFERENCE_COMPONENT, with_adapter
from torpor_endpoint.core.sending.machine import END, HOLD, SEND, Sending, SendingFailure, SendingRules
from torpor_endpoint.core.sending.trail import Trail
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.sending_driver import Result, came, driven, instance_of, whole
from torpor_endpoint.runtime.errors import RuntimeFault, Situation, no_response, timed_out
from torpor_endpoint.runtime.holding import HELD, Holding, HoldLimits, NobodyReady, PoolClosed
from torpor_endpoint.runtime.passage import Passage, Served, routed

Then = Callable[[Served | RuntimeFault | None], None]
Sent = Callable[[], None] | None
"""Called once the caller's body is not needed for sending any more."""


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
        self._rules = SendingRules(strict)
        self._with_room = SendingRules(strict, needs_room=True)
        self._holding = Holding(clock, held)

    async def send(self, passage: Passage, sent: Sent = None) -> Served:
        """Hold until an instance is ready, send, and wait for the answer. A request that no instance read is sent to
        another one. Raises RuntimeFault, or PoolClosed before a container has acted: route the passage again then."""
        pool, until_s = routed(passage).pool, self._clock() + passage.limits.hold_s
        pool.traffic.came(self._traffic_clock())
        sending, in_flight = self._machine(passage, self._rules), pool.traffic.in_flight

        async def exchange() -> UpstreamAnswer:
            return await whole(sending, passage.limits.answer_bytes, sent)

        try:
            await driven(sending, self._clock, lambda: self._held(passage, pool, sending, until_s), exchange)
        finally:
            sending.let_go()
            pool.traffic.went(self._traffic_clock())
        return served_or_raised(outcome_of(passage, sending, in_flight))

    def send_inline(self, passage: Passage, then: Then) -> bool:
        """Send the request if an instance is ready and the connection to it is open; else do nothing, and answer False.

        `then` is called once, with what `send` returns or raises, or with None if the rest needs `send`: an instance
        must be waited for, or the next leg cannot be sent at once.
        """
        assert passage.route is not None, "the step route comes first"
        sending, traffic = self._machine(passage, self._rules), passage.route.pool.traffic
        in_flight = traffic.in_flight + 1

        def ended(result: Result) -> None:
            step = came(sending, result, self._clock())
            if step == SEND and _sent_at_once(sending, lines(sending.headers), ended):
                return
            if step == END or not sending.acted:
                sending.let_go()
            traffic.went(self._traffic_clock())
            then(outcome_of(passage, sending, in_flight) if step == END else None)

        if sending.ready(self._clock()) == HOLD:
            return False
        way = passage.way
        head = way.head if way is not None and sending.headers is way.headers else lines(sending.headers)
        if not _sent_at_once(sending, head, ended):
            sending.let_go()
            return False
        traffic.came(self._traffic_clock())
        return True

    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Sent = None, *, waits: bool = True
    ) -> AsyncIterator[tuple[StreamConnection | None, Served]]:
        """As `send`; the block begins when the head of the answer is there, and the instance is in use until it ends.
        Of several containers, the last one streams.

        The answer of `Served` has chunks only if it is no success, and then there may be no connection; `sent_s` is the
        time to the head. In the block, the connection raises StreamFailed and UpstreamBroken. Raises RuntimeFault and
        PoolClosed as `send`; without `waits`, NobodyReady in place of a wait for an instance with room.
        """
        pool, until_s = routed(passage).pool, self._clock() + passage.limits.hold_s
        if not waits and not pool.ready.has_room:
            raise NobodyReady
        pool.traffic.came(self._traffic_clock())
        in_flight, last = pool.traffic.in_flight, len(routed(passage).path) - 1
        sending = self._machine(passage, self._rules if waits else self._with_room)
        connection: StreamConnection | None = None

        async def hold() -> None:
            if not waits:
                raise NobodyReady
            await self._held(passage, pool, sending, until_s)

        async with AsyncExitStack() as uses:
            uses.callback(lambda: pool.traffic.went(self._traffic_clock()))
            uses.callback(sending.let_go)

            async def exchange() -> UpstreamAnswer:
                nonlocal connection
                if sending.step < last:
                    return await whole(sending, passage.limits.answer_bytes, sent)
                connection = await _stream(sending, pool, sent, uses)
                return connection.answer

            await driven(sending, self._clock, hold, exchange)
            served = served_or_raised(outcome_of(passage, sending, in_flight))
            try:
                yield connection, served
            finally:
                if connection is not None and connection.broken:
                    pool.suspect(instance_of(sending))

    async def chosen(self, passage: Passage) -> Incarnation:
        """The instance that the request would be sent to, once one is ready. Raises as `send`."""
        pool, until_s = routed(passage).pool, self._clock() + passage.limits.hold_s
        sending = self._machine(passage, self._rules)
        while sending.ready(self._clock()) == HOLD:
            await self._held(passage, pool, sending, until_s)
        sending.let_go()
        return instance_of(sending)

    def _machine(self, passage: Passage, rules: SendingRules) -> Sending[Incarnation]:
        """That of a routed request. One that a container has acted on keeps its own."""
        if passage.sending is not None and passage.sending.acted:
            return passage.sending
        assert passage.request is not None, "the step parse comes first"
        assert passage.route is not None, "the step route comes first"
        _, _, pool, target, path, _, _, adapter = passage.route
        containers, headers = pool.variant.containers, passage.request.headers
        if (copies := pool.variant.copies) is not None:
            headers = _of_component(passage, headers, copies)
        passage.trail = None if len(containers) == 1 else Trail(totals=passage.steps)
        way = None if passage.wants_version or passage.trace is not None else passage.way
        passage.sending = sending = Sending(
            pool,
            containers,
            path,
            pool.answer_within_s,
            passage.limits.attempt_margin_s,
            headers,
            target,
            target if target is not None else adapter or None,
            passage.body,
            rules,
            passage.trail,
            passage.wants_version,
            passage.trace,
            None if way is None else way.headers,
        )
        if way is not None and way.headers is None:
            way.headers, way.head = sending.headers, lines(sending.headers)
        return sending

    async def _held(self, passage: Passage, pool: VariantPool, sending: Sending[Incarnation], until_s: float) -> None:
        """Raises RuntimeFault, or PoolClosed if no container has acted on the request."""
        try:
            await self._holding.hold(passage, pool, size_of(sending.body), until_s)
        except PoolClosed:
            if sending.acted:
                raise no_response(passage.place) from None
            raise


def _of_component(passage: Passage, headers: dict[bytes, bytes], copies: CopyNeeds) -> dict[bytes, bytes]:
    """The headers for the copies of an inference component, with an adapter's. Raises RuntimeFault for one that was
    deleted while the request waited; a way that others have gone before leads to none."""
    if not copies.adapters and passage.way is not None and passage.way.headers is not None:
        return headers
    found = with_adapter(headers, copies)
    if found is None:
        named = headers.get(INFERENCE_COMPONENT, b"").decode()
        raise RuntimeFault(Situation.COMPONENT_UNKNOWN, component=named)
    return found


def _sent_at_once(sending: Sending[Incarnation], head: bytes, then: Callable[[Result], None]) -> bool:
    """Send the leg that the machine has, with its headers as lines, if that is small and the connection is open; else
    False."""
    body, instance = sending.body, sending.instance
    if len(body) != 1 or len(body[0]) > JOINED_MAX_BYTES or instance is None:
        return False
    to = instance.containers[sending.container].multiplexed
    return to.send(head, body[0], sending.timeout_s, then)


async def _stream(
    sending: Sending[Incarnation], pool: VariantPool, sent: Sent, uses: AsyncExitStack
) -> StreamConnection:
    """Begin a stream, which ends with `uses`. Raises UpstreamError."""
    instance = instance_of(sending)
    headers, body = [*sending.headers, IN_PARTS], sending.body
    release = sent if not sending.step else body.clear
    async with AsyncExitStack() as begun:
        begun.enter_context(pool.streaming(instance))
        call = instance.containers[sending.container].streamed(
            headers, body, sending.timeout_s, None if sending.resendable else release
        )
        connection = await begun.enter_async_context(call)
        uses.push_async_exit(begun.pop_all())
    return connection


def outcome_of(passage: Passage, sending: Sending[Incarnation], in_flight: int) -> Served | RuntimeFault:
    """What the machine came to. Errors name the container, where there are several."""
    assert passage.route is not None, "the step route comes first"
    assert sending.instance is not None, "it was sent"
    answer, passage.sending = sending.answer, None
    if sending.trail is not None:
        passage.home = passage.home._replace(container=sending.place)
    if sending.failure is None:
        assert isinstance(answer, UpstreamAnswer), "without a failure there is an answer"
        ready = passage.route.pool.ready
        return Served(answer, sending.instance.id, ready.count, in_flight, sending.took_s, sending.requests)
    if sending.failure is SendingFailure.TIMED_OUT:
        return timed_out(passage.place)
    if sending.failure is SendingFailure.BROKEN or answer is None:
        return no_response(passage.place)
    return RuntimeFault(
        Situation.HOP_OVERSIZE,
        original=(answer.status, ""),
        container=sending.place,
        following=sending.following,
        status=answer.status,
        size=size_of(answer.chunks),
    )


def served_or_raised(outcome: Served | RuntimeFault) -> Served:
    """Raises RuntimeFault."""
    if isinstance(outcome, RuntimeFault):
        raise outcome
    return outcome
