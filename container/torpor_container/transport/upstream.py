"""The HTTP client for an instance: a pool of keep-alive connections, with httptools to parse answers.

The endpoint reaches its instances with it, over Unix sockets or a network, and an instance reaches a foreign container,
over loopback.

Why by hand: a general client (httpx) costs more per request than a small prediction, since it builds objects
for URLs, headers and streams that both ends here know already. And the router must know whether a request was ever
sent, to send it elsewhere; a general client reports a broken connection, but not on which side of the first byte it
broke.

A connection has one request at a time, and is in one of four states:

    OPENING ──── connected ────> IDLE ──── request() ────> SENT ──── the answer is whole ────> IDLE
    any state ──── see below ────> CLOSED

- *IDLE* (`open`, and no `_then`). It waits in the pool. The server may only close it; any other byte closes it too, as
  it would be read as the answer to a request that is still to come.
- *SENT* (`_then` is set). The server sends its answer, perhaps after interim ones (1xx), which are dropped. The client
  sends nothing: HTTP/1.1 would allow the next request, but no answer could overtake a slow one. An answer ends at its
  length, at its last chunk, or, where it announces neither, with the connection (RFC 9112, section 6.3).
- *CLOSED.* It is dropped, and never used again.

What ends a connection: the server closes it; an answer says `Connection: close`; the request's time is over; the answer
is not HTTP, or over ANSWER_MAX_BYTES; the caller is cancelled; it was idle for longer than `idle_max_s`.

How a request fails says what the caller may do. UpstreamRefused: nothing was sent, so it may go elsewhere.
UpstreamBroken: the server may have acted on it. UpstreamStale, a kind of it: the connection had been idle and nothing
came, so most likely the server closed it first; methods in REPEATABLE are sent once more. UpstreamTimedOut: no whole
answer in time.

Why it is bounded: an answer's size by ANSWER_MAX_BYTES, its time by the caller's, and connections by the requests at
once: there are never more than the most that were in flight together.
"""

import asyncio
import errno
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from math import inf
from typing import NamedTuple, TypeVar, cast

import httptools

from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.transport.frames import lines
from torpor_container.transport.greeting import RoutersEnd
from torpor_container.transport.upstream_answers import (
    Body,
    UpstreamAnswer,
    UpstreamBroken,
    UpstreamError,
    UpstreamRefused,
    UpstreamStale,
    UpstreamTimedOut,
)

P = TypeVar("P", bound=asyncio.Protocol)

Headers = Sequence[tuple[bytes, bytes]]
JOINED_MAX_BYTES = 64 * 1024
"""A body up to this size is joined to its head, and leaves in one write. A longer one is not copied for that."""
ANSWER_MAX_BYTES = 64 * 1024 * 1024
REPEATABLE = frozenset({"GET", "DELETE"})
"""The methods that may be done twice (RFC 9110, section 9.2.2)."""
NOT_NOW = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOBUFS})
"""The server is there, but its backlog of connections is full, or this process has no descriptor left just now."""
LOOKED_AGAIN_S = 0.005
"""How long to wait before the next try to connect, in that case."""


Then = Callable[[UpstreamAnswer | UpstreamError], None]
"""A callback. It is called once, with the answer or with the reason why there is none, and raises nothing."""


