"""Tells a client that has left from one that only sends no more: both end what they send, and only one still reads.

The kernel knows of a Unix socket. Of TCP it knows for a client on this machine: the other end of the connection is
listed in /proc/net/tcp, without an inode once no process has it. Of any other client nothing is known until an answer
is written to it, and it is taken to read.
"""

import asyncio
import select
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

PERIOD_S = 1.0
TABLES = {socket.AF_INET: Path("/proc/net/tcp"), socket.AF_INET6: Path("/proc/net/tcp6")}
INODE_AT = 9


class WatchedConnection(Protocol):
    transport: Any

    def end_if_over(self) -> None: ...


class Departures:
    """Those connections whose clients send no more, looked after as long as there are any."""

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._watched: set[WatchedConnection] = set()
        self._watching: asyncio.Task[None] | None = None

    def watch(self, connection: WatchedConnection) -> None:
        """End the connection once its client has left."""
        self._watched.add(connection)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    def forget(self, connection: WatchedConnection) -> None:
        self._watched.discard(connection)

    async def _watch(self) -> None:
        """A task that is over is kept by nobody, and a connection by nobody while this sleeps."""
        try:
            while self._watched:
                await self._look()
                await asyncio.sleep(self._period_s)
        finally:
            self._watching = None

    async def _look(self) -> None:
        sockets = {connection: connection.transport.get_extra_info("socket") for connection in self._watched}
        closed = await asyncio.to_thread(without_owner) if any(map(_by_tcp, sockets.values())) else frozenset()
        for connection, its in sockets.items():
            if connection in self._watched and _left(its, closed):
                connection.transport.abort()
            else:
                connection.end_if_over()


def without_owner(tables: Iterable[Path] = tuple(TABLES.values())) -> frozenset[tuple[str, str]]:
    """The ends of TCP connections on this machine that no process has any more, as (own, other) in the kernel's hex."""
    found = set()
    for table in tables:
        with suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                if fields[INODE_AT] == "0":
                    found.add((fields[1], fields[2]))
    return frozenset(found)


def _by_tcp(its: Any) -> bool:
    return its is not None and its.family in TABLES


def _left(its: Any, closed: frozenset[tuple[str, str]]) -> bool:
    if its is None or its.fileno() < 0:
        return False
    if its.family == socket.AF_UNIX:
        poll = select.poll()
        poll.register(its.fileno(), 0)
        return any(events & select.POLLHUP for _, events in poll.poll(0))
    with suppress(OSError):
        return (_hex(its.family, its.getpeername()), _hex(its.family, its.getsockname())) in closed
    return False


def _hex(family: int, address: tuple[Any, ...]) -> str:
    """As /proc/net/tcp writes an address: words of four bytes in the machine's order, and the port."""
    host, port = address[:2]
    packed = socket.inet_pton(family, host.partition("%")[0])
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{port:04X}"
