"""InvokeEndpointWithResponseStream: the steps of a passage whose answer leaves part by part, as the model makes it.

An error before the first part is an ordinary answer, as InvokeEndpoint has it. After it, an exception ends the event
stream. Back pressure goes all the way: `send` waits for the caller, the connection to the instance is not read
meanwhile, and the model makes no further part.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace

from torpor_account.aws.wire.asgi import Disconnected, Headers, Receive, Scope, Send, until_disconnected
from torpor_container import wire
from torpor_container.transport.stream_client import StreamConnection, StreamFailed
from torpor_container.transport.upstream_answers import Body, UpstreamAnswer, UpstreamBroken
from torpor_endpoint.core.sending.machine import ACCEPT
from torpor_endpoint.runtime.errors import (
    NO_RESPONSE,
    RuntimeFault,
    check_attributes,
    model_error,
    no_response,
    timed_out,
)
from torpor_endpoint.runtime.face_notes import framing_of
from torpor_endpoint.runtime.holding import PoolClosed
from torpor_endpoint.runtime.kept_parts import KeptLimits, KeptParts, KeptStreams
from torpor_endpoint.runtime.observing.observers import Observers
from torpor_endpoint.runtime.passage import (
    InvokeAnswer,
    Passage,
    Served,
    Step,
    StreamFacts,
    server_timing,
)
from torpor_endpoint.runtime.passage_end import PassageEnd
from torpor_endpoint.runtime.request import Invoke, read_body
from torpor_endpoint.runtime.sending import RequestSender

log = logging.getLogger(__name__)

STREAM_ACCEPT = b"x-amzn-sagemaker-accept"
"""The header of the member Accept: InvokeEndpoint has the plain `Accept` for it."""
COPIED = frozenset(
    name.lower().encode() for name in (wire.CUSTOM_ATTRIBUTES, wire.NEW_SESSION_ID, wire.CLOSED_SESSION_ID)
)
STREAM = wire.WaitStep.STREAM.value
LAST_WORD_S = 1.0
"""How long a caller that reads nothing may take for the exception at the end."""

TIME_EXCEEDED = "ModelInvocationTimeExceeded"
STREAM_BROKEN = "StreamBroken"
OUT_OF_TIME = "Your model {container} did not complete sending the inference response in the allotted time."
"""As observed (AWS re:Post)."""
BROKEN = 'The response stream from {container} broke with message "{message}". {see}'
MESSAGE_MAX = 2048


def parse_stream(passage: Passage) -> None:
    """The step parse."""
    passage.request = stream_headers(passage.scope)


def stream_headers(scope: Scope) -> Invoke:
    """The headers of a request. The container gets the member Accept as its `Accept`, and not what the HTTP client
    accepts."""
    headers = {name: value for name, value in Invoke.read(scope).headers.items() if name != ACCEPT}
    for name, value in scope["headers"]:
        if name == STREAM_ACCEPT:
            headers[ACCEPT] = value
    return Invoke(headers)


class ResponseStreams:
    """The operation. `clock` gives seconds that only go forward."""

    def __init__(
        self,
        sender: RequestSender,
        observers: Observers,
        before: Sequence[Step],
        end: PassageEnd,
        clock: Callable[[], float],
        kept: KeptLimits,
    ) -> None:
        self._sender = sender
        self._observers = observers
        self._kept = KeptStreams(kept)
        self._before = before
        self._end = end
        self._clock = clock

    async def serve(self, passage: Passage, receive: Receive, send: Send) -> None:
        """Answer a request. When the caller leaves, its model stops."""
        try:
            body = await self._end.settled(passage, read_body(passage.scope, receive, passage.limits.body_bytes))
            if isinstance(body, RuntimeFault):
                await self._end.send(passage, body, send)
                return
            passage.body, passage.request_bytes = body
            await until_disconnected(receive, self._serve(passage, send))
        except Disconnected:
            return

    async def _serve(self, passage: Passage, send: Send) -> None:
        async with AsyncExitStack() as use:
            begun = await self._end.settled(passage, self._begun(passage, use))
            if isinstance(begun, RuntimeFault | Served):
                await self._end.send(passage, begun, send)
            else:
                await self._send_stream(begun, send)

    async def _begun(self, passage: Passage, use: AsyncExitStack) -> "Served | _OutgoingStream":
        """A stream whose first part is there; or an instance's whole answer that is no success. Raises RuntimeFault."""
        kept: KeptParts | None = None
        while True:
            for step in self._before:
                step(passage)
            kept = kept or self._keep(passage, use)
            try:
                connection, served = await use.enter_async_context(
                    self._sender.stream(passage, self._end.release(passage))
                )
                break
            except PoolClosed:  # the endpoint was updated meanwhile: its other pool takes the request
                continue
        if connection is None or not 200 <= served.answer.status < 300:
            return served
        check_attributes(served.answer.headers, passage.place)
        stream = _OutgoingStream(passage, connection, served, self._clock, kept)
        try:
            await stream.begin()
        except StreamFailed as failed:
            fault = failed.failure
            raise timed_out(passage.place) if fault.timed_out else model_error(500, fault.message) from None
        except UpstreamBroken:
            raise no_response(passage.place) from None
        except TimeoutError:
            raise timed_out(passage.place) from None
        return stream

    def _keep(self, passage: Passage, use: AsyncExitStack) -> KeptParts | None:
        """What keeps the parts until the end of `use`, if an observer reads them and there is memory."""
        if not self._observers.reads_bodies(passage):
            return None
        kept = self._kept.begin(passage.request_bytes)
        if kept is None:
            self._observers.forgo(passage)
            return None
        use.callback(kept.close)
        return kept

    async def _send_stream(self, stream: "_OutgoingStream", send: Send) -> None:
        try:
            await stream.send_all(send)
        finally:
            self._end.account(stream.passage, stream.end())


