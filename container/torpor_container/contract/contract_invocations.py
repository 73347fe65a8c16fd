"""Takes invocations: the body in, the model's answer out, whole or in parts. Plain ASGI, or inline."""

import io
import logging
from functools import partial

from starlette.types import Receive, Scope, Send

from torpor_container.contract.invocation_answers import answer_of, send_whole, with_length
from torpor_container.contract.invocation_heads import InvocationHead
from torpor_container.contract.streamed_answers import send_chunks, send_parts, until_caller_leaves, wants_parts
from torpor_container.errors import BadInput, BodyTooLarge, ContainerError
from torpor_container.http.exchange import TakeInline, Tell
from torpor_container.invocation import Invocation, Reply
from torpor_container.measuring.server_timing import Clock, Timing
from torpor_container.modes.kept_mode import KeptMode, Serving

log = logging.getLogger(__name__)


class ContractInvocations:
    """The invocations of one instance."""

    def __init__(self, serving: Serving, body_max_bytes: int, clock: Clock, chunked: bool = False) -> None:
        """`chunked`: an answer that a model makes in parts leaves in parts, as plain HTTP, whoever calls. Otherwise
        only a caller that asks for parts by a header of Torpor's own gets them."""
        self._serving = serving
        self._body_max_bytes = body_max_bytes
        self._clock = clock
        self._chunked = chunked

    async def invoke(self, target: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes any call, and waits where it has to."""
        timing = Timing(self._clock)
        outcome: Reply | ContainerError
        try:
            invocation = InvocationHead(scope["headers"]).with_body(await self._read(receive))
            if wants_parts(scope["headers"]):
                await until_caller_leaves(receive, self._stream(target, invocation, timing, send))
                return
            if self._chunked:
                await until_caller_leaves(receive, self._send_chunked(target, invocation, timing, send))
                return
            outcome = await self._serving.invoke(target, invocation, timing)
        except ContainerError as error:
            outcome = error
        status, headers, content = answer_of(target, outcome, timing)
        await send({"type": "http.response.start", "status": status, "headers": with_length(headers, content)})
        await send({"type": "http.response.body", "body": content})

    async def _stream(self, target: str | None, invocation: Invocation, timing: Timing, send: Send) -> None:
        """Send the answer part by part. An answer that is no success is sent whole. Raises ContainerError for what went
        wrong before the first part."""
        invocation.streamed = True
        async with self._serving.stream(target, invocation, timing) as reply:
            if not 200 <= reply.head.status < 300:
                await send_whole(target, reply, timing, send)
                return
            status, headers, _ = answer_of(target, reply.head, timing)
            failure = await send_parts((status, headers), reply.parts, send)
        if failure is not None:
            log.error("%s: %s", target or "the model", failure)

    async def _send_chunked(self, target: str | None, invocation: Invocation, timing: Timing, send: Send) -> None:
        """As `_stream`, in plain HTTP: only what a model makes in parts leaves in parts. Raises StreamBroken too."""
        invocation.streamed = True
        async with self._serving.stream(target, invocation, timing) as reply:
            if reply.whole or not 200 <= reply.head.status < 300:
                await send_whole(target, reply, timing, send)
                return
            status, headers, _ = answer_of(target, reply.head, timing)
            await send_chunks((status, headers), reply.parts, send)

    def inline(self, target: str | None, scope: Scope) -> TakeInline | None:
        """What takes the calls for this model that wait for nothing."""
        if target is None or not isinstance(self._serving, KeptMode):
            return None
        return partial(self._take_inline, self._serving, target, InvocationHead(scope["headers"]))

    def _take_inline(
        self, kept: KeptMode, target: str, head: InvocationHead, scope: Scope, body: bytes, tell: Tell
    ) -> bool:
        if len(body) > self._body_max_bytes:
            return False
        timing = Timing(self._clock)

        def answered(outcome: Reply | ContainerError) -> None:
            tell(*answer_of(target, outcome, timing))

        return kept.take_inline(target, head.with_body(body), timing, answered)

    async def _read(self, receive: Receive) -> bytes:
        """The whole body. One that is too large is read to its end and dropped, so that its caller gets an answer."""
        body = io.BytesIO()  # it gives away what it holds, where joined chunks would be there twice
        size_bytes = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BadInput("the body ended before it was whole")
            chunk = message.get("body", b"")
            size_bytes += len(chunk)
            if size_bytes <= self._body_max_bytes:
                body.write(chunk)
            more = message.get("more_body", False)
        if size_bytes > self._body_max_bytes:
            raise BodyTooLarge(size_bytes, self._body_max_bytes)
        return body.getvalue()
