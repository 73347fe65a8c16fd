"""The server's end of a connection with frames: each request is taken up as it comes, and none waits for others."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from starlette.types import Receive, Scope, Send

from torpor_container.exchange import Exchange, Tell
from torpor_container.frames import (
    BODY_MAX_BYTES,
    HEAD_MAX_BYTES,
    NOT_GIVEN,
    BadHeaders,
    Frame,
    FrameTooLong,
    Header,
    Unframed,
    framed,
    valid_lines,
)
from torpor_container.one_turn import OneTurn, Reading


class App(Protocol):
    """An ASGI application that takes up some requests at once."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def at_once(self, scope: Scope, body: bytes, tell: Tell) -> bool: ...


class Client(NamedTuple):
    """How it is told something, and left."""

    write: Callable[[bytes], None]
    hang_up: Callable[[], None]


class FramedRequests:
    """`scope` is what all requests of the connection have in common; `gone` is set when the client is."""

    def __init__(self, app: App, scope: Scope, client: Client, gone: asyncio.Event, log: logging.Logger) -> None:
        self._app = app
        self._client = client
        self._scope = scope
        self._leaving = OneTurn[bytes](lambda frames: client.write(b"".join(frames)))
        self.log = log
        self._frames = Unframed()
        self._unanswered = 0
        self._gone = gone
        self.answering: set[asyncio.Task[None]] = set()

    def read(self, data: bytes) -> None:
        try:
            frames = list(self._frames.read(data))
        except FrameTooLong as error:
            self.log.warning("a client is hung up on: %s", error)
            self._client.hang_up()
            return
        self._unanswered += len(frames)
        with Reading():
            for frame in frames:
                self._begin(frame)

    def _begin(self, frame: Frame) -> None:
        scope = {**self._scope, "headers": frame.headers}
        try:
            if self._app.at_once(scope, frame.body, partial(self._tell, frame.number)):
                return
        except Exception:  # the outer edge of a request: it is logged, and is no other's
            self.log.exception("Error in ASGI application")
            self._tell(frame.number, 500, [], b"Internal Server Error")
            return
        task = asyncio.get_running_loop().create_task(self._answer(frame, scope))
        self.answering.add(task)
        task.add_done_callback(self.answering.discard)

    async def _answer(self, frame: Frame, scope: Scope) -> None:
        exchange = Exchange(frame.body, self._gone)
        try:
            await exchange.answered_by(self._app, scope)
        except Exception:  # as above
            self.log.exception("Error in ASGI application")
            self._tell(frame.number, 500, [], b"Internal Server Error")
            return
        self._tell(frame.number, exchange.status, exchange.headers, exchange.body)

    def _tell(self, number: int, status: int, headers: list[Header], body: bytes) -> None:
        try:
            head = valid_lines(headers)
        except BadHeaders:
            self.log.exception("Error in ASGI application")
            status, head, body = 500, b"", b"Internal Server Error"
        if len(head) > HEAD_MAX_BYTES or len(body) > BODY_MAX_BYTES:
            why = f"the answer is over {BODY_MAX_BYTES} bytes, or its headers over {HEAD_MAX_BYTES}"
            status, head, body = NOT_GIVEN, b"", why.encode()
        self._unanswered -= 1
        self._leaving.add(framed(number, status, head, body), last=not self._unanswered)
