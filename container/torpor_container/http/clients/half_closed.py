"""Closes half-closed connections whose clients have left for good.

A client that sends no more (its FIN has come) may still read its answers, or may be gone: the bytes look the same.
While such a connection has an answer to wait for, this asks the kernel once a second which of the two it is:

- of a Unix socket, poll() tells;
- of TCP, the kernel of the client tells. Where the client is on this machine, its end of the connection is listed in
  /proc/net/tcp, and has no inode once no process holds it;
- of a client on another machine, nothing is known until an answer is written to it. It is taken to read.
"""

import asyncio
import select
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from torpor_container.processes.threads import on_thread

PERIOD_S = 1.0
TABLES = {socket.AF_INET: Path("/proc/net/tcp"), socket.AF_INET6: Path("/proc/net/tcp6")}
LOCAL_AT, REMOTE_AT, INODE_AT = 1, 2, 9
"""The columns of these tables."""


class HalfClosedConnection(Protocol):
    transport: Any

    def close_if_answered(self) -> None: ...


class HalfClosedConnections:
    """The half-closed connections of one process. It looks at them only as long as there are any."""

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._watched: set[HalfClosedConnection] = set()
        self._watching: asyncio.Task[None] | None = None

    def watch(self, connection: HalfClosedConnection) -> None:
        """Close the connection once its client has left, or has its answers."""
        self._watched.add(connection)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    def forget(self, connection: HalfClosedConnection) -> None:
        self._watched.discard(connection)

    async def _watch(self) -> None:
        """It holds no connection while it sleeps, and its task is dropped when it ends: both are freed at once."""
        try:
            while self._watched:
                await self._look()
                await asyncio.sleep(self._period_s)
        finally:
            self._watching = None

    async def _look(self) -> None:
        sockets = {connection: connection.transport.get_extra_info("socket") for connection in self._watched}
        ownerless = await on_thread(without_owner) if any(map(_is_tcp, sockets.values())) else frozenset()
        for connection, its_socket in sockets.items():
            if connection in self._watched and _has_left(its_socket, ownerless):
                connection.transport.abort()
            else:
                connection.close_if_answered()


def without_owner(tables: Iterable[Path] = tuple(TABLES.values())) -> frozenset[tuple[str, str]]:
    """The ends of TCP connections here that no process holds, as (own, other) address in the kernel's hex."""
    found = set()
    for table in tables:
        with suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                if fields[INODE_AT] == "0":
                    found.add((fields[LOCAL_AT], fields[REMOTE_AT]))
    return frozenset(found)


def _is_tcp(its_socket: Any) -> bool:
    return its_socket is not None and its_socket.family in TABLES


def _has_left(its_socket: Any, ownerless: frozenset[tuple[str, str]]) -> bool:
    if its_socket is None or its_socket.fileno() < 0:
        return False
    if its_socket.family == socket.AF_UNIX:
        poll = select.poll()
        poll.register(its_socket.fileno(), 0)
        return any(events & select.POLLHUP for _, events in poll.poll(0))
    with suppress(OSError):
        family = its_socket.family
        return (_hex(family, its_socket.getpeername()), _hex(family, its_socket.getsockname())) in ownerless
    return False


def _hex(family: int, address: tuple[Any, ...]) -> str:
    """As /proc/net/tcp writes an address: words of four bytes in the machine's order, and the port."""
    host, port = address[:2]
    packed = socket.inet_pton(family, host.partition("%")[0])
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{port:04X}"
