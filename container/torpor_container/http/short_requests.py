"""A shorter way for short requests: read by httptools and answered in one piece. All others are gunicorn's.

Why by hand: a warm prediction takes less time than gunicorn's parser, which is written in Python, and than the task and
the messages that ASGI needs for each request. Most requests are alike: a `POST` to an invocation's path, with a body of
known length, that arrives in one read. Those are recognised by their first line, parsed in C, and given to the
application by a call. Their answers differ in nothing from gunicorn's, and a test holds both ways against each other.

A request goes the shorter way only if every parser would read the same out of it, because two parsers that disagree on
where a request ends let one client smuggle requests into another's connection (RFC 9112, section 11.2). So whatever
comes in parts, has a query or a quoted path, is chunked, expects `100 Continue`, upgrades, closes its connection, names
a host twice or is not quite right goes to gunicorn from its first byte. gunicorn accepts or refuses it.

A connection is in one of four states, and `data_received` decides by them:

    IDLE ──── a plain request ────> BUSY ──── its answer is written ────> IDLE
    IDLE ──── the upgrade to frames ────> FRAMES                                 (no way back)
    IDLE ──── anything else ────> GUNICORN ──── gunicorn waits for a next request ────> IDLE

- *IDLE.* Nothing of a request has come that is not answered.
- *BUSY.* The application has one request. More bytes are held, not read: HTTP/1.1 answers requests in their order. They
  are looked at once the answer is written, as if they came then. Above HELD_MAX_BYTES the socket is read no more.
- *FRAMES.* All bytes are `FramedRequests`'.
- *GUNICORN.* All bytes are the bounded parser's (`bounded_requests`), until it has answered.

What ends a connection: an application that fails (500 first); a server that is told to stop, after the answer in hand,
which then says `Connection: close`; a client that leaves or sends no more (`bounded_requests`); or the keep-alive time
without a request. An application may go on for a grace period after its client has left.
"""

import asyncio
import re
from typing import Any

import httptools
from starlette.types import Scope

from torpor_container import wire
from torpor_container.core.client_timeouts import Stage
from torpor_container.http.bounded_requests import HOST_MAX_BYTES, BoundedRequests
from torpor_container.http.exchange import Exchange
from torpor_container.http.framed_requests import Client, FramedRequests
from torpor_container.http.gunicorn_internals import SERVER_HEADER, date_header, status_line
from torpor_container.http.server import FIELD_MAX_BYTES
from torpor_container.transport.frames import UPGRADE, UPGRADED, BadHeaders, Header, valid_lines

INVOCATION = re.compile(rb"POST (/[!-$&-<>@-~]*/(?:invocations|invoke)|/invocations) HTTP/1\.1\r\n")
"""The line of a plain request. A path that is neither quoted nor has a query means the same to every parser."""

NOT_PLAIN = frozenset({b"expect", b"transfer-encoding", b"upgrade", b"proxy-connection", wire.STREAM.lower().encode()})
"""Headers by which a request is gunicorn's. An answer in parts is: the shorter way writes whole answers."""

ONLY_ONCE = frozenset({b"host", b"content-type"})
"""A request that has one of these twice is gunicorn's, which refuses it."""

WATCHED = NOT_PLAIN | ONLY_ONCE
HEADERS_MAX = 100
"""A request with more of them is gunicorn's, which has the same bound and refuses it."""

HELD_MAX_BYTES = 256 * 1024
"""So much is held of what comes before the request in hand is answered. Beyond that, the socket is not read."""


class RequestReader:
    """Reads one connection's plain requests, one after another, by httptools."""

    def __init__(self) -> None:
        self.headers: list[Header] = []
        self.body = b""
        self._whole = 0
        self._plain = True
        self._once: list[bytes] = []
        self._parser = httptools.HttpRequestParser(self)

    def read(self, data: bytes) -> bool:
        """Whether these bytes are one plain request, neither more nor less. If not, this reader is spent."""
        self.headers, self.body, self._whole, self._plain, self._once = [], b"", 0, True, []
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            return False
        head_bytes = data.find(b"\r\n\r\n") + 4
        alone = head_bytes + len(self.body) == len(data)  # httptools reads on into a next request
        small = len(self.headers) <= HEADERS_MAX and head_bytes <= FIELD_MAX_BYTES  # so each header is short enough
        return self._plain and self._whole == 1 and alone and small

    def take(self) -> tuple[list[Header], bytes]:
        """The headers and the body that were read. They are kept here no longer: a connection may be idle for long."""
        headers, body = self.headers, self.body
        self.headers, self.body = [], b""
        return headers, body

    # -- httptools -------------------------------------------------------------------------------------------------
    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self.headers.append((name, value.rstrip(b" \t")))  # httptools strips the left side only
        if name in WATCHED:
            self._plain = self._plain and name in ONLY_ONCE and name not in self._once
            if name == b"host" and len(value) > HOST_MAX_BYTES:
                self._plain = False
            self._once.append(name)

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self._whole += 1
        self._plain = self._plain and self._parser.should_keep_alive()  # it knows only now


