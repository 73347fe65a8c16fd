"""One stream of a gateway: the messages about a request and its answer, and what a picker answers to each.

    the gateway says         the picker answers
    request headers, body    where the request goes, and the body as it came; or an immediate response
    response headers         the headers that the caller gets; or an immediate response in place of a failure
    response body, trailers  what came

In the duplex mode of bodies, the picker answers to the headers once the body is there: the application needs it for the
caller's signature, and for the limits of bodies. With a buffered body it answers to the body.
"""

from collections.abc import AsyncIterator, Iterable, MutableMapping
from typing import Any

from torpor_account.aws.wire.asgi import App
from torpor_account.request_bodies import STATE, Bodies
from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.routing.picker.gateway_call import GatewayCall, ToldAnswer
from torpor_endpoint.routing.picker.gateway_heads import (
    GatewayHead,
    answer_to,
    answers_with,
    common,
    headers_of,
    immediate,
    read_head,
    sends_to,
    streamed,
)
from torpor_endpoint.routing.picker.gateway_messages import DUPLEX
from torpor_endpoint.runtime.app import LIMITS
from torpor_endpoint.runtime.errors import ORIGINAL_MAX

SERVER_TIMING = wire.SERVER_TIMING.lower().encode()
"""Each answer of an instance has it, and no answer that a gateway gives for an instance that it did not reach."""
UNREACHED = frozenset((502, 503, 504))


class GatewayStreams:
    """Makes the streams' answers. `app` is the router's own application."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._state: MutableMapping[str, Any] = {STATE: Bodies()}

    async def process(self, messages: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The answers to the messages of one stream. Raises BadGateway."""
        first = await anext(messages, None)
        if first is None:
            return
        head = read_head(first)
        call = GatewayCall(self._app, {**head.scope, "state": self._state}, head.allowed)
        stream = GatewayStream(head, call, messages)
        try:
            async for answer in stream.request():
                yield answer
            if not stream.over:
                async for answer in stream.answer():
                    yield answer
        finally:
            call.close()


class GatewayStream:
    """`over`: the caller has an answer of the picker's own, and nothing more is said."""

    def __init__(self, head: GatewayHead, call: GatewayCall, messages: AsyncIterator[Any]) -> None:
        self.over = False
        self._head = head
        self._call = call
        self._messages = messages
        self._came: UpstreamAnswer | None = None  # a failure whose body is still coming

    # -- the request -----------------------------------------------------------------------------------------------
    async def request(self) -> AsyncIterator[Any]:
        """The answers to the request's own messages, up to its last."""
        head, chunks, trailers = self._head, [], False
        kind = "request_headers"
        if head.ends:
            self._call.feed(b"", True)
        else:
            if head.body_mode != DUPLEX:
                yield answer_to(kind, response=common())
                kind = "request_body"
            size_bytes, more = 0, True
            while more and size_bytes <= LIMITS.body_bytes:
                one = await anext(self._messages, None)
                if one is None:
                    self.over = True
                    return
                trailers = one.WhichOneof("request") == "request_trailers"
                chunk = one.request_body.body
                more = head.body_mode == DUPLEX and not (trailers or one.request_body.end_of_stream)
                size_bytes += len(chunk)
                if not trailers:
                    chunks.append(chunk)
                self._call.feed(chunk, not more or size_bytes > LIMITS.body_bytes)
        decided = await self._call.decided()
        if isinstance(decided, ToldAnswer):
            self.over = True
            yield immediate(*decided)
            return
        changed, metadata = sends_to(head, decided)
        yield answer_to(kind, metadata, response=common(header_mutation=changed))
        if head.body_mode == DUPLEX and not head.ends:
            for answer in _body_again("request_body", chunks, trailers):
                yield answer
        if trailers:
            yield answer_to("request_trailers")

    # -- its answer ------------------------------------------------------------------------------------------------
    async def answer(self) -> AsyncIterator[Any]:
        """The answers to the messages about the instance's answer, up to the stream's end."""
        duplex = self._head.answer_mode == DUPLEX
        async for one in self._messages:
            kind = one.WhichOneof("request")
            if kind == "response_headers":
                said = await self._headed(one.response_headers, duplex)
            elif self._came is not None:
                said = await self._failed_on(one)
            elif kind == "response_body" and duplex:
                said = streamed(kind, one.response_body.body, one.response_body.end_of_stream)
            else:
                said = (answer_to(kind, **({} if kind.endswith("trailers") else {"response": common()})),)
            for each in said:
                yield each
            if self.over:
                return

    async def _headed(self, given: Any, duplex: bool) -> Iterable[Any]:
        headers = headers_of(given.headers)
        status = next((int(value) for name, value in headers if name == b":status"), 0)
        plain = [one for one in headers if not one[0].startswith(b":")]
        came = UpstreamAnswer(status, plain)
        if status in UNREACHED and came.header(SERVER_TIMING) is None:
            return self._own(await self._call.ended(None))
        if not 200 <= status < 300 and duplex and not given.end_of_stream:
            self._came = came
            return ()
        told = await self._call.ended(came)
        if told.status != status:
            return self._own(told)
        return (answer_to("response_headers", response=common(header_mutation=answers_with(told.headers, plain))),)

    async def _failed_on(self, one: Any) -> Iterable[Any]:
        """More of the body of an instance's failure, which the caller gets in the words of the runtime API."""
        came = self._came
        assert came is not None, "a failure is coming"
        body = one.response_body
        if sum(map(len, came.chunks)) + len(body.body) <= ORIGINAL_MAX:
            came.chunks.append(body.body)
        if one.WhichOneof("request") == "response_body" and not body.end_of_stream:
            return ()
        return self._own(await self._call.ended(came))

    def _own(self, told: ToldAnswer) -> Iterable[Any]:
        self.over = True
        return (immediate(*told),)


def _body_again(kind: str, chunks: list[bytes], trailers: bool) -> Iterable[Any]:
    """The body as it came; trailers end it."""
    for at, chunk in enumerate(chunks, 1):
        yield from streamed(kind, chunk, at == len(chunks) and not trailers)
        chunks[at - 1] = b""
