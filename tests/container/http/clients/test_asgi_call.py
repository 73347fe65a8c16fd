"""One request by ASGI: how its answer is framed, and what becomes of an application's faults."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from torpor_container.http.clients.asgi_call import APART_BYTES, AsgiCall
from torpor_container.http.messages.request_heads import RequestHead
from torpor_container.transport.frames import Header

QUIET = logging.getLogger("test_asgi_call")
QUIET.disabled = True


class Client:
    """A connection that keeps what is written."""

    def __init__(self) -> None:
        self.closed = False
        self.answer_begun = False
        self.written: list[bytes] = []
        self.refused = 0
        self.settled: list[tuple[bool, bool]] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    async def writable(self) -> None: ...

    def refuse(self, status: int, why: str) -> None:
        self.refused, self.closed = status, True

    def close(self) -> None:
        self.closed = True

    def taken(self, call: AsgiCall) -> None: ...

    def settle(self, call: AsgiCall) -> None:
        self.settled.append((call.answered, call.over))

    @property
    def answer(self) -> bytes:
        """Without the lines that are ours."""
        own = (b"Server: ", b"Date: ")
        return b"\r\n".join(line for line in b"".join(self.written).split(b"\r\n") if not line.startswith(own))


def head(method: str = "GET", version: bytes = b"1.1", keeps: bool = True, expects: bool = False) -> RequestHead:
    return RequestHead(method, b"/", version, [], 0, keeps, expects, False)


App = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]


def called(app: App, request: RequestHead | None = None, goes_on: bool = True) -> tuple[Client, AsgiCall]:
    """What comes of a request without a body."""

    async def story() -> tuple[Client, AsgiCall]:
        client = Client()
        call = AsgiCall(client, request or head(), QUIET, goes_on)
        call.intake.end()
        await call.run(app, {})
        return client, call

    return asyncio.run(story())


def answering(status: int, headers: list[Header], *pieces: bytes) -> App:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})

    return app


TWO = [(b"content-length", b"2")]


def test_an_answer_of_a_known_length_is_written_as_it_is() -> None:
    client, call = called(answering(200, TWO, b"a", b"b"))
    assert client.answer == b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"
    assert (call.closes, client.settled) == (False, [(True, False), (True, True)])


def test_an_answer_of_no_length_leaves_in_chunks() -> None:
    client, call = called(answering(200, [], b"a", b"", b"bc"))
    assert client.answer.endswith(b"\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")
    assert not call.closes


def test_an_answer_of_no_length_to_http_1_0_ends_with_its_connection() -> None:
    client, call = called(answering(200, [], b"a"), head(version=b"1.0"))
    assert client.answer == b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\na"
    assert call.closes


def test_the_answer_to_a_head_has_the_headers_of_a_get_and_no_body() -> None:
    client, _ = called(answering(200, TWO, b"ab"), head("HEAD"))
    assert client.answer == b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


def test_no_more_is_written_than_the_length_says_and_less_ends_the_connection() -> None:
    client, call = called(answering(200, TWO, b"abc", b"d"))
    assert (client.answer[-2:], call.closes) == (b"ab", False)
    assert called(answering(200, TWO, b"a"))[1].closes


@pytest.mark.parametrize(
    ("request_", "headers", "goes_on"),
    [(head(keeps=False), TWO, True), (head(), [*TWO, (b"connection", b"close")], True), (head(), TWO, False)],
)
def test_a_connection_closes_for_the_client_for_the_application_and_for_a_stop(
    request_: RequestHead, headers: list[Header], goes_on: bool
) -> None:
    client, call = called(answering(200, headers, b"ab"), request_, goes_on)
    assert call.closes
    assert client.answer.lower().count(b"connection: close\r\n") == 1


def test_a_large_piece_is_not_joined_to_what_is_around_it() -> None:
    piece = b"x" * APART_BYTES
    client, _ = called(answering(200, [], piece))
    assert any(written is piece for written in client.written)


async def _too_early(scope: Scope, receive: Receive, send: Send) -> None: ...


async def _too_late(scope: Scope, receive: Receive, send: Send) -> None:
    await answering(200, TWO, b"ab")(scope, receive, send)
    await send({"type": "http.response.body", "body": b"more"})


async def _in_the_midst(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": TWO})
    await send({"type": "http.response.body", "body": b"a", "more_body": True})
    raise RuntimeError


async def _body_first(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.body", "body": b"a"})


@pytest.mark.parametrize(
    ("app", "refused", "closed"),
    [
        (_too_early, 500, True),
        (_body_first, 500, True),
        (answering(200, [(b"x", b"1\r\ny: 2")]), 500, True),
        (answering(200, [(b"content-length", b"two")]), 500, True),
        (_in_the_midst, 0, True),
        (_too_late, 0, False),
    ],
)
def test_an_applications_fault_is_answered_once_and_ends_its_own_connection(
    app: App, refused: int, closed: bool
) -> None:
    client, call = called(app)
    assert (client.refused, client.closed, call.over) == (refused, closed, True)


def test_a_client_is_asked_for_its_body_once_and_only_if_the_application_reads_it() -> None:
    async def story() -> None:
        client = Client()
        call = AsgiCall(client, head("PUT", expects=True), QUIET, True)
        reading = asyncio.ensure_future(call.receive())
        await asyncio.sleep(0)
        assert client.written == [b"HTTP/1.1 100 Continue\r\n\r\n"]
        call.intake.feed(b"a")
        assert await reading == {"type": "http.request", "body": b"a", "more_body": True}
        reading = asyncio.ensure_future(call.receive())
        await asyncio.sleep(0)
        call.intake.end()
        assert await reading == {"type": "http.request", "body": b"", "more_body": False}
        assert len(client.written) == 1

    asyncio.run(story())


def test_after_its_body_an_application_hears_of_its_client_only_that_it_left() -> None:
    async def story() -> None:
        call = AsgiCall(Client(), head(), QUIET, True)
        call.intake.end()
        assert (await call.receive())["more_body"] is False
        left = asyncio.ensure_future(call.receive())
        await asyncio.sleep(0)
        assert not left.done()
        call.intake.leave()
        assert await left == {"type": "http.disconnect"}

    asyncio.run(story())


def test_small_pieces_are_joined_and_large_ones_are_not() -> None:
    async def story() -> None:
        call = AsgiCall(Client(), head(), QUIET, True)
        for piece in (b"a", b"b", b"x" * 5000, b"c", b"d"):
            call.intake.feed(piece)
        assert call.intake.held == call.intake.received == 5004
        assert [len((await call.receive())["body"]) for _ in range(2)] == [5002, 2]
        assert call.intake.held == 0

    asyncio.run(story())