class _OutgoingStream:
    """One answer on its way."""

    def __init__(
        self,
        passage: Passage,
        connection: StreamConnection,
        served: Served,
        clock: Callable[[], float],
        kept: KeptParts | None,
    ) -> None:
        self.passage = passage
        self._connection = connection
        self._served = served
        self._clock = clock
        self._kept = kept
        self._sent_at_s = clock() - served.sent_s
        self._first: Body = []
        self._sent_bytes = 0
        self._failed = False
        self._left = True  # until all parts are sent, or the model has failed
        self._part_s = _part_s(passage)
        self._framing = framing_of(passage.scope)

    async def begin(self) -> None:
        """Wait for the first part. Raises what the connection raises, and TimeoutError."""
        async with asyncio.timeout(self._part_s):
            self._first = await self._connection.taken()
        now_s = self._clock()
        passage = self.passage
        passage.measured(self._served.answer)
        passage.stream = StreamFacts(now_s - passage.began_s, now_s - self._sent_at_s)

    async def send_all(self, send: Send) -> None:
        """Send the head, every part, and an exception if the model fails meanwhile."""
        await send({"type": "http.response.start", "status": 200, "headers": self._headers()})
        last: bytes | None = b""
        try:
            async with asyncio.timeout(self.passage.limits.stream_s - (self._clock() - self._sent_at_s)):
                await self._send_parts(send)
        except StreamFailed as failed:
            fault = failed.failure
            last = self._out_of_time() if fault.timed_out else self._broken(fault.message)
        except UpstreamBroken:
            last = self._ending(NO_RESPONSE.format(endpoint=self.passage.home.endpoint), STREAM_BROKEN)
        except TimeoutError:
            last = self._out_of_time()
        self._failed, self._left = last != b"", False
        if last is None:
            return  # the server breaks off an answer whose end its application does not send
        self._sent_bytes += len(last)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORD_S if last else None):
                await send({"type": "http.response.body", "body": last})

    async def _send_parts(self, send: Send) -> None:
        parts, self._first = self._first, []
        while parts:
            data = self._framing.encoded(parts)
            if self._kept is not None:
                for part in parts:
                    self._kept.add(part)
            parts.clear()
            self._sent_bytes += len(data)
            await send({"type": "http.response.body", "body": data, "more_body": True})
            async with asyncio.timeout(self._part_s):
                parts = await self._connection.taken()

    def _headers(self) -> Headers:
        answer, route = self._served.answer, self.passage.route
        assert route is not None, "only a routed request is served"
        headers = [header for header in answer.headers if header[0] in COPIED]
        headers += self._framing.typed(answer.header(b"content-type"))
        copies = route.pool.variant.copies
        production = route.variant if copies is None else copies.placed_on
        headers.append((b"x-amzn-invoked-production-variant", production.encode()))
        headers.append((b"x-amzn-requestid", self.passage.request_id.encode()))
        headers.append((b"server-timing", server_timing(self.passage.steps)))
        return headers

    def end(self) -> InvokeAnswer:
        """The end of the passage, whether or not all was sent."""
        passage, now_s = self.passage, self._clock()
        assert passage.stream is not None, "the first part is there"
        first_s, first_model_s, *_ = passage.stream
        cut = self._kept is not None and self._kept.cut
        passage.stream = StreamFacts(first_s, first_model_s, self._failed, self._left, cut)
        passage.waited(STREAM, now_s - passage.began_s - first_s)
        answer = UpstreamAnswer(self._served.answer.status, self._served.answer.headers)
        passage.outcome = replace(self._served, answer=answer, sent_s=now_s - self._sent_at_s)
        passage.end(200, self._sent_bytes, now_s - passage.began_s)
        return InvokeAnswer(200, self._headers(), [] if self._kept is None else self._kept.chunks())

    def _out_of_time(self) -> bytes | None:
        return self._ending(OUT_OF_TIME.format(container=self.passage.place.container), TIME_EXCEEDED)

    def _broken(self, message: str) -> bytes | None:
        place = self.passage.place
        room = MESSAGE_MAX - len(BROKEN.format(container=place.container, message="", see=place.see))
        text = BROKEN.format(container=place.container, message=message[: max(0, room)], see=place.see)
        return self._ending(text, STREAM_BROKEN)

    def _ending(self, message: str, code: str) -> bytes | None:
        return self._framing.failure(self._served.answer.header(b"content-type"), message, code)


def _part_s(passage: Passage) -> float:
    """The longest wait for one part: the instance's own limit, and a margin for an instance that says nothing."""
    assert passage.route is not None, "only a routed request is served"
    route = passage.route
    return route.pool.answer_within_s[route.path[-1]] + passage.limits.attempt_margin_s