class ShortRequests(BoundedRequests):
    """A connection with a shorter way for short requests. The module's text describes its states."""

    def __init__(self, worker: Any) -> None:
        super().__init__(worker)
        self._busy = False
        self._answering: asyncio.Task[None] | None = None  # where the application answers by ASGI
        self._reader = RequestReader()
        self._held = bytearray()
        self._gone = asyncio.Event()
        self._used = False  # whether a request has come the shorter way, since the idle timer was set
        self._framed: FramedRequests | None = None
        self.peer: tuple[str, int] | None = None  # the client's address; None over a Unix socket
        self._scheme = "http"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.peer = peer[:2] if isinstance(peer, tuple) else None
        self._scheme = "https" if self.over_tls else "http"

    def data_received(self, data: bytes) -> None:
        if self._framed is not None:  # FRAMES
            self._framed.read(data)
        elif self._busy:  # BUSY
            self._hold(data)
        elif (invocation := INVOCATION.match(data)) and self._idle() and self._is_plain(data):
            self._used = True
            if not self.idle_timer_runs and not self.finishing and not self.half_closed:
                self.start_idle_timer()  # gunicorn does it after its own first answer
            headers, body = self._reader.take()
            self._begin(self._scope(invocation[1], headers), body, data)
        elif (asked := UPGRADE.fullmatch(data)) and self.app.framed == asked[1] and self._idle():
            self._upgrade(asked[1])
        else:  # GUNICORN
            self.feed(data)

    def _upgrade(self, path: bytes) -> None:
        """From IDLE to FRAMES."""
        scope, client = self._scope(path, []), Client(self.write, self.close)
        self._framed = FramedRequests(self.app, scope, client, self._gone, self.log)
        self.write(UPGRADED)

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        self._held.clear()
        if self._answering is not None:
            self.cancel_after_grace(self._answering)
        if self._framed is not None:
            for task in self._framed.answering:
                self.cancel_after_grace(task)
        super().connection_lost(exc)

    def _idle(self) -> bool:
        """Whether gunicorn waits for the first byte of a request, and this process goes on serving."""
        return self.awaits_request and not self._unread and self.worker.alive

    def _is_plain(self, data: bytes) -> bool:
        """Whether this is one plain request. A reader that read something else is replaced."""
        plain = self._reader.read(data)
        if not plain:
            self._reader = RequestReader()
        return plain

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > HELD_MAX_BYTES:
            self.pause()

    def idle_for_too_long(self) -> None:
        """gunicorn's timer does not see the shorter way. A connection that was used since then has its time again."""
        if self._framed is not None:
            return  # it is the client's to close
        if self._used:
            self._used = self._busy
            self.await_next_request()
        else:
            super().idle_for_too_long()

    # -- one request -----------------------------------------------------------------------------------------------
    def _scope(self, path: bytes, headers: list[Header]) -> Scope:
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": self._scheme,
            "path": path.decode("ascii"),
            "raw_path": path,
            "query_string": b"",
            "root_path": self.root_path,
            "headers": headers,
            "server": None,
            "client": self.peer,
            "state": self.worker.state.copy(),
        }

    def _begin(self, scope: Scope, body: bytes, data: bytes) -> None:
        """`data` is the whole request: gunicorn gets it where the answer may leave in parts."""
        self._busy = True
        try:
            if not self.write_paused and self.app.take_inline(scope, body, self._tell):
                return
        except Exception:  # the outer edge of a request, as below
            self.log.exception("Error in ASGI application")
            self._fail()
            return
        if self.app.in_parts:
            self._busy = False
            self.feed(data)
            return
        self._answering = self.worker.loop.create_task(self._answer(scope, Exchange(body, self._gone)))

    def _tell(self, status: int, headers: list[Header], body: bytes) -> None:
        try:
            self._write(status, headers, body)
        except BadHeaders:
            self.log.exception("Error in ASGI application")
            self._fail()
        self._read_held()

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        try:
            await exchange.answered_by(self.app, scope)
            self._write(exchange.status, exchange.headers, exchange.body)
        except Exception:  # the outer edge of a request: it is logged, and its connection ends
            self.log.exception("Error in ASGI application")
            self._fail()
        if self.write_paused:
            await self.drained()
        self._answering = None
        self._read_held()

    def _fail(self) -> None:
        self.send_error(500, "Internal Server Error")
        self.close()

    def _write(self, status: int, headers: list[Header], body: bytes) -> None:
        """The whole answer in one piece. Raises BadHeaders."""
        if self.closed:
            return
        if self.omits_body("POST", status):
            headers, body = self.without_framing(headers, status), b""
        lines = valid_lines(headers)
        closing = b"" if self.worker.alive else b"Connection: close\r\n"
        self.write(b"".join((status_line(status), lines, SERVER_HEADER, date_header(), closing, b"\r\n", body)))
        if closing:
            self.close()

    def _read_held(self) -> None:
        """Look at what came while the request was in hand."""
        self._busy = False
        if self._held and not self.closed:
            held = bytes(self._held)
            self._held.clear()
            self.resume()
            self.data_received(held)
        if self.half_closed:
            self.close_if_answered()

    # -- what others ask of it -------------------------------------------------------------------------------------
    @property
    def unanswered(self) -> bool:
        if self._framed is not None:
            return bool(self._framed.unanswered)
        return self._busy or bool(self._held) or super().unanswered

    def stage(self) -> Stage:
        return Stage.at_rest() if self._busy or self._framed is not None else super().stage()

    @property
    def used(self) -> bool:
        return self.idle_timer_runs or super().used

    @property
    def idle(self) -> bool:
        return not self._busy and self._framed is None and super().idle
