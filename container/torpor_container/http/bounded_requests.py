"""A connection whose requests have bounds, and whose client may stop sending before it has its answers.

HTTP/1.1 lets a client do what costs a server without end: a head that never ends, a body in chunks of one byte, a
megabyte of pipelined requests at once, a connection that is opened and left. gunicorn bounds each line of a head and
their number, and nothing else. So this class stands between the socket and gunicorn's parser, and adds:

- *Slices.* gunicorn parses whatever it is given in one go, and parsing is slow: a megabyte of small chunks holds up the
  event loop, and all its other clients, for a second. Of a head or of chunks, at most SLICE_BYTES are parsed at once;
  the rest waits in `_unread`, and the event loop serves others in between. A body of a known length needs no parsing,
  and passes through whole.

- *A size of heads.* Above HEAD_MAX_BYTES the answer is 431.

- *Half-closed connections.* A client may shut down its side after its last request and still read (RFC 9112, section
  9.6). What has come whole is answered; then the server closes too. `half_closed` looks for those that have left
  instead.

- *Stages.* `stage` says what the connection waits for its client to send: nothing, the first byte, the rest of a head,
  or more of a body. How long each may take is decided in `core.client_timeouts`;
  `connections` looks, and calls `refuse`.
"""

from typing import Any

from torpor_container.core.client_timeouts import ConnectionStage, Stage
from torpor_container.http.gunicorn_internals import GunicornConnection, HeadRefused

HOST_MAX_BYTES = 255 + len(":65535")
"""RFC 1035, section 2.3.4: a name has "255 octets or less"."""

HEAD_MAX_BYTES = 128 * 1024
"""A request's line and headers together."""

SLICE_BYTES = 16 * 1024
"""As much of a head, or of a body in chunks, is parsed at once: within 15 ms, whatever it holds."""

NEW_S = 1.0
"""A connection as young as this is not idle: its first request is on its way."""


