"""Gives connections of this process to the owner of the port, which goes on with each where it stands.

A connection goes as its socket, with what has been read of it and is not answered (`channel`): its client notices
nothing, and this process knows it no longer. TLS cannot go to another process in the middle of a connection, so this
one goes on to speak it, and the owner gets the inner bytes (`tls_relay`).
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from contextlib import closing
from typing import Protocol

from starlette.types import Scope

from torpor_container.http.sharing.channel import Ends, send
from torpor_container.http.sharing.tls_relay import relay


class GivenReader(Protocol):
    @property
    def unread(self) -> bytes | bytearray: ...

    @property
    def last_head(self) -> bytes: ...


class GivenRequest(Protocol):
    planned: bool

    @property
    def reader(self) -> GivenReader: ...


class Scopes(Protocol):
    @property
    def ends(self) -> Ends: ...


class GivenConnection(Protocol):
    """A connection to give: a request has begun, and the answers to those before it are whole."""

    closed: bool
    transport: asyncio.Transport

    @property
    def scopes(self) -> Scopes: ...

    @property
    def hand(self) -> GivenRequest: ...

    async def writable(self) -> None: ...

    def connection_lost(self, exc: Exception | None) -> None: ...


class Giving:
    """For the event loop's thread. `elsewhere` says which requests are the owner's."""

    def __init__(self, channel: int, elsewhere: Callable[[Scope], bool], log: logging.Logger) -> None:
        self._channel = socket.socket(fileno=os.dup(channel))
        self._elsewhere = elsewhere
        self._log = log
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def gives(self, connection: GivenConnection, scope: Scope, body: bytes) -> bool:
        """Whether a request is the owner's. If so, its connection goes there, with what was read of the body."""
        if not self._elsewhere(scope):
            return False
        connection.closed = connection.hand.planned = True  # it reads and writes no more, and a stop waits for it
        connection.transport.pause_reading()
        task = asyncio.get_running_loop().create_task(self._give(connection, body))
        self._tasks.add(task)  # the event loop does not keep it
        task.add_done_callback(self._tasks.discard)
        return True

    async def _give(self, connection: GivenConnection, body: bytes) -> None:
        reader = connection.hand.reader
        read = reader.last_head + body + reader.unread
        try:
            await (self._give_socket if connection.scopes.ends.tls is None else self._give_bytes)(connection, read)
        except OSError as error:
            self._log.error("a connection cannot be given to the process that answers it: %s", error)
            connection.transport.close()

    async def _give_socket(self, connection: GivenConnection, read: bytes) -> None:
        """Give it once all answers have left."""
        transport = connection.transport
        if transport.get_write_buffer_size():
            transport.set_write_buffer_limits(high=0)
            await connection.writable()
        if not transport.is_closing():
            await self._sent(transport.get_extra_info("socket").fileno(), connection.scopes.ends, read)
            transport.abort()  # it closes its own descriptor, not the connection

    async def _give_bytes(self, connection: GivenConnection, read: bytes) -> None:
        here, there = socket.socketpair()
        with closing(there):
            try:
                await self._sent(there.fileno(), connection.scopes.ends, read)
            except OSError:
                here.close()
                raise
        await relay(connection, here)

    async def _sent(self, client: int, ends: Ends, read: bytes) -> None:
        """Raises OSError."""
        async with self._turn:
            while True:
                try:
                    send(self._channel, client, ends, read, socket.MSG_DONTWAIT)
                    return
                except BlockingIOError:
                    await self._taken()

    async def _taken(self) -> None:
        """Wait until the owner has taken some of those that wait for it."""
        loop, channel = asyncio.get_running_loop(), self._channel.fileno()
        ready = loop.create_future()
        loop.add_writer(channel, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_writer(channel)
