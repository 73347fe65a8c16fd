"""Carries the inner bytes of a TLS connection to and from the process that answers it, at the slower end's pace."""

import asyncio
import socket
from typing import Protocol, cast


class Relayed(Protocol):
    """A connection that another process answers."""

    @property
    def transport(self) -> asyncio.Transport: ...

    def connection_lost(self, exc: Exception | None) -> None: ...


class RelayEnd(asyncio.Protocol):
    """One end: what comes here leaves at the other."""

    transport: asyncio.Transport
    other: "RelayEnd"

    def __init__(self, relayed: Relayed | None = None) -> None:
        """`relayed` hears when this end is lost."""
        self._relayed = relayed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class

    def data_received(self, data: bytes) -> None:
        self.other.transport.write(data)

    def pause_writing(self) -> None:
        if not self.other.transport.is_closing():
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """What was written to the other end leaves before that closes."""
        self.other.transport.close()
        if self._relayed is not None:
            self._relayed.connection_lost(exc)


async def relay(connection: Relayed, answering: socket.socket) -> None:
    """From now on, what its client sends goes there, and what comes from there to its client. Its reading is paused."""
    client, server = RelayEnd(connection), RelayEnd()
    client.transport = connection.transport
    client.other, server.other = server, client
    await asyncio.get_running_loop().connect_accepted_socket(lambda: server, answering)
    connection.transport.set_protocol(client)
    if connection.transport.is_closing():
        server.transport.close()
    else:
        connection.transport.resume_reading()
