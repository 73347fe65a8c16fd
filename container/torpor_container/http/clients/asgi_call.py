"""One request that its application has by ASGI, and its answer, which leaves as the application sends it.

An answer is framed by the length that it announces, or in chunks, or, for HTTP/1.0, by the end of its connection. What
an application does wrong ends its own connection alone: before the answer's first byte by 500, and after it by a close,
since a second status in its midst would be read as content.
"""

import asyncio
import logging
from typing import Protocol

from starlette.types import ASGIApp, Message, Scope

from torpor_container.http.clients.request_intake import RequestIntake
from torpor_container.http.messages.answer_bytes import (
    BODILESS,
    CONTINUE,
    answer_head,
    chunk_frame,
    without_framing,
)
from torpor_container.http.messages.request_heads import RequestHead
from torpor_container.transport.frames import Header

APART_BYTES = 64 * 1024
"""A piece as large leaves by a write of its own: to join it to what is around it would copy it."""

GRACE_S = 600.0
"""How long an application may go on once its client has left."""


class AnsweredClient(Protocol):
    """A connection, as one of its requests sees it."""

    closed: bool
    answer_begun: bool

    def write(self, data: bytes) -> None: ...

    async def writable(self) -> None:
        """Wait until its client has read enough, or is gone."""

    def refuse(self, status: int, why: str) -> None: ...

    def close(self) -> None: ...

    def taken(self, call: "AsgiCall") -> None:
        """Called once the application has taken a piece of the body."""

    def settle(self, call: "AsgiCall") -> None:
        """Called once its answer is whole, and once its application has returned."""


class AsgiCall:
    """One request. `answered`: its answer is whole; `over`: its application has returned; `closes`: the answer says
    that its connection ends."""

    def __init__(self, client: AnsweredClient, head: RequestHead, log: logging.Logger, goes_on: bool) -> None:
        """`goes_on`: the server does, and keeps connections."""
        self.intake = RequestIntake(head.expects_continue, self._ask)
        self.answered = False
        self.over = False
        self.closes = not head.keeps_alive or not goes_on
        self._client = client
        self._method = head.method
        self._version = head.version
        self._log = log
        self._head = b""  # of the answer, until its first piece
        self._begun = False
        self._bare = False  # the answer has no body
        self._in_chunks = False
        self._left: int | None = None  # of the length that it announces

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self.receive, self.send)
            if not self.answered and not self._client.closed:
                raise ValueError("the application returned before its answer was whole")
        except Exception:  # noqa: BLE001  the outer edge of a request: it is logged, and its connection ends
            self._log.exception("Error in ASGI application")
            self._fail()
        finally:
            self.over = True
            self.intake.drop()
            self._client.settle(self)

    def _fail(self) -> None:
        if self.answered or self._client.closed:
            return
        if self._begun:
            self._client.close()
        else:
            self._client.refuse(500, "Internal Server Error")

    # -- the application ---------------------------------------------------------------------------------------------
    async def receive(self) -> Message:
        message = await self.intake.message()
        self._client.taken(self)
        return message

    async def send(self, message: Message) -> None:
        """A client that is gone is no error."""
        if self._client.closed:
            return
        if message["type"] == "http.response.start":
            self._start(message["status"], list(message.get("headers", ())))
        elif message["type"] == "http.response.body":
            await self._send_piece(bytes(message.get("body", b"")), bool(message.get("more_body", False)))
        else:
            raise ValueError(f"an answer has no {message['type']}")

    def _ask(self) -> None:
        self._client.write(CONTINUE)

    def _start(self, status: int, headers: list[Header]) -> None:
        """Raises ValueError, and BadHeaders, which is one."""
        if self._begun:
            raise ValueError("the answer has begun already")
        told = {name.lower(): value for name, value in headers}
        self._bare = self._method == "HEAD" or status in BODILESS
        if self._bare:
            headers = without_framing(headers, status)
        elif b"transfer-encoding" in told:
            self._in_chunks = True
        elif b"content-length" in told:
            self._left = int(told[b"content-length"])
        elif self._version == b"1.1":
            self._in_chunks = True
            headers.append((b"transfer-encoding", b"chunked"))
        else:
            self.closes = True
        self.closes = self.closes or b"close" in told.get(b"connection", b"").lower()
        self._head = answer_head(status, headers, self._version, self.closes)
        self._begun = self._client.answer_begun = True
        self.intake.unasked = False

    async def _send_piece(self, content: bytes, more: bool) -> None:
        if not self._begun or self.answered:
            raise ValueError("a piece of an answer comes before its start, or after its end")
        if self._bare:
            content = b""
        elif self._left is not None:
            content = content[: self._left]  # more would be read as the next answer
            self._left -= len(content)
        self._write(content, more)
        if content:
            await self._client.writable()
        if not more:
            self.closes = self.closes or bool(self._left)
            self.answered = True
            self._client.settle(self)

    def _write(self, content: bytes, more: bool) -> None:
        """The head leaves with the first piece."""
        before, after = b"", b""
        if self._in_chunks:
            before, after = chunk_frame(content, last=not more)
        if before or after or content or not more:
            parts = (self._head, before, content, after)
            self._head = b""
            for part in parts if len(content) >= APART_BYTES else (b"".join(parts),):
                self._client.write(part)


def cancel_late(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]") -> None:
    """Cancel the task of a client that has left, unless it ends within GRACE_S."""
    late = loop.call_later(GRACE_S, task.cancel)
    task.add_done_callback(lambda _: late.cancel())
