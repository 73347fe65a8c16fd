"""The HTTP client's side of a streamed answer: its head first, then its parts, no faster than they are taken.

A stream has a connection of its own, which ends with it: closing it says that nobody takes the rest.
`transport.upstream` has the errors, and the pool of connections for whole answers.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import httptools

from torpor_container import wire
from torpor_container.transport.address import Address
from torpor_container.transport.parts import RecordReader, StreamFault
from torpor_container.transport.upstream import ANSWER_MAX_BYTES, Headers, opened, request_head, size_of
from torpor_container.transport.upstream_answers import Body, UpstreamAnswer, UpstreamBroken, UpstreamTimedOut

STREAM = wire.STREAM.lower().encode()
BUFFERED_MAX_BYTES = 256 * 1024
"""The socket is not read while parts of more than this wait to be taken."""


class StreamFailed(Exception):
    """The model failed between two parts. `failure` is what its instance says of it."""

    def __init__(self, failure: StreamFault) -> None:
        super().__init__(failure.message)
        self.failure = failure


class StreamConnection(asyncio.Protocol):
    """One connection with one request, whose answer is taken in parts."""

    def __init__(self) -> None:
        self.answer = UpstreamAnswer()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._records: RecordReader | None = None
        self._headed = self._over = False
        self._parts: Body = []
        self._waiting_bytes = 0
        self._paused = False
        self._error: Exception | None = None
        self._came = asyncio.Event()

    def request(self, head: bytes, body: Body) -> None:
        assert self._transport is not None
        self._transport.writelines((head, *body))

    async def headed(self) -> None:
        """Wait for the head. Raises UpstreamBroken."""
        while not self._headed:
            await self._change()

    async def taken(self) -> Body:
        """The parts that have come, at least one; none at the end.

        Raises StreamFailed and UpstreamBroken, once all parts before that are taken.
        """
        while not self._parts and not self._over:
            await self._change()
        parts, self._parts, self._waiting_bytes = self._parts, [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        if not parts and self._error is not None:
            raise self._error
        return parts

    @property
    def broken(self) -> bool:
        """Whether the connection ended before the answer did."""
        return isinstance(self._error, UpstreamBroken)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def _change(self) -> None:
        if self._error is not None:
            raise self._error
        self._came.clear()
        await self._came.wait()

    # -- asyncio.Protocol ------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(UpstreamBroken(f"the answer is no HTTP: {error}"))
        if self._waiting_bytes > BUFFERED_MAX_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._came.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of an answer that announced no length; for any other answer, a failure."""
        if self._headed and exc is None and not self.answer.announces_its_end:
            self._over = True
            self._came.set()
        elif not self._over:
            self._fail(UpstreamBroken("the connection was closed before the answer was whole"))

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._over = True
        self._came.set()

    # -- httptools -------------------------------------------------------------------------------------------------
    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._headed:  # and no trailer
            self.answer.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.answer.status = self._parser.get_status_code()
        if self.answer.status < 200:  # an interim answer, such as 100 Continue
            self.answer = UpstreamAnswer()
            return
        self._headed = True
        if self.answer.header(STREAM) is not None:
            self._records = RecordReader()

    def on_body(self, body: bytes) -> None:
        if self._over:
            return
        parts = [body] if self._records is None else self._records.feed(body)
        self._parts += parts
        self._waiting_bytes += size_of(parts)
        if self._records is None:
            return
        if self._records.ended:
            self._over = True
        elif self._records.failure is not None:
            self._fail(StreamFailed(self._records.failure))

    def on_message_complete(self) -> None:
        if not self._headed or self._over:
            return
        if self._records is not None and not self._records.ended:
            self._fail(UpstreamBroken("the answer ended before its last part"))
        self._over = True


@asynccontextmanager
async def streamed(
    address: Address,
    path: str,
    headers: Headers,
    body: Body,
    timeout_s: float,
    sent: Callable[[], None] | None = None,
) -> AsyncIterator[StreamConnection]:
    """Post a request; the block begins when the head of its answer is there. An answer that is no success is whole by
    then, as its `answer`. The connection is closed with the block.

    `sent` is called once the body is not needed any more. Raises UpstreamRefused, UpstreamBroken, UpstreamTimedOut.
    """
    connection = await opened(address, StreamConnection, timeout_s)
    try:
        connection.request(request_head("POST", path, headers, size_of(body)), body)
        if sent is not None:
            sent()
        try:
            async with asyncio.timeout(timeout_s):
                await connection.headed()
                if not 200 <= connection.answer.status < 300:
                    await _take_whole(connection)
        except TimeoutError:
            raise UpstreamTimedOut(f"no answer within {timeout_s:g} s") from None
        yield connection
    finally:
        connection.close()


async def _take_whole(connection: StreamConnection) -> None:
    chunks = connection.answer.chunks
    while parts := await connection.taken():
        chunks += parts
        if size_of(chunks) > ANSWER_MAX_BYTES:
            raise UpstreamBroken(f"the answer is over {ANSWER_MAX_BYTES} bytes")
