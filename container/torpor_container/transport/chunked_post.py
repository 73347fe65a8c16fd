"""Posts a body of unknown length in chunks, while its answer may come already. Neither is ever held whole."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from torpor_container.transport.address import Address
from torpor_container.transport.frames import lines
from torpor_container.transport.stream_client import StreamConnection
from torpor_container.transport.upstream import Headers, opened
from torpor_container.transport.upstream_answers import UpstreamBroken, UpstreamTimedOut


class ChunkedConnection(StreamConnection):
    """A connection whose request is sent in chunks. `moved` counts what went either way."""

    def __init__(self) -> None:
        super().__init__()
        self.moved = 0
        self._room = asyncio.Event()
        self._room.set()

    async def send(self, data: bytes) -> None:
        """Send, once there is room. Raises UpstreamBroken."""
        await self._room.wait()
        if self._over:
            raise UpstreamBroken("the connection was closed before the request was whole")
        self.moved += 1
        self.request(data, [])

    def fail(self, error: Exception) -> None:
        """Raise this error where the answer is awaited."""
        self._fail(error)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        self.moved += 1
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._room.set()


@asynccontextmanager
async def chunked(
    address: Address, path: str, headers: Headers, body: AsyncIterator[bytes], idle_s: float
) -> AsyncIterator[ChunkedConnection]:
    """Post a request; the block begins when the head of its answer is there. The body goes on meanwhile.

    `idle_s` is how long nothing may move. An error of `body` is raised by `headed` and `taken`. Raises UpstreamRefused,
    UpstreamBroken, UpstreamTimedOut.
    """
    connection = await opened(address, ChunkedConnection, idle_s)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n".encode("latin-1")
    sending = asyncio.create_task(_send(connection, b"".join((head, lines(headers), b"\r\n")), body))
    sending.add_done_callback(partial(_tell, connection))
    watching = asyncio.create_task(_watch(connection, idle_s))
    try:
        await connection.headed()
        yield connection
    finally:
        for task in (sending, watching):
            task.cancel()
        await asyncio.gather(sending, watching, return_exceptions=True)
        connection.close()


async def _send(connection: ChunkedConnection, head: bytes, body: AsyncIterator[bytes]) -> None:
    with suppress(UpstreamBroken):  # its answer says more, if there is one
        await connection.send(head)
        async for part in body:
            if part:
                await connection.send(b"%x\r\n%b\r\n" % (len(part), part))
        await connection.send(b"0\r\n\r\n")


def _tell(connection: ChunkedConnection, sending: "asyncio.Task[None]") -> None:
    """An error of the body's reader is raised where the answer is awaited."""
    if not sending.cancelled() and isinstance(error := sending.exception(), Exception):
        connection.fail(error)


async def _watch(connection: ChunkedConnection, idle_s: float) -> None:
    while True:
        before = connection.moved
        await asyncio.sleep(idle_s)
        if connection.moved == before:
            connection.fail(UpstreamTimedOut(f"nothing moved for {idle_s:g} s"))
            return