class UpstreamConnection(asyncio.Protocol):
    """One connection, with one request at a time. The module's text describes its states."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer = UpstreamAnswer()
        self._received_bytes = 0
        self._answer_max_bytes = ANSWER_MAX_BYTES
        self._headed = False
        self._then: Then | None = None
        self._whole: UpstreamAnswer | None = None
        self.open = False
        self.used = False
        self.idle_since_s = 0.0
        self._timeout_s = inf
        self._until_s = inf
        self._alarm: asyncio.TimerHandle | None = None

    def request(self, head: bytes, body: Body, timeout_s: float, answer_max_bytes: int, then: Then) -> bool:
        """Send a request. `then` is called with the answer, UpstreamBroken or UpstreamTimedOut.

        False, and `then` is never called, where the server has just closed: it has read nothing of the request.
        """
        assert self._transport is not None
        self._answer, self._received_bytes, self._headed = UpstreamAnswer(), 0, False
        self._answer_max_bytes = answer_max_bytes
        if size_of(body) <= JOINED_MAX_BYTES:
            self._transport.write(b"".join((head, *body)))
        else:
            self._transport.writelines((head, *body))
        if self._transport.is_closing():
            return False
        self._then = then
        self._patience(timeout_s)
        return True

    def close(self) -> None:
        self.open = False
        if self._alarm is not None:
            self._alarm.cancel()
        if self._transport is not None:
            self._transport.abort()

    # -- patience --------------------------------------------------------------------------------------------------
    def _patience(self, timeout_s: float) -> None:
        """Set when this request's time is over. One alarm outlasts many requests: to look again as it rings costs less
        than to set one for each."""
        self._timeout_s, self._until_s = timeout_s, self._loop.time() + timeout_s
        if self._alarm is not None and self._alarm.when() > self._until_s:
            self._alarm.cancel()
            self._alarm = None
        if self._alarm is None:
            self._alarm = self._loop.call_at(self._until_s, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self._then is None:
            return
        if self._loop.time() < self._until_s:
            self._alarm = self._loop.call_at(self._until_s, self._ring)
        else:
            self._fail(UpstreamTimedOut(f"no answer within {round(self._timeout_s, 2):g} s"))

    # -- asyncio.Protocol ------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        self.open = True

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        if self._received_bytes > self._answer_max_bytes:
            self._fail(UpstreamBroken(f"the answer is over {self._answer_max_bytes} bytes"))
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(UpstreamBroken(f"the answer is no HTTP: {error}"))
        self._pass_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of an answer that announced no length; for any other answer, a failure."""
        if self._headed and exc is None and not self._answer.announces_its_end:
            self.open = False
            self.on_message_complete()
            self._pass_on()
        elif self.used and not self._received_bytes:
            self._fail(UpstreamStale("the connection had been closed"))
        else:
            self._fail(UpstreamBroken("the connection was closed before the answer was whole"))

    def _fail(self, error: UpstreamError) -> None:
        self.close()
        self._pass_on()  # an answer that was whole before this
        self._tell(error)

    def _pass_on(self) -> None:
        """Hand on an answer that is whole, but only once all bytes of this read are parsed: `then` may send the next
        request, and bytes left over would be taken for its answer."""
        if self._whole is not None:
            answer, self._whole = self._whole, None
            self._tell(answer)

    def _tell(self, outcome: UpstreamAnswer | UpstreamError) -> None:
        then, self._then = self._then, None
        if then is not None:
            then(outcome)

    # -- httptools -------------------------------------------------------------------------------------------------
    def on_message_begin(self) -> None:
        if self._then is None or self._whole is not None:
            self.close()  # no request waits: what comes on this connection is no answer to anything

    def on_header(self, name: bytes, value: bytes) -> None:
        self._answer.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._headed = True

    def on_body(self, body: bytes) -> None:
        self._answer.chunks.append(body)

    def on_message_complete(self) -> None:
        self._answer.status = self._parser.get_status_code()
        self._headed = False
        if self._answer.status < 200:  # an interim answer, such as 100 Continue
            self._answer = UpstreamAnswer()
            return
        answer, self._answer = self._answer, UpstreamAnswer()
        self.open = self.open and self._parser.should_keep_alive()
        if self._whole is None:
            self._whole = answer