class BoundedRequests(GunicornConnection):
    """The connection. `half_closed`: its client sends no more, and may still read."""

    def __init__(self, worker: Any) -> None:
        super().__init__(worker)
        self.half_closed = False
        self.waiting = ConnectionStage()
        self._unread = bytearray()
        self._read_on_planned = False
        self._head_bytes = 0
        self._made_s = worker.loop.time()

    # -- what its client sends -------------------------------------------------------------------------------------
    def feed(self, data: bytes) -> bool:
        """Parse what came, or as much as may be parsed at once. False when the connection has ended over it."""
        if not self.parses:  # it is a WebSocket by now
            super().data_received(data)
            return True
        if not self._unread:
            if len(data) <= SLICE_BYTES or self.in_sized_body:
                return self._parse(data)
            if not self._parse(data[:SLICE_BYTES]):
                return False
            data = data[SLICE_BYTES:]
            if self.in_sized_body:
                return self._parse(data)
        self._unread += data
        return self._read_on()

    def take_back(self, data: bytes) -> bool:
        """What came behind a request comes before all that came later."""
        self._unread[:0] = data
        return self._read_on()

    def _read_on(self) -> bool:
        """Parse one slice of what is unread, and plan the next. A pipelined request waits until gunicorn takes it."""
        while self._unread and not self.pipelined:
            size = len(self._unread) if self.in_sized_body else SLICE_BYTES
            piece = bytes(self._unread[:size])
            del self._unread[:size]
            if not self._parse(piece):
                return False
            if self._unread and not self.request_complete and not self.in_sized_body:
                self._plan_to_read_on()
                break
        if not self._unread:
            self.resume_if_taken()
        self.close_if_answered()
        return not self.closed

    def _plan_to_read_on(self) -> None:
        """In the event loop's next round, so that other connections have this one."""
        if not self._read_on_planned:
            self._read_on_planned = True
            self.worker.loop.call_soon(self._read_on_as_planned)

    def _read_on_as_planned(self) -> None:
        self._read_on_planned = False
        if not self.closed and self.parses:
            self._read_on()

    def _parse(self, piece: bytes) -> bool:
        """Feed gunicorn's parser, within bounds. False when the connection has ended over it."""
        if self.closed or self.transport.is_closing():  # its address can no longer be asked for either
            self._unread.clear()
            return False
        in_head = self.in_head
        try:
            parsed = self.parse(piece) and (not in_head or self._head_fits(len(piece)))
        except Exception as error:  # noqa: BLE001  an outer edge: what gunicorn's parser may raise is not documented
            self.log.warning("a request cannot be read: %s", error)
            self.refuse(400, "Bad Request")
            parsed = False
        if not parsed:
            self._unread.clear()
            return False
        self.pause_if_full()
        return True

    def _head_fits(self, size_bytes: int) -> bool:
        self._head_bytes = self._head_bytes + size_bytes if self.in_head else 0
        if self._head_bytes > HEAD_MAX_BYTES:
            self.refuse(431, f"The request's head is over {HEAD_MAX_BYTES} bytes.")
            return False
        return True

    def extra_held_bytes(self) -> int:
        return len(self._unread)

    def check_head(self, headers: list[tuple[bytes, bytes]]) -> None:
        for name, value in headers:
            if name == b"host" and len(value) > HOST_MAX_BYTES:
                raise HeadRefused(f"The header Host is over {HOST_MAX_BYTES} bytes.")

    def head_accepted(self) -> None:
        """Ask for an empty body, where the client waits to be asked.

        gunicorn asks once the application reads the body, and never for one of no bytes. The AWS CLI, and botocore up
        to 1.41, wait for `100 Continue` then too: without it they lose the connection's next answer.
        """
        body = self.body
        if body is not None and body.expect_continue and body.request.content_length == 0:
            body.expect_continue = False
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # -- its end ---------------------------------------------------------------------------------------------------
    def eof_received(self) -> bool:
        """Its client sends no more. True keeps the connection until all requests that came whole are answered.

        Over TLS it never stays: the event loop closes the transport whatever is said here.
        """
        self.half_closed = True
        if self.over_tls or not self.unanswered:
            return False
        self.worker.half_closed_connections.watch(self)
        return True

    @property
    def unanswered(self) -> bool:
        """Whether a whole request has come that is not answered. One that is not whole is owed nothing."""
        if self._unread:
            return True
        return self.has_request and self.body is not None and self.body.whole

    def close_if_answered(self) -> None:
        """Close a half-closed connection whose client has all its answers."""
        if self.half_closed and not self.closed and not self.unanswered:
            self.close_and_wake()

    def await_next_request(self) -> None:
        if self.half_closed:
            self.close_if_answered()
        else:
            self.start_idle_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread.clear()
        self.worker.half_closed_connections.forget(self)
        super().connection_lost(exc)

    def refuse(self, status: int, why: str) -> None:
        """Close, and say why, unless an answer has begun: a second status in its midst would be read as content."""
        if not self.answer_begun:
            self.send_error(status, why)
        self.close_and_wake()

    # -- what the worker asks of it --------------------------------------------------------------------------------
    def stage(self) -> Stage:
        """What the connection waits for its client to send, and how far that is."""
        if not self.parses or self.reading_paused or self._unread:
            return Stage.at_rest()
        if self.body is not None:
            return Stage.body(self.req_count, self.body.received) if self.body.awaited else Stage.at_rest()
        if self.head_begun:
            return Stage.head(self.req_count)
        return Stage.at_rest() if self.used else Stage.silent()

    @property
    def partial_body_bytes(self) -> int:
        """How much has come of a body that is not whole."""
        return 0 if self.body is None or self.body.whole else self.body.received

    @property
    def used(self) -> bool:
        """Whether a request has ever come."""
        return bool(self.req_count > 1)

    @property
    def idle(self) -> bool:
        """Whether nothing has come that is not answered, and no answer is left to be sent. A new one is not idle."""
        if not self.used and self.worker.loop.time() - self._made_s < NEW_S:
            return False
        if self._unread or self.closed or self.transport.get_write_buffer_size():
            return False
        return self.between_requests and not self.finishing
