"""Takes the connections that other processes of the port give away: each goes on as one that came here."""

import asyncio
import os
import socket

from torpor_container.http.clients.client_connection import Connection
from torpor_container.http.clients.served_port import ServedPort
from torpor_container.http.sharing.channel import Ends, received


class Taking:
    """Takes what comes by the channel, for as long as this process lives: what comes later waits for the next one."""

    def __init__(self, port: ServedPort, channel: int) -> None:
        self._port = port
        self._channel = socket.socket(fileno=os.dup(channel))
        self._tasks: set[asyncio.Task[None]] = set()
        port.loop.add_reader(self._channel.fileno(), self._take)

    def _take(self) -> None:
        try:
            client, ends, read = received(self._channel)
        except BlockingIOError:
            return
        except OSError as error:
            self._port.log.error("a connection from another process is lost: %s", error)
            return
        connection = TakenConnection(self._port, ends, read)
        task = self._port.loop.create_task(self._connect(client, connection))
        self._tasks.add(task)  # the event loop does not keep it
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, client: socket.socket, connection: Connection) -> None:
        try:
            await self._port.loop.connect_accepted_socket(lambda: connection, client)
        except OSError as error:
            client.close()
            self._port.log.debug("nothing has come of a connection: %s", error)


class TakenConnection(Connection):
    """A connection of which another process has read something."""

    def __init__(self, port: ServedPort, ends: Ends, read: bytes) -> None:
        super().__init__(port, ends)
        self._read = read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._read:
            self.data_received(self._read)
        self._read = b""
