"""All that Torpor uses of gunicorn's private parts, under public names. No other module touches a private one.

gunicorn serves HTTP/1.1 as a whole (chunks, pipelines, `Expect`, WebSocket), and its arbiter starts and stops the
process that serves. Torpor adds what gunicorn has no option for: a shorter way for short requests, a size and a time
for each stage of a request, answers for clients that send no more, and a stop that waits for requests and not for
connections. So it reads gunicorn's state, calls its methods and overrides some of them. `PRIVATE_NAMES` lists each of
these with what it is for, and a test holds the list against this file and against the installed gunicorn.
`gunicorn_version` refuses a version for which that was never tested.

Three classes stand between gunicorn and Torpor; each says what it is and nothing of what Torpor does with it:

- `GunicornConnection`: one client's connection. Properties tell how far its request is; methods act on it; *hooks*,
  which gunicorn calls and a subclass overrides, say what happens next.
- `GunicornBody`: one request's body, as it comes.
- `GunicornWorker`: the process that serves, with a connection class of its own.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

# gunicorn imports these four only as it begins to serve. Here, a forked instance finds them imported.
import gunicorn.arbiter
import gunicorn.asgi.lifespan
import gunicorn.glogging
import gunicorn.instrument.statsd  # noqa: F401
from gunicorn.asgi import parser, protocol
from gunicorn.workers import gasgi

PRIVATE_NAMES: dict[str, dict[str, str]] = {
    "gunicorn.asgi.protocol": {
        "ASGIProtocol": "The class of a connection. `GunicornConnection` derives from it.",
        "BodyReceiver": "The class of a body, which a connection makes by this name. `GunicornBody` replaces it.",
        "_CACHED_SERVER_HEADER": "The line `Server: …`. Without it, short answers would differ from gunicorn's own.",
        "_CHUNK_PREFIXES": "A cache of the lengths of 16,384 chunks. Emptied: it takes 1.7 MiB in each process.",
        "_get_cached_date_header": "Makes the line `Date: …` once a second. Short answers have the same line.",
        "_get_cached_status_line": "Makes an answer's first line once for each status. Short answers have the same.",
    },
    "gunicorn.asgi.protocol.ASGIProtocol": {
        # State of a connection.
        "_awaiting_request": "Whether its task waits for a request. A short one may be answered only then.",
        "_body_receiver": "The body of the request in hand. Without it, a body that stands still would not be noticed.",
        "_callback_parser": "The parser; None for a WebSocket. Without it, nobody would know if a request has begun.",
        "_closed": "Whether it was closed. Without it, bytes that come later would be parsed.",
        "_current_request": "The request in hand. Without it, a half-closed client would lose the answer to it.",
        "_finishing_calls": "Answered requests that the application still runs for. Such a connection is not idle.",
        "_flow_control": "Holds answers while the client does not read. Without it, they would wait for one that left.",
        "_keepalive_handle": "The timer that closes an idle connection. The first short request must start it.",
        "_max_buffer_size": "How much may wait before the socket is read no more. Unparsed slices count too.",
        "_reading_paused": "Whether the socket is not read. Without it, the client would be blamed for the silence.",
        "_request_ready": "The event that wakes its task. Without it, a refused connection would keep that task.",
        "_root_path": "The setting, which each scope has. A short request's scope has it too.",
        "_task": "The task that serves it. Hidden from gunicorn at the end: it would live for the grace period.",
        # Methods that are called.
        "_close_transport": "Closes, once all that was written has left.",
        "_maybe_resume_reading": "Reads the socket again, if the application has taken most of what waited.",
        "_pause_reading": "Stops reading the socket, and notes that for gunicorn's own decisions.",
        "_response_omits_body": "Decides whether an answer has a body. Short answers must follow the same rule.",
        "_resume_reading": "Reads the socket again.",
        "_safe_write": "Writes, and ignores a client that is gone. Every short answer goes through it.",
        "_send_error_response": "Writes a whole refusal with `Connection: close`.",
        "_strip_body_framing_headers": "Takes out what an answer without a body may not have. Part of the same rule.",
        # Methods that are overridden.
        "_build_http_scope": "Makes the scope of a request. With TLS, it gets the version: policies of S3 ask for it.",
        "_arm_keepalive_timer": "Called as it begins to wait for a request. A half-closed connection ends instead.",
        "_feed_callback_parser": "Called with the bytes behind a request. Without it, they would be parsed unbounded.",
        "_http1_buffered": "Counts what waits. Without it, unparsed slices would not count.",
        "_keepalive_timeout": "Called when the idle time is over. Without it, it would end connections in use.",
        "_on_headers_complete": "Called with each head. Without it, a host would have no bound.",
        "_send_response_start": "Called as an answer begins. Without it, a refusal might be written into its midst.",
    },
    "gunicorn.asgi.protocol.BodyReceiver": {
        "_buffered": "How many bytes wait for the application. Bytes that are joined to a piece must be added.",
        "_chunks": "The pieces that wait. Small ones are joined: one-byte chunks would be as many messages.",
        "_complete": "Whether the body is whole. Only then is a half-closed client owed an answer.",
        "_disconnected": "Whether the client is gone. Without it, the application would wait for it.",
        "_pop_chunk": "Hands out a piece. Overridden: a joined one must become bytes, as ASGI wants.",
        "_wait_for_data": "Waits for a piece, 30 s at most. Overridden: `core.client_timeouts` decides how long.",
        "_waiter": "The future that it waits on, which gunicorn wakes with a new piece.",
    },
    "gunicorn.asgi.parser": {
        "InvalidHeader": "Raised for a header that is refused with 400. Torpor refuses some that gunicorn accepts.",
    },
    "gunicorn.asgi.parser.PythonProtocol": {
        "_buffer": "Bytes that are not parsed: a part of a head, or what is behind a request.",
        "_state": "How far the request is: `request_line`, `headers`, `body`, `chunked`, `complete`.",
    },
    "gunicorn.workers.gasgi": {
        "ASGIProtocol": "What the worker makes of each connection. Replaced, as the worker has no option for it.",
        "ASGIWorker": "The class of the process that serves. `GunicornWorker` derives from it.",
    },
    "gunicorn.workers.gasgi.ASGIWorker": {
        "_serve": "Runs from the worker's start to its end. Overridden to watch the connections meanwhile.",
        "_shutdown": "Runs when the worker is to stop. Overridden: it would wait for connections that are idle.",
    },
}
"""By the module or class that has it: each private name, what it is, and why it is needed or what breaks without it."""

HeadRefused = parser.InvalidHeader
"""Raised by `GunicornConnection.check_head`: the request is answered with 400."""

TLS_VERSIONS = {"TLSv1.2": 0x0303, "TLSv1.3": 0x0304}
"""The numbers of ASGI's extension, by Python's names. The server speaks no older ones."""

SERVER_HEADER: bytes = protocol._CACHED_SERVER_HEADER

protocol._CHUNK_PREFIXES.clear()  # as this is imported: a process then shares the freed memory with those it forks

date_header: Callable[[], bytes] = protocol._get_cached_date_header
"""The line `Date: …` of this second."""


@cache
def status_line(status: int) -> bytes:
    """The first line of an answer in HTTP/1.1."""
    line: bytes = protocol._get_cached_status_line((1, 1), status)
    return line


class GunicornBody(protocol.BodyReceiver):  # type: ignore[misc]  # gunicorn has no types
    """The body of one request, as it comes. It joins the smallest pieces, and waits for its client without end."""

    JOINED_BYTES = 4 * 1024
    """A piece is added to the one before it, as long as that one is smaller than this."""

    _complete: bool
    _waiter: "asyncio.Future[None] | None"

    def __init__(self, request: Any, connection: Any) -> None:
        super().__init__(request, connection)
        self.received = 0

    @property
    def whole(self) -> bool:
        """Whether its last byte has come."""
        return self._complete

    @property
    def awaited(self) -> bool:
        """Whether its client is to send more: it was not told to wait, and the application has taken all that came."""
        return not self.expect_continue and not self._buffered and not self._complete

    def feed(self, chunk: bytes) -> None:
        self.received += len(chunk)
        if not self._chunks or len(last := self._chunks[-1]) >= self.JOINED_BYTES:
            super().feed(chunk)
            return
        if last.__class__ is bytes:
            self._chunks[-1] = last = bytearray(last)
        last += chunk
        self._buffered += len(chunk)

    def _pop_chunk(self) -> dict[str, Any]:
        message: dict[str, Any] = super()._pop_chunk()
        if message["body"].__class__ is bytearray:
            message["body"] = bytes(message["body"])
        return message

    async def _wait_for_data(self) -> None:
        if self._chunks or self._complete or self._disconnected:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiter = waiter
        try:
            await waiter
        finally:
            self._waiter = None


class GunicornConnection(protocol.ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """One client's connection. `answer_begun`: something of the answer to the request in hand was written."""

    HEAD_STATES = frozenset({"request_line", "headers"})

    # As gunicorn has them, with their types.
    _awaiting_request: bool
    _body_receiver: GunicornBody | None
    _closed: bool
    _max_buffer_size: int
    _reading_paused: bool
    _root_path: str
    _task: "asyncio.Task[None] | None"

    # Every request calls these: a function around them would cost it time.
    write = protocol.ASGIProtocol._safe_write
    """`write(data)`: a client that is gone is no error."""
    parse = protocol.ASGIProtocol._feed_callback_parser
    """`parse(piece)`: False when it has refused the request and closed. Raises whatever the parser raises."""
    start_idle_timer = protocol.ASGIProtocol._arm_keepalive_timer
    """`start_idle_timer()`: close this connection after the keep-alive time, unless a request comes."""
    omits_body = staticmethod(protocol.ASGIProtocol._response_omits_body)
    """`omits_body(method, status)`: whether such an answer has no body."""

    def __init__(self, worker: Any) -> None:
        super().__init__(worker)
        self.answer_begun = False

    # -- how far it is ---------------------------------------------------------------------------------------------
    @property
    def closed(self) -> bool:
        """Whether it was closed, or its client is gone."""
        return self._closed

    @property
    def parses(self) -> bool:
        """Whether HTTP/1.1 is still spoken. A WebSocket has no parser."""
        return self._callback_parser is not None

    @property
    def in_head(self) -> bool:
        """Whether the next byte belongs to a request's head."""
        reader = self._callback_parser
        return reader is not None and reader._state in self.HEAD_STATES

    @property
    def head_begun(self) -> bool:
        """Whether some of a head has come, but not all of it."""
        reader = self._callback_parser
        return reader._state == "headers" or bool(reader._buffer)

    @property
    def in_sized_body(self) -> bool:
        """Whether the next byte belongs to a body of a length that is known."""
        return bool(self._callback_parser._state == "body")

    @property
    def between_requests(self) -> bool:
        """Whether nothing of a next request has come."""
        reader = self._callback_parser
        return reader is not None and reader._state == "request_line" and not reader._buffer

    @property
    def awaits_request(self) -> bool:
        """Whether nothing of a next request has come, and gunicorn will take one."""
        reader = self._callback_parser
        if reader is None or reader._state != "request_line" or reader._buffer:
            return False
        return self._awaiting_request or self.req_count == 0

    @property
    def request_complete(self) -> bool:
        """Whether the last byte of the request in hand has come."""
        return bool(self._callback_parser.is_complete)

    @property
    def pipelined(self) -> bool:
        """Whether the request in hand is complete, and bytes of a next one have come behind it."""
        reader = self._callback_parser
        return reader.is_complete and len(reader._buffer) > 0

    @property
    def body(self) -> GunicornBody | None:
        """The body of the request in hand."""
        return self._body_receiver

    @property
    def has_request(self) -> bool:
        """Whether there is a request in hand: its head is complete, and its answer is not."""
        return self._current_request is not None

    @property
    def finishing(self) -> bool:
        """Whether the application still runs for requests that are answered."""
        return bool(self._finishing_calls)

    @property
    def reading_paused(self) -> bool:
        return self._reading_paused

    @property
    def idle_timer_runs(self) -> bool:
        return self._keepalive_handle is not None

    @property
    def write_paused(self) -> bool:
        """Whether its client is slower to read than answers are written."""
        return bool(self._flow_control.write_paused)

    @property
    def over_tls(self) -> bool:
        return self.transport.get_extra_info("ssl_object") is not None

    @property
    def root_path(self) -> str:
        """The setting, for a request's scope."""
        return self._root_path

    # -- what can be done with it ----------------------------------------------------------------------------------
    async def drained(self) -> None:
        """Wait until its client has read enough, or is gone."""
        await self._flow_control.drain()

    def pause(self) -> None:
        """Stop reading."""
        self._pause_reading()

    def pause_if_full(self) -> None:
        """Stop reading if more waits than may wait."""
        body = self._body_receiver
        held_bytes = (
            self.extra_held_bytes() + len(self._callback_parser._buffer) + (0 if body is None else body._buffered)
        )
        if held_bytes > self._max_buffer_size and not self._reading_paused:
            self._pause_reading()

    def resume(self) -> None:
        """Read on."""
        self._resume_reading()

    def resume_if_taken(self) -> None:
        """Read on if the application has taken most of what was held."""
        self._maybe_resume_reading()

    def send_error(self, status: int, why: str) -> None:
        """Write an answer with `Connection: close`. `why` is its body."""
        self._send_error_response(status, why)

    def close(self) -> None:
        """Close once all that was written has left."""
        self._close_transport()

    def close_and_wake(self) -> None:
        """Close, and let the task that waits for a next request see it."""
        self._close_transport()
        if self._request_ready is not None:
            self._request_ready.set()

    def without_framing(self, headers: list[tuple[bytes, bytes]], status: int) -> list[tuple[bytes, bytes]]:
        """The headers of an answer that has no body."""
        kept: list[tuple[bytes, bytes]] = self._strip_body_framing_headers(headers, status)
        return kept

    def cancel_after_grace(self, task: "asyncio.Task[None]") -> None:
        """Let a task go on without its client for the grace period, and then cancel it."""
        late = self.worker.loop.call_later(self.cfg.asgi_disconnect_grace_period, task.cancel)
        task.add_done_callback(lambda _: late.cancel())

    # -- hooks: gunicorn calls them, a subclass overrides them -----------------------------------------------------
    def extra_held_bytes(self) -> int:
        """How much a subclass holds that the parser has not seen."""
        return 0

    def take_back(self, data: bytes) -> bool:
        """What has come behind a request, given back once that is answered. False when the connection has ended."""
        return bool(self.parse(data))

    def check_head(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Called with each head. A subclass raises HeadRefused to refuse it with 400."""

    def head_accepted(self) -> None:
        """Called once `body` is there, before anything of it is."""

    def await_next_request(self) -> None:
        """Called when it begins to wait for its next request."""
        self.start_idle_timer()

    def idle_for_too_long(self) -> None:
        """Called when the idle timer has run down."""
        super()._keepalive_timeout()

    def _http1_buffered(self) -> int:
        held: int = super()._http1_buffered()
        return held + self.extra_held_bytes()

    def _feed_callback_parser(self, data: bytes) -> bool:
        return self.take_back(data)

    def _on_headers_complete(self) -> Any:
        self.check_head(self._callback_parser.headers)
        self.answer_begun = False
        skip_body = super()._on_headers_complete()
        self.head_accepted()
        return skip_body

    def _send_response_start(self, *args: Any, **kwargs: Any) -> None:
        self.answer_begun = True
        super()._send_response_start(*args, **kwargs)

    def _arm_keepalive_timer(self) -> None:
        self.await_next_request()

    def _keepalive_timeout(self) -> None:
        self.idle_for_too_long()

    # -- its end ---------------------------------------------------------------------------------------------------
    def connection_lost(self, exc: Exception | None) -> None:
        """End at once what waits for this client alone; let the application go on for the grace period.

        gunicorn would keep a task that waits for a next request, and with it the whole connection, for all that time.
        And an answer that waits for its client to read is woken: a client that is gone never will.
        """
        if self._flow_control:
            self._flow_control.resume_writing()
        task, self._task = self._task, None  # gunicorn is to see none
        super().connection_lost(exc)
        self._task = task
        if task is None or task.done():
            return
        if self._awaiting_request and not self._finishing_calls:
            task.cancel()
        else:
            self.cancel_after_grace(task)


class TlsScopes:
    """What a connection with TLS has beside `GunicornConnection`: its scopes have the version, by ASGI's extension."""

    transport: Any

    def _build_http_scope(self, *request: Any) -> dict[str, Any]:
        scope: dict[str, Any] = super()._build_http_scope(*request)  # type: ignore[misc]  # gunicorn's
        version = self.transport.get_extra_info("ssl_object").version()
        return {**scope, "extensions": {"tls": {"tls_version": TLS_VERSIONS.get(version)}}}


class GunicornWorker(gasgi.ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """The process that serves."""

    def init_process(self) -> None:
        gasgi.ASGIProtocol = lambda _: self.make_connection()
        protocol.BodyReceiver = GunicornBody
        super().init_process()

    # -- hooks -----------------------------------------------------------------------------------------------------
    def make_connection(self) -> asyncio.Protocol:
        """The protocol of a connection that was just accepted."""
        made: asyncio.Protocol = GunicornConnection(self)
        return made

    async def serve(self) -> None:
        """Serve, from the application's start-up to its shutdown."""
        await super()._serve()

    async def shut_down(self) -> None:
        """Called once it is told to stop: stop listening, wait for connections, shut the application down."""
        await super()._shutdown()

    async def _serve(self) -> None:
        await self.serve()

    async def _shutdown(self) -> None:
        await self.shut_down()


@dataclass
class Listener:
    """A listening socket, as the worker wants it: gunicorn's own class makes its socket itself."""

    sock: socket.socket

    def fileno(self) -> int:
        return self.sock.fileno()

    def close(self) -> None:
        self.sock.close()

    def __str__(self) -> str:
        return str(self.sock.getsockname())
