"""The HTTP face of InvokeEndpoint: drives each request through the steps of its passage (see `passage`).

Bytes go through as they are. A request that cannot go inline begins again by ASGI.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from torpor_account.aws.wire.asgi import Disconnected, Receive, Scope, Send, TakeInline, Tell
from torpor_account.aws.wire.scope import DEFAULT_REGION
from torpor_container.frozen_class import frozen
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.choosing.model_chooser import LookFirst
from torpor_endpoint.runtime.errors import (
    ErrorPlace,
    RuntimeFault,
    Situation,
)
from torpor_endpoint.runtime.holding import PoolClosed
from torpor_endpoint.runtime.observing.observers import Observers
from torpor_endpoint.runtime.passage import (
    CallLimits,
    Passage,
    Served,
    Step,
)
from torpor_endpoint.runtime.passage_end import PassageEnd
from torpor_endpoint.runtime.request import Invoke, KnownInvokes, read_body
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.runtime.shadowing import Shadowing
from torpor_endpoint.runtime.streams import ResponseStreams, parse_stream

log = logging.getLogger(__name__)

T = TypeVar("T")

PREFIX = "/endpoints/"
INVOCATIONS = "invocations"
INVOCATIONS_STREAM = "invocations-response-stream"
INVOCATIONS_ASYNC = "async-invocations"
LIMITS = CallLimits()


@frozen
class AccountAndRegion:
    number: str
    region: str = DEFAULT_REGION
    console: bool = False  # see `ErrorPlace`

    def place(self, endpoint: str) -> ErrorPlace:
        """That of requests to an endpoint."""
        return ErrorPlace(endpoint, self.number, self.region, console=self.console)

    def endpoint_arn(self, name: str) -> str:
        return f"arn:aws:sagemaker:{self.region}:{self.number}:endpoint/{name.lower()}"


@frozen
class Clocks:
    """`epoch` gives seconds since 1970, `steady` seconds that only go forward."""

    epoch: Callable[[], float]
    steady: Callable[[], float]


class AsyncFace(Protocol):
    """Answers InvokeEndpointAsync."""

    async def serve(
        self, passage: Passage, receive: Receive, send: Send, before: Sequence[Step], end: PassageEnd
    ) -> None:
        """Answer a request. `before` are the steps before the parsing of its headers."""


class RuntimeApp:
    """`POST /endpoints/{EndpointName}/invocations` and `…/invocations-response-stream`. Any other operation is refused.

    Whoever comes here may call: `access.door` has verified them, or the endpoint trusts whoever reaches its port.
    Without `shadowing` no request is copied to a shadow variant, and without `asynchronous` InvokeEndpointAsync is
    refused. `trace` finds a request's place in a distributed trace (`telemetry.tracing`).
    """

    def __init__(
        self,
        router: Router,
        sender: RequestSender,
        observers: Observers,
        account: AccountAndRegion,
        clocks: Clocks,
        limits: CallLimits = LIMITS,
        shadowing: Shadowing | None = None,
        trace: Step | None = None,
        asynchronous: AsyncFace | None = None,
    ) -> None:
        self._sender = sender
        self._choosing = router.choosing
        self._observers = observers
        self._home = account
        self._clocks = clocks
        self._limits = limits
        self._shadowing = shadowing
        self._asynchronous = asynchronous
        self._to_copy: Sequence[object] = () if shadowing is None else shadowing.waiting
        self._invokes = KnownInvokes()
        self._first = first = () if trace is None else (trace,)
        self._parsed: Sequence[Step] = (*first, router.route, router.admit)
        self._before_sending: Sequence[Step] = (self._parse, *self._parsed)
        before_streaming = (*first, parse_stream, router.route_stream, router.admit)
        self._end = end = PassageEnd(observers, clocks.steady, shadowing)
        self._streams = ResponseStreams(sender, observers, before_streaming, end, clocks.steady, limits.kept)
        self._sent_again: set[asyncio.Task[None]] = set()

    # -- the two ways through the steps ----------------------------------------------------------------------------
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes any request, and waits where a step has to."""
        name, operation = _called(scope)
        home = self._home.place(name)
        passage = Passage(scope, home, self._limits, self._clocks.epoch(), self._clocks.steady())
        passage.chooses = operation == INVOCATIONS
        if operation == INVOCATIONS_STREAM:
            await self._streams.serve(passage, receive, send)
            return
        if operation == INVOCATIONS_ASYNC and self._asynchronous is not None:
            await self._asynchronous.serve(passage, receive, send, self._first, self._end)
            return
        try:
            outcome = await self._end.settled(passage, self._received(passage, operation, receive))
        except Disconnected:
            return
        await self._end.send(passage, outcome, send)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `aws.wire.asgi.Inline`."""
        name, operation = _called(scope)
        if operation != INVOCATIONS:
            return None
        return partial(self._take_inline, self._home.place(name), self._invokes.read(scope))

    def _take_inline(self, home: ErrorPlace, request: Invoke, scope: Scope, body: bytes, tell: Tell) -> bool:
        """Takes a request that waits for nothing on its way to a ready instance (see `aws.wire.asgi.TakeInline`).

        A request that is refused or has to wait is left to come by ASGI.
        """
        passage = Passage(
            scope, home, self._limits, self._clocks.epoch(), self._clocks.steady(), [body], len(body), request
        )
        try:
            for step in self._parsed:
                step(passage)
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
        answer = self._end.answer(passage, outcome)
        chunks = answer.chunks
        tell(answer.status, answer.headers, chunks[0] if len(chunks) == 1 else b"".join(chunks))
        self._end.account(passage, answer)

    async def _send_again(self, passage: Passage, tell: Tell) -> None:
        self._tell(passage, tell, await self._end.settled(passage, self._sent(passage)))

    # -- the steps -------------------------------------------------------------------------------------------------
    def _parse(self, passage: Passage) -> None:
        passage.request = self._invokes.read(passage.scope)

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
            try:
                if passage.sending is None or not passage.sending.acted:
                    self._prepare(passage)
                served = await self._sender.send(passage, self._end.release(passage))
                if self._choosing is not None and passage.route is not None and passage.route.choice is not None:
                    self._choosing.answered(passage.route, served)
                return served
            except LookFirst as first:
                await first.look()
            except PoolClosed:  # the endpoint was updated meanwhile: its other pool takes the request
                continue


def _called(scope: Scope) -> tuple[str, str]:
    """The endpoint's name, and the operation by the last part of the path. An ARN as the name has a slash."""
    name, _, operation = scope["path"].removeprefix(PREFIX).rpartition("/")
    return name, operation
