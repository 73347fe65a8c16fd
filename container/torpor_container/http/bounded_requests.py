"""gunicorn's connection, held to bounds, and answered to its end when its client sends no more.

What comes is read in slices, so that no read holds up the event loop; a head has a size; and a client that shuts down
its side after whole requests gets its answers. How long each stage may take is `patience`'s.
"""

import asyncio
from typing import Any

from gunicorn.asgi.parser import InvalidHeader
from gunicorn.asgi.protocol import ASGIProtocol, BodyReceiver

from torpor_container.core.patience import ConnectionStage, Stage

HOST_MAX_BYTES = 255 + len(":65535")
"""RFC 1035, section 2.3.4: a name has "255 octets or less"."""

HEAD_MAX_BYTES = 128 * 1024
"""A request's line and headers together."""

SLICE_BYTES = 16 * 1024
"""As much of a head, or of a body in chunks, is parsed in one go: within 15 ms, whatever it holds."""

SMALL_BYTES = 4 * 1024
"""Pieces of a body up to this size are put together."""

NEW_S = 1.0

IN_HEAD = frozenset({"request_line", "headers"})


class JoinedBody(BodyReceiver):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's body, whose smallest pieces are joined: a body in chunks of one byte is no longer many messages.

    It waits for its client without end: that end is `patience`'s.
    """

    _waiter: "asyncio.Future[None] | None"

    def __init__(self, request: Any, connection: Any) -> None:
        super().__init__(request, connection)
        self.received = 0

    def feed(self, chunk: bytes) -> None:
        self.received += len(chunk)
        if not self._chunks or len(last := self._chunks[-1]) >= SMALL_BYTES:
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


class BoundedRequests(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """The connection. `ended` says that its client sends no more."""

    def __init__(self, worker: Any) -> None:
        super().__init__(worker)
        self.ended = False
        self._body_receiver: JoinedBody | None = None
        self.waiting = ConnectionStage()
        self._unread = bytearray()
        self._going_on = False
        self._head_bytes = 0
        self._answer_begun = False
        self._made_s = worker.loop.time()

    # -- what comes ------------------------------------------------------------------------------------------------
    def take_in(self, data: bytes) -> bool:
        """Parse what came, or as much as may be parsed at once. False when the connection has ended over it."""
        parser = self._callback_parser
        if parser is None:  # it speaks something else by now
            super().data_received(data)
            return True
        if not self._unread:
            if parser._state == "body" or len(data) <= SLICE_BYTES:
                return self._fed(data)
            if not self._fed(data[:SLICE_BYTES]):
                return False
            data = data[SLICE_BYTES:]
            if parser._state == "body":
                return self._fed(data)
        self._unread += data
        return self._go_on()

    def _feed_callback_parser(self, data: bytes) -> bool:
        """gunicorn gives back what came behind a request, once that is answered: it comes before all else."""
        self._unread[:0] = data
        return self._go_on()

    def _go_on(self) -> bool:
        parser = self._callback_parser
        while self._unread and not (parser.is_complete and parser._buffer):
            some = SLICE_BYTES if parser._state != "body" else len(self._unread)
            piece = bytes(self._unread[:some])
            del self._unread[:some]
            if not self._fed(piece):
                return False
            if self._unread and not parser.is_complete and parser._state != "body":
                self._go_on_later()
                break
        if not self._unread:
            self._maybe_resume_reading()
        self.end_if_over()
        return not self._closed

    def _go_on_later(self) -> None:
        """After whatever else there is to be done."""
        if not self._going_on:
            self._going_on = True
            self.worker.loop.call_soon(self._go_on_if_open)

    def _go_on_if_open(self) -> None:
        self._going_on = False
        if not self._closed and self._callback_parser is not None:
            self._go_on()

    def _fed(self, piece: bytes) -> bool:
        """gunicorn's parser may raise: its fault ends this connection alone."""
        if self._closed or self.transport.is_closing():  # its address can no longer be asked for either
            self._unread.clear()
            return False
        parser = self._callback_parser
        in_head = parser._state in IN_HEAD
        try:
            fed = super()._feed_callback_parser(piece) and (not in_head or self._head_fits(len(piece)))
        except Exception as error:  # noqa: BLE001  it says nowhere what it raises
            self.log.warning("a request cannot be read: %s", error)
            self.refuse(400, "Bad Request")
            fed = False
        if not fed:
            self._unread.clear()
            return False
        receiver = self._body_receiver
        held_bytes = len(self._unread) + len(parser._buffer) + (0 if receiver is None else receiver._buffered)
        if held_bytes > self._max_buffer_size and not self._reading_paused:
            self._pause_reading()
        return True

    def _head_fits(self, size_bytes: int) -> bool:
        still = self._callback_parser is not None and self._callback_parser._state in IN_HEAD
        self._head_bytes = self._head_bytes + size_bytes if still else 0
        if self._head_bytes > HEAD_MAX_BYTES:
            self.refuse(431, f"The request's head is over {HEAD_MAX_BYTES} bytes.")
            return False
        return True

    def _http1_buffered(self) -> int:
        held: int = super()._http1_buffered()
        return held + len(self._unread)

    def _on_headers_complete(self) -> Any:
        """gunicorn asks for a body once somebody reads it, and never for one of no bytes. The AWS CLI, and botocore up
        to 1.41, wait to be asked for an empty file too: where they are not, they lose the connection's next answer."""
        for name, value in self._callback_parser.headers:
            if name == b"host" and len(value) > HOST_MAX_BYTES:
                raise InvalidHeader(f"The header Host is over {HOST_MAX_BYTES} bytes.")
        self._answer_begun = False
        ready = super()._on_headers_complete()
        receiver = self._body_receiver
        if receiver is not None and receiver.expect_continue and receiver.request.content_length == 0:
            receiver.expect_continue = False
            self._safe_write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return ready

    def _send_response_start(self, *args: Any, **kwargs: Any) -> None:
        self._answer_begun = True
        super()._send_response_start(*args, **kwargs)

    # -- its end ---------------------------------------------------------------------------------------------------
    def eof_received(self) -> bool:
        """A client that sends no more still reads. The connection stays until all that came whole is answered."""
        self.ended = True
        if not self.unanswered:
            return False
        self.worker.departures.watch(self)
        return True

    @property
    def unanswered(self) -> bool:
        """Whether a whole request has come that is not answered yet. One that will never be whole is none."""
        if self._unread:
            return True
        receiver = self._body_receiver
        return self._current_request is not None and receiver is not None and receiver._complete

    def end_if_over(self) -> None:
        """Hang up on a client that sends no more and has all its answers."""
        if self.ended and not self._closed and not self.unanswered:
            self._close_transport()
            if self._request_ready is not None:
                self._request_ready.set()  # a task that waits for a request sees that the connection is closed

    def _arm_keepalive_timer(self) -> None:
        """gunicorn waits for the next request from now on."""
        if self.ended:
            self.end_if_over()
        else:
            super()._arm_keepalive_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread.clear()
        self.worker.departures.forget(self)
        super().connection_lost(exc)

    def refuse(self, status: int, why: str) -> None:
        """Say why, where no answer has begun, and hang up."""
        if not self._answer_begun:
            self._send_error_response(status, why)
        self._close_transport()
        if self._request_ready is not None:
            self._request_ready.set()

    # -- its patience ----------------------------------------------------------------------------------------------
    def stage(self) -> Stage:
        """What it waits for its client to send, and how far that is."""
        parser, receiver = self._callback_parser, self._body_receiver
        if parser is None or self._reading_paused or self._unread:
            return Stage.at_rest()
        if receiver is not None:
            asked = not receiver.expect_continue and not receiver.buffered and not receiver._complete
            return Stage.body(self.req_count, receiver.received) if asked else Stage.at_rest()
        if parser._state == "headers" or parser._buffer:
            return Stage.head(self.req_count)
        return Stage.at_rest() if self.used else Stage.silent()

    @property
    def unfinished_bytes(self) -> int:
        """What has come of a body that is not whole."""
        receiver = self._body_receiver
        return 0 if receiver is None or receiver._complete else receiver.received

    @property
    def used(self) -> bool:
        """Whether a request has ever come."""
        return bool(self.req_count > 1)

    @property
    def idle(self) -> bool:
        """Whether nothing of a request has come that is not answered, and nothing of an answer is left to be sent.

        A connection that is quite new is not: its first request is on its way.
        """
        parser = self._callback_parser
        if not self.used and self.worker.loop.time() - self._made_s < NEW_S:
            return False
        if parser is None or self._unread or self._closed or self.transport.get_write_buffer_size():
            return False
        return bool(parser._state == "request_line" and not parser._buffer and not self._finishing_calls)
