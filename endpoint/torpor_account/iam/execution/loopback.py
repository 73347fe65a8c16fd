"""Serves a few pages by plain HTTP on loopback, one request a connection: the SDKs send for credentials nowhere else.

It is for an endpoint whose own address is of a network, or speaks HTTPS with a certificate that not every SDK trusts.
"""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus

from torpor_account.aws.wire.asgi import App, Message
from torpor_container.waiting.quiet_timeout import patiently

HEAD_MAX_BYTES = 16 * 1024
PATIENCE_S = 10.0
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class LoopbackPages:
    """`pages` are ASGI applications by path. The port is there from the beginning, the answers after `start`."""

    def __init__(self, pages: Mapping[str, App]) -> None:
        self._pages = pages
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._server: asyncio.Server | None = None
        self._answering: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, sock=self._listener, limit=HEAD_MAX_BYTES)

    async def close(self) -> None:
        """Answer what was asked already, and listen no more."""
        if self._server is not None:
            self._server.close()
        self._listener.close()
        await asyncio.gather(*self._answering, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "the server makes a task for each connection"
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        try:
            with suppress(TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with patiently(PATIENCE_S):
                    writer.write(await self._answer(await reader.readuntil(b"\r\n\r\n")))
                    await writer.drain()
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, head: bytes) -> bytes:
        """Raises ValueError for what is no request."""
        first, *lines = head.rstrip(b"\r\n").split(b"\r\n")
        method, target, _ = first.decode("latin-1").split(" ")
        path, _, query = target.partition("?")
        if path not in self._pages:
            return NOT_FOUND
        named = (line.partition(b":") for line in lines)
        headers = [(name.lower(), value.strip()) for name, _, value in named]
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}
        said: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            said.append(message)

        await self._pages[path](scope, receive, send)
        body = b"".join(one.get("body", b"") for one in said[1:])
        status = HTTPStatus(said[0]["status"])
        given = [(name, value) for name, value in said[0]["headers"] if name not in (b"connection", b"content-length")]
        answer = [*given, (b"connection", b"close"), (b"content-length", b"%d" % len(body))]
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), *(b": ".join(one) for one in answer)]
        return b"\r\n".join([*lines, b"", body])
