"""What comes when on one connection: requests that come together, applications that run on, and bodies nobody takes."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.types import Receive, Scope, Send

from tests.helpers.waiting import reached
from torpor_container.http.clients.client_connection import RUNNING_ON_MAX, Connection
from torpor_container.http.clients.paced_stream import HELD_MAX_BYTES
from torpor_container.http.clients.served_port import ServedPort
from torpor_container.http.exchange import TakeInline, Tell
from torpor_container.http.server import ServerOptions

GET = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
INVOKE = b"POST /invocations HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"


class Wire(asyncio.Transport):
    """A client's end that keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.got = b""
        self.reads = True
        self.closed = False

    @property
    def answers(self) -> int:
        return self.got.count(b"HTTP/1.1 200 OK")

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.got += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


class App:
    """Answers at once, inline or by ASGI, and then runs on until it may end."""

    def __init__(self) -> None:
        self.may_read = asyncio.Event()
        self.may_end = asyncio.Event()
        self.bodies: list[bytes] = []

    def inline(self, scope: Scope) -> TakeInline:
        return self.take_inline

    def take_inline(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        tell(200, [], b"")
        return True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            if scope["method"] == "PUT":
                await self.may_read.wait()
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})
        await self.may_end.wait()


def on_one(story: Callable[[App, Wire, Connection], Coroutine[Any, Any, None]]) -> None:
    async def told() -> None:
        app, wire = App(), Wire()
        connection = Connection(ServedPort(app, ServerOptions(), logging.getLogger("test")))
        connection.connection_made(wire)
        await story(app, wire, connection)
        connection.connection_lost(None)
        app.may_end.set()
        await reached(lambda: not connection.hand.at_work)

    asyncio.run(told())


def test_requests_that_came_together_leave_the_event_loop_to_others_in_between() -> None:
    async def story(app: App, wire: Wire, connection: Connection) -> None:
        connection.data_received(INVOKE * 3)
        assert wire.answers == 1
        await reached(lambda: wire.answers == 3)

    on_one(story)


def test_the_next_request_is_answered_while_the_application_of_the_one_before_runs_on_and_not_of_too_many() -> None:
    async def story(app: App, wire: Wire, connection: Connection) -> None:
        connection.data_received(GET * (RUNNING_ON_MAX + 2))
        await reached(lambda: wire.answers == RUNNING_ON_MAX)
        for _ in range(10):
            await asyncio.sleep(0)
        assert wire.answers == RUNNING_ON_MAX
        app.may_end.set()
        await reached(lambda: wire.answers == RUNNING_ON_MAX + 2)
        assert not wire.closed

    on_one(story)


def test_a_body_that_nobody_takes_is_not_read_on_and_one_that_is_taken_is() -> None:
    async def story(app: App, wire: Wire, connection: Connection) -> None:
        size = 2 * HELD_MAX_BYTES
        connection.data_received(b"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % size)
        connection.data_received(bytes(HELD_MAX_BYTES))
        assert wire.reads
        connection.data_received(bytes(1))
        assert not wire.reads
        app.may_read.set()
        await reached(lambda: wire.reads)
        connection.data_received(bytes(HELD_MAX_BYTES - 1))
        await reached(lambda: wire.answers == 1)
        assert [len(body) for body in app.bodies] == [size]

    on_one(story)


def test_requests_behind_one_that_is_not_answered_are_held_and_not_without_end() -> None:
    async def story(app: App, wire: Wire, connection: Connection) -> None:
        connection.data_received(b"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
        connection.data_received(INVOKE * (HELD_MAX_BYTES // len(INVOKE) + 1))
        assert (wire.answers, wire.reads) == (0, False)
        app.may_read.set()
        await reached(lambda: wire.answers == HELD_MAX_BYTES // len(INVOKE) + 2)
        assert wire.reads

    on_one(story)
