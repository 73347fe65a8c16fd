"""The HTTP face of InvokeEndpoint: drives each request through the steps of its passage (see `passage`).

Bytes go through as they are. A request that cannot go inline begins again by ASGI.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from torpor_account.aws.wire.asgi import Disconnected, Receive, Scope, Send, Tell
from torpor_account.aws.wire.scope import DEFAULT_REGION, region_of
from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.log_lines import LogFields, about
from torpor_container import wire
from torpor_container.transport.upstream import Body, size_of
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.errors import (
    ErrorPlace,
    RuntimeFault,
    Situation,
    check_attributes,
    from_answer,
    wire_form,
)
from torpor_endpoint.runtime.holding import PoolClosed
from torpor_endpoint.runtime.observing.observers import Observers
from torpor_endpoint.runtime.passage import (
    CallLimits,
    InvokeAnswer,
    Passage,
    Route,
    Served,
    Step,
    server_timing,
)
from torpor_endpoint.runtime.request import Invoke, read_body
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.runtime.shadowing import CopyEnds, Shadowing
from torpor_endpoint.runtime.streams import ResponseStreams, StreamEnds, parse_stream

log = logging.getLogger(__name__)

T = TypeVar("T")

PREFIX = "/endpoints/"
INVOCATIONS = "invocations"
INVOCATIONS_STREAM = "invocations-response-stream"
INVOCATIONS_ASYNC = "async-invocations"
LIMITS = CallLimits()
FAILED = "request %s to endpoint %s failed"
COPIED = frozenset(name.lower().encode() for name in wire.RETURNED)


@dataclass(frozen=True)
class AccountAndRegion:
    number: str
    region: str = DEFAULT_REGION
    console: bool = False  # see `ErrorPlace`

    def place(self, endpoint: str) -> ErrorPlace:
        """That of a new request to an endpoint."""
        return ErrorPlace(endpoint, self.number, self.region, request_id(), console=self.console)


@dataclass(frozen=True)
class Clocks:
    """`epoch` gives seconds since 1970, `steady` seconds that only go forward."""

    epoch: Callable[[], float]
    steady: Callable[[], float]


class AsyncFace(Protocol):
    """Answers InvokeEndpointAsync."""

    async def serve(
        self, passage: Passage, receive: Receive, send: Send, before: Sequence[Step], ends: StreamEnds
    ) -> None:
        """Answer a request. `before` are the steps before the parsing of its headers."""


def any_caller(passage: Passage) -> None:
    """The step verify: `access.door` has verified the caller, or the endpoint trusts whoever reaches its port."""


def parse(passage: Passage) -> None:
    passage.request = Invoke.read(passage.scope)


class RuntimeApp:
    """`POST /endpoints/{EndpointName}/invocations` and `…/invocations-response-stream`. Any other operation is refused.

    `verify` raises RuntimeFault for a caller who may not call. Without `shadowing` no request is copied to a shadow
    variant, and without `asynchronous` InvokeEndpointAsync is refused. `trace` finds a request's place in a distributed
    trace (`telemetry.tracing`).
    """

    def __init__(
        self,
        router: Router,
        sender: RequestSender,
        observers: Observers,
        account: AccountAndRegion,
        clocks: Clocks,
        limits: CallLimits = LIMITS,
        verify: Step = any_caller,
        shadowing: Shadowing | None = None,
        trace: Step | None = None,
        asynchronous: AsyncFace | None = None,
    ) -> None:
        self._sender = sender
        self._observers = observers
        self._home = account
        self._clocks = clocks
        self._limits = limits
        self._shadowing = shadowing
        self._asynchronous = asynchronous
        self._copy_ends = CopyEnds(observers.reads_bodies, self._copy_ended)
        self._to_copy: Sequence[object] = () if shadowing is None else shadowing.waiting
        self._first = first = (verify,) if trace is None else (trace, verify)
        self._before_sending: Sequence[Step] = (*first, parse, router.route, router.admit)
        before_streaming = (*first, parse_stream, router.route_stream, router.admit)
        self._ends = ends = StreamEnds(self._settled, self._answer, self._account, self._release)
        self._streams = ResponseStreams(sender, observers, before_streaming, ends, clocks.steady, limits.kept)
        self._sent_again: set[asyncio.Task[None]] = set()

    # -- the two ways through the steps ----------------------------------------------------------------------------
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes any request, and waits where a step has to."""
        passage, operation = self._begin(scope)
        if operation == INVOCATIONS_STREAM:
            await self._streams.serve(passage, receive, send)
            return
        if operation == INVOCATIONS_ASYNC and self._asynchronous is not None:
            await self._asynchronous.serve(passage, receive, send, self._first, self._ends)
            return
        try:
            answer = self._answer(passage, await self._settled(passage, self._received(passage, operation, receive)))
        except Disconnected:
            return
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
            await _send_all(list(answer.chunks) if self._observers.reads_bodies(passage) else answer.chunks, send)
        finally:
            self._account(passage, answer)

    def take_inline(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """Takes a request that waits for nothing on its way to a ready instance (see `aws.wire.asgi.TakeInline`).

        A request that is refused or has to wait is left to come by ASGI.
        """
        passage, operation = self._begin(scope)
        if operation != INVOCATIONS:
            return False
        passage.body, passage.request_bytes = [body], len(body)
        try:
            self._prepare(passage)
        except RuntimeFault:
            return False
        self._observers.reads_bodies(passage)
        sent = self._sender.send_inline(passage, partial(self._tell, passage, tell))
        self._observers.meanwhile()
        if self._to_copy and self._shadowing is not None:
            self._shadowing.meanwhile()
        return sent

    def _tell(self, passage: Passage, tell: Tell, outcome: Served | RuntimeFault | None) -> None:
        """The end of a request that was taken inline. One that no instance read is sent again, by a task."""
        if outcome is None:
            task = asyncio.create_task(self._send_again(passage, tell))
            self._sent_again.add(task)
            task.add_done_callback(self._sent_again.discard)
            return
        answer = self._answer(passage, outcome)
        tell(answer.status, answer.headers, b"".join(answer.chunks))
        self._account(passage, answer)

    async def _send_again(self, passage: Passage, tell: Tell) -> None:
        self._tell(passage, tell, await self._settled(passage, self._sent(passage)))

    # -- the steps -------------------------------------------------------------------------------------------------
    def _begin(self, scope: Scope) -> tuple[Passage, str]:
        """The record, and the operation by its last part of the path. An ARN as the endpoint's name has a slash."""
        name, _, operation = scope["path"].removeprefix(PREFIX).rpartition("/")
        place = self._home.place(name)
        return Passage(scope, place, self._limits, self._clocks.epoch(), self._clocks.steady()), operation

    def _prepare(self, passage: Passage) -> None:
        """All steps before sending. Raises RuntimeFault of the first that refuses the request."""
        for step in self._before_sending:
            step(passage)

    async def _received(self, passage: Passage, operation: str, receive: Receive) -> Served:
        """All steps up to the instance's answer, from the first byte of the body on."""
        passage.body, passage.request_bytes = await read_body(passage.scope, receive, self._limits.body_bytes)
        if operation != INVOCATIONS:
            raise RuntimeFault(Situation.NOT_IMPLEMENTED, detail=f"/endpoints/{{EndpointName}}/{operation} yet")
        return await self._sent(passage)

    async def _sent(self, passage: Passage) -> Served:
        """All steps up to the instance's answer, for a request that is whole."""
        while True:
            if passage.sending is None or not passage.sending.acted:
                self._prepare(passage)
            try:
                return await self._sender.send(passage, self._release(passage))
            except PoolClosed:  # the endpoint was updated meanwhile: its other pool takes the request
                continue

    def _release(self, passage: Passage) -> Callable[[], None] | None:
        """What releases a routed request's body once it is sent; None if an observer or a shadow variant needs it."""
        return None if self._observers.reads_bodies(passage) or _is_shadowed(passage) else passage.body.clear

    async def _settled(self, passage: Passage, served: Awaitable[T]) -> T | RuntimeFault:
        """What a request came to. Raises Disconnected."""
        try:
            return await served
        except RuntimeFault as fault:
            return fault
        except Disconnected:
            raise
        except RecordsFault as fault:
            if not fault.told:
                log.error(f"{FAILED}: %s", passage.request_id, passage.place.endpoint, fault, extra=_known(passage))
            return RuntimeFault(Situation.DATABASE_AWAY)
        except Exception:  # the outer edge: the fault of one request is logged and answered, and harms no other request
            log.exception(FAILED, passage.request_id, passage.place.endpoint, extra=_known(passage))
            return RuntimeFault(Situation.INTERNAL)

    def _answer(self, passage: Passage, outcome: Served | RuntimeFault) -> InvokeAnswer:
        """The answer for the caller, with the headers that every answer has. The passage has ended."""
        try:
            answer = _answer_of(passage, outcome)
        except RuntimeFault as fault:
            answer = _refusal(passage, fault)
            if fault.situation is Situation.THROTTLED and passage.route is not None:
                passage.route.pool.refused += 1  # with its answer: a request may take the step admit twice
        except Exception:  # the outer edge, as above
            log.exception(FAILED, passage.request_id, passage.place.endpoint, extra=_known(passage))
            answer = _refusal(passage, RuntimeFault(Situation.INTERNAL))
        size_bytes = size_of(answer.chunks)
        passage.end(answer.status, size_bytes, self._clocks.steady() - passage.began_s)
        answer.headers.append((b"x-amzn-requestid", passage.request_id.encode()))
        answer.headers.append((b"server-timing", server_timing(passage.steps)))
        answer.headers.append((b"content-length", b"%d" % size_bytes))
        return answer

    def _account(self, passage: Passage, answer: InvokeAnswer) -> None:
        """The last step: observers see the request and its answer, and the bodies are released."""
        self._observers.see(passage, answer)
        if _is_shadowed(passage):
            self._copy(passage)
        passage.body.clear()
        answer.chunks.clear()
        self._observers.account(passage, answer)

    # -- copies for shadow variants --------------------------------------------------------------------------------
    def _copy(self, passage: Passage) -> None:
        if self._shadowing is not None and passage.route is not None:
            self._shadowing.copy(passage, passage.route, self._copy_ends)

    def _copy_ended(self, copy: Passage, outcome: Served | RuntimeFault) -> None:
        """A copy ends as a request does, but nobody gets its answer."""
        self._account(copy, self._answer(copy, outcome))


def _known(passage: Passage) -> dict[str, object]:
    """The fields of a line in the log about a request."""
    known: LogFields = {"request_id": passage.request_id, "endpoint": passage.place.endpoint}
    if passage.route is not None:
        known["variant"] = passage.route.variant
    return about(**known)


def _is_shadowed(passage: Passage) -> bool:
    """Whether the endpoint has a shadow variant, which may get a copy of the request."""
    return passage.route is not None and bool(passage.route.live.shadows)


def _answer_of(passage: Passage, outcome: Served | RuntimeFault) -> InvokeAnswer:
    """Raises RuntimeFault if the request was not served well."""
    route = passage.route
    if route is None:
        assert isinstance(outcome, RuntimeFault), "only a routed request is served"
        raise outcome
    passage.outcome = outcome
    if isinstance(outcome, RuntimeFault):
        raise outcome
    return _copied(passage, route, outcome)


def _copied(passage: Passage, route: Route, served: Served) -> InvokeAnswer:
    """The instance's answer, as the caller gets it. Raises RuntimeFault for one that fails or that cannot be sent."""
    answer = served.answer
    passage.measured(answer)
    if not 200 <= answer.status < 300:
        fault = from_answer(answer, passage.place)
        answer.chunks.clear()
        raise fault
    headers = [header for header in answer.headers if header[0] in COPIED]
    check_attributes(headers, passage.place)
    headers.append((b"x-amzn-invoked-production-variant", route.variant.encode()))
    return InvokeAnswer(answer.status, headers, answer.chunks)


def _refusal(passage: Passage, fault: RuntimeFault) -> InvokeAnswer:
    """In the words of the region that the request was signed for, if it was signed."""
    scope, place = passage.scope, passage.place
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    region = region_of(headers, scope.get("query_string", b"").decode("latin-1"), otherwise=place.region)
    status, answered, body = wire_form(fault, place._replace(region=region))
    return InvokeAnswer(status, answered, [body])


async def _send_all(chunks: Body, send: Send) -> None:
    """Chunk by chunk, as fast as the caller takes them; each is released as it is sent."""
    chunks.reverse()
    while len(chunks) > 1:
        await send({"type": "http.response.body", "body": chunks.pop(), "more_body": True})
    await send({"type": "http.response.body", "body": chunks.pop() if chunks else b""})


def request_id() -> str:
    """A UUID, version 4. It names a request and keeps no secret: Python's own generator will do, and asks no system."""
    digits = random.randbytes(16).hex()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