class Upstream:
    """The connections to one server. Idle ones are reused, the newest first; there is one for each request at once.

    `idle_max_s`: a connection that was idle for longer is not used again. A server that is not Torpor's own may close
    one just as it is used. Once that has happened, no connection to this server is used twice.
    """

    def __init__(self, address: Address, idle_max_s: float = inf) -> None:
        self._address = address
        self._idle_max_s = idle_max_s
        self._idle: deque[UpstreamConnection] = deque()

    async def send(
        self,
        method: str,
        path: str,
        headers: Headers,
        body: Body,
        timeout_s: float,
        *,
        sent: Callable[[], None] | None = None,
        answer_max_bytes: int = ANSWER_MAX_BYTES,
    ) -> UpstreamAnswer:
        """Send one request, over an idle connection or a new one, and return its answer within `timeout_s`.

        Raises UpstreamRefused, UpstreamBroken, UpstreamTimedOut. What may be done twice is sent again if its connection
        had been closed. The body is the caller's: `sent` is called once the body is not needed any more, so that a
        large one need not be held beside its answer. It is not called for what may be done twice.
        """
        call = _Call(method, path, headers, body, timeout_s, answer_max_bytes)
        try:
            return await self._sent(call, None if method in REPEATABLE else sent)
        except UpstreamStale:
            if self._idle_max_s < inf:
                self._idle_max_s = 0.0
            if method not in REPEATABLE:
                raise
            self.close()
            return await self._sent(call, None)

    async def _sent(self, call: "_Call", sent: Callable[[], None] | None) -> UpstreamAnswer:
        waiting: asyncio.Future[UpstreamAnswer] = asyncio.get_running_loop().create_future()
        head, then = call.head(), partial(_settle, waiting)
        connection = self._kept()
        while connection is not None and not connection.request(
            head, call.body, call.timeout_s, call.answer_max_bytes, then
        ):
            connection.close()
            connection = self._kept()
        if connection is None:
            until_s = asyncio.get_running_loop().time() + call.timeout_s
            connection = await opened(self._address, UpstreamConnection, call.timeout_s)
            left_s = until_s - asyncio.get_running_loop().time()
            if not connection.request(head, call.body, left_s, call.answer_max_bytes, then):
                connection.close()
                raise UpstreamRefused("it hung up before anything was sent")
        if sent is not None:
            sent()
        with ExitStack() as unanswered:
            unanswered.callback(connection.close)
            answer = await waiting
            unanswered.pop_all()
        self._keep(connection)
        return answer

    @property
    def address(self) -> Address:
        return self._address

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _keep(self, connection: UpstreamConnection) -> None:
        """Put a connection back into the pool, if it may serve another request."""
        if connection.open and self._idle_max_s:
            connection.used = True
            if self._idle_max_s < inf:
                connection.idle_since_s = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()

    def _kept(self) -> UpstreamConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.open and self._fresh(connection):
                return connection
            connection.close()
        return None

    def _fresh(self, connection: UpstreamConnection) -> bool:
        if self._idle_max_s == inf:
            return True
        return asyncio.get_running_loop().time() - connection.idle_since_s <= self._idle_max_s


def _settle(waiting: "asyncio.Future[UpstreamAnswer]", outcome: UpstreamAnswer | UpstreamError) -> None:
    if waiting.done():  # it was cancelled
        return
    if isinstance(outcome, UpstreamError):
        waiting.set_exception(outcome)
    else:
        waiting.set_result(outcome)


def size_of(body: Body) -> int:
    """The body's length in bytes."""
    return sum(map(len, body))


async def opened(address: Address, protocol: Callable[[], P], within_s: float) -> P:
    """A new connection, within so many seconds. Raises UpstreamRefused."""
    try:
        async with asyncio.timeout(within_s):
            return await _connected(address, protocol)
    except TimeoutError as error:
        raise UpstreamRefused(f"it took no connection within {within_s:g} s") from error
    except OSError as error:
        raise UpstreamRefused(f"it does not take connections: {error}") from error


async def _connected(address: Address, protocol: Callable[[], P]) -> P:
    """A new connection. It tries again while the server is there but cannot take one now. Raises OSError."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            if isinstance(address, str):
                return (await loop.create_unix_connection(protocol, address))[1]
            if isinstance(address, GuardedAddress):
                return await _greeted(address, protocol)
            return (await loop.create_connection(protocol, *address))[1]
        except OSError as error:
            if error.errno not in NOT_NOW:
                raise
        await asyncio.sleep(LOOKED_AGAIN_S)


async def _greeted(address: GuardedAddress, protocol: Callable[[], P]) -> P:
    """A new connection to a server that knows the address's secret, if it has one, by TLS if it has a name. Raises
    OSError."""
    if not address.secret:
        security, name = address.security, address.name or None
        connecting = asyncio.get_running_loop().create_connection
        return (await connecting(protocol, address.host, address.port, ssl=security, server_hostname=name))[1]
    end = RoutersEnd(address.secret, protocol)
    transport, _ = await asyncio.get_running_loop().create_connection(
        lambda: end, address.host, address.port, ssl=address.security, server_hostname=address.name or None
    )
    with ExitStack() as unfinished:
        unfinished.callback(transport.abort)
        greeted = await end.greeted
        unfinished.pop_all()
    return greeted


class _Call(NamedTuple):
    """One request, as it may be sent more than once."""

    method: str
    path: str
    headers: Headers
    body: Body
    timeout_s: float
    answer_max_bytes: int

    def head(self) -> bytes:
        return request_head(self.method, self.path, self.headers, size_of(self.body))


def request_head(method: str, path: str, headers: Headers, body_bytes: int) -> bytes:
    first = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {body_bytes}\r\n".encode("latin-1")
    return b"".join((first, lines(headers), b"\r\n"))
