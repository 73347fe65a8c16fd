"""What stands before the connections of a server that speaks TLS, until a handshake is done.

The event loop could speak TLS with each connection that it accepts, but it tells nobody of one whose handshake is not
done: its client could have as many of those as there are descriptors. So the server accepts without TLS. `TlsFront`
counts the connection, and hands its socket back to the event loop, this time with TLS and a limit of time. Each
handshake takes the certificate of its moment, which is how a new one comes into use.
"""

import asyncio
import os
import socket
import ssl
from contextlib import ExitStack
from typing import Protocol

from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.http.clients.client_connection import Connection
from torpor_container.http.clients.connections import Peer
from torpor_container.http.clients.served_port import ServedPort
from torpor_container.http.tls.certificate import ServerCertificate
from torpor_container.waiting.quiet_timeout import patiently

HANDSHAKE_S = 10.0
"""How long a handshake may take, and before it the wait for its first byte."""
FAREWELL_S = 5.0
"""How long a client may take to confirm that the connection is closed."""

TLS_HANDSHAKE = b"\x16"
"""RFC 8446, section 5.1: the first byte of a client that speaks TLS."""

PLAIN_ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
)
REQUEST_BYTES = 64 * 1024


class TlsTerms(Protocol):
    """What TLS is spoken with at a port, and what becomes of its connections."""

    advice: bytes
    """A line for a client that does not speak TLS, and may not."""

    @property
    def context(self) -> ssl.SSLContext:
        """Of new connections."""

    def secure(self, handshake: "Handshake") -> asyncio.Protocol:
        """The protocol of a connection whose handshake is done. It ends the handshake's count."""

    def plain(self, peer: Peer) -> asyncio.Protocol | None:
        """The protocol of a connection without TLS. None: there are none of this peer."""


class HttpsTerms:
    """HTTPS alone, for everybody."""

    advice = b"This port speaks HTTPS: call it by https://.\n"

    def __init__(self, port: ServedPort, certificate: ServerCertificate) -> None:
        self._port = port
        self._certificate = certificate

    @property
    def context(self) -> ssl.SSLContext:
        return self._certificate.context

    def secure(self, handshake: "Handshake") -> asyncio.Protocol:
        return SecureConnection(self._port, handshake)

    def plain(self, peer: Peer) -> None:
        return None


class TlsFront(asyncio.Protocol):
    """A new connection before TLS is spoken on it."""

    def __init__(self, port: ServedPort, handshakes: "Handshakes") -> None:
        self._port = port
        self._handshakes = handshakes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket from this transport, which has read nothing yet."""
        found = transport.get_extra_info("peername")
        peer = found[:2] if isinstance(found, tuple) else None
        try:
            if self._port.connections.handshake_begins(peer):
                self._handshakes.start(transport.get_extra_info("socket").fileno(), peer)
        finally:
            transport.abort()  # type: ignore[attr-defined]  # it closes its own descriptor, not the connection


class Handshakes:
    """The handshakes of one port that are not done."""

    def __init__(self, port: ServedPort, terms: TlsTerms) -> None:
        self._port = port
        self._terms = terms
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, descriptor: int, peer: Peer) -> None:
        """Begin with a copy of this descriptor. Raises OSError where there is none left."""
        handshake = Handshake(self._port, self._terms, peer)
        with ExitStack() as failed:
            failed.callback(handshake.end)
            client = socket.socket(fileno=os.dup(descriptor))
            failed.pop_all()
        task = asyncio.get_running_loop().create_task(handshake.run(client))
        self._tasks.add(task)  # the event loop does not keep it
        task.add_done_callback(self._tasks.discard)


class Handshake:
    """One connection on which TLS is not spoken yet. It counts as a connection until it is one, or has ended."""

    def __init__(self, port: ServedPort, terms: TlsTerms, peer: Peer) -> None:
        self._port = port
        self._terms = terms
        self._peer = peer
        self._counts = True

    def end(self) -> None:
        """Count it no longer."""
        if self._counts:
            self._counts = False
            self._port.connections.handshake_ends(self._peer)

    async def run(self, client: socket.socket) -> None:
        """Have it become a connection, or close it: nobody is owed an answer yet."""
        client.setblocking(False)
        with ExitStack() as closing:
            closing.callback(self.end)
            closing.callback(client.close)
            try:
                async with patiently(HANDSHAKE_S):
                    await _readable(client)
                first = client.recv(1, socket.MSG_PEEK)
                if first == TLS_HANDSHAKE:
                    await self._connect(client)
                    closing.pop_all()  # the event loop has it
                elif first and (plain := self._terms.plain(self._peer)) is not None:
                    self.end()
                    await asyncio.get_running_loop().connect_accepted_socket(lambda: plain, client)
                    closing.pop_all()
                else:
                    _answer_plainly(client, self._terms.advice)
            except OSError as error:  # TimeoutError and ssl.SSLError are such
                self._port.log.debug("nothing has come of a connection: %s", error)

    async def _connect(self, client: socket.socket) -> None:
        async with patiently(HANDSHAKE_S):
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._terms.secure(self),
                client,
                ssl=self._terms.context,
                ssl_handshake_timeout=HANDSHAKE_S * WALL_MULTIPLE,
                ssl_shutdown_timeout=FAREWELL_S,
            )


class SecureConnection(Connection):
    """A connection whose handshake is done: it counts from now on by itself."""

    def __init__(self, port: ServedPort, handshake: Handshake) -> None:
        super().__init__(port)
        self._handshake = handshake

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._handshake.end()
        super().connection_made(transport)


async def _readable(client: socket.socket) -> None:
    """Wait until the client has sent something, or has left."""
    loop = asyncio.get_running_loop()
    came = loop.create_future()

    def readable() -> None:
        if not came.done():
            came.set_result(None)

    loop.add_reader(client, readable)
    try:
        await came
    finally:
        loop.remove_reader(client)


def _answer_plainly(client: socket.socket, advice: bytes) -> None:
    """Tell a client without TLS what is wrong. What it sent is read first, or the system would discard the answer."""
    if client.recv(REQUEST_BYTES):
        client.send(PLAIN_ANSWER % (len(advice), advice))
        client.shutdown(socket.SHUT_WR)
