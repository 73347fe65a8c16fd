"""A terminated worker waits for clients that still read, and for no others."""

import asyncio
import socket
from contextlib import ExitStack, closing

import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.container.helpers.echo_server_process import Address, answer, post, serving
from tests.helpers.processes import gone
from torpor_container.http.worker import InFlight

WAYS = ("/now/invocations", "/soon/invocations", "/a/invocations", "/a/invocations?")
"""An answer at once, one that is told later, one by a task, and one by gunicorn."""


@pytest.mark.parametrize("size", [8_000, 60_000])
def test_a_terminated_server_waits_for_clients_that_still_read(size: int) -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)  # the system holds little for a slow client
        process = stack.enter_context(serving(listener))
        *readers, leaver = [stack.enter_context(closing(slow(listener.getsockname()))) for _ in (*WAYS, "and away")]
        for reader, path in zip((*readers, leaver), (*WAYS, WAYS[0]), strict=True):
            reader.sendall(post(path, b"\x01" * size))
            assert reader.recv(1, socket.MSG_PEEK) == b"H"  # its answer has begun
        process.terminate()
        assert not gone(process.pid, within_s=0.5)
        leaver.close()
        assert [len(answer(reader)[2]["body"]) for reader in readers] == [size] * len(WAYS)
        assert process.wait(60.0) == 0


def test_the_answer_to_a_head_has_the_headers_of_a_get_and_no_body() -> None:
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ab"})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("it reads no body")

    for method, body in (("GET", b"ab"), ("HEAD", b"")):
        sent.clear()
        asyncio.run(InFlight(app)({"type": "http", "method": method}, receive, send))
        assert [message.get("body", message.get("headers")) for message in sent] == [[(b"content-length", b"2")], body]


def slow(address: Address) -> socket.socket:
    """A connection that takes in little before it is read."""
    connection = socket.socket()
    connection.settimeout(10)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(address)
    return connection
