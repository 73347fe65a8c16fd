"""The server's end of a connection with frames: many requests at once, answered in any order.

What is answered at once takes the event loop's time. Once that was some, what was answered leaves, and of those who
still wait, or come meanwhile, each model has a turn: one that many call holds up others by one prediction, which some
of its requests may share, and not by all.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic
from typing import NamedTuple, Protocol

from starlette.types import Receive, Scope, Send

from torpor_container import wire
from torpor_container.core.rounds import Rounds
from torpor_container.http.exchange import Exchange, Tell
from torpor_container.transport.frames import (
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
from torpor_container.transport.loop_batch import BatchScope, LoopBatch

WHILE_S = 0.001
"""So long requests are taken up in one go. Those that share a prediction have it at the end."""

TARGET = wire.TARGET_MODEL.lower().encode()


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

    def __init__(
        self,
        app: App,
        scope: Scope,
        client: Client,
        gone: asyncio.Event,
        log: logging.Logger,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._app = app
        self._client = client
        self._scope = scope
        self._leaving = LoopBatch[bytes](lambda frames: client.write(b"".join(frames)))
        self.log = log
        self._frames = Unframed()
        self._gone = gone
        self._clock = clock
        self._waiting = Rounds[Frame]()
        self.unanswered = 0
        self.answering: set[asyncio.Task[None]] = set()

    def read(self, data: bytes) -> None:
        try:
            frames = list(self._frames.read(data))
        except FrameTooLong as error:
            self.log.warning("a client is hung up on: %s", error)
            self._client.hang_up()
            return
        self.unanswered += len(frames)
        came = iter(frames)
        if self._waiting:
            self._wait(came)
            return
        try:
            self._begin_for_a_while(came)
        finally:
            self._wait(came)
            self._go_on_soon()

    def _wait(self, frames: Iterator[Frame]) -> None:
        for frame in frames:
            self._waiting.add(next((value for name, value in frame.headers if name == TARGET), b""), frame)

    def _go_on_soon(self) -> None:
        """After whatever else there is to be done, if somebody waits."""
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        if self._gone.is_set():
            self._waiting.clear()
        try:
            self._begin_for_a_while(self._waiting)
        finally:
            self._go_on_soon()

    def _begin_for_a_while(self, frames: Iterator[Frame]) -> None:
        """Takes out those that it begins."""
        until_s = self._clock() + WHILE_S
        with BatchScope():
            for frame in frames:
                self._begin(frame)
                if self._clock() > until_s:
                    break

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
        except asyncio.CancelledError:
            self._tell(frame.number, 500, [], b"Internal Server Error")
            raise
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
        self.unanswered -= 1
        self._leaving.add(framed(number, status, head, body), last=not self.unanswered)
