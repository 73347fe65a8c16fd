"""The open connections of one process: how many there may be, and how long each may keep the server waiting.

Three things would let clients exhaust the server, and end here: connections on which a client sends nothing or too
slowly, more connections than the process has descriptors for, and memory that bodies held and that the allocator keeps.
"""

import asyncio
import logging
from typing import Any

from torpor_container.core.patience import ClientTimeouts, Kind
from torpor_container.http.short_requests import ShortRequests
from torpor_container.processes.memory import give_back

LOOK_S = 1.0
"""How often the connections are looked at for clients that keep them waiting."""

WARN_EVERY_S = 60.0
"""How often the log says that there are too many connections."""

BODIES_MIN_BYTES = 16 * 1024 * 1024
"""Where partial bodies never held more than this, no memory is given back to the system."""

IDLE_SEARCH_MAX = 1_000
"""Where all connections are taken, so many of the oldest are looked at for an idle one."""


class TrackedConnection(ShortRequests):
    """A connection that the worker has in its list, from its first moment to its last."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.worker.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.worker.connections.remove(self)
        super().connection_lost(exc)

    @property
    def unfinished(self) -> bool:
        """Whether requests in frames are not answered, or an answer has bytes that the system has not taken yet.

        Both would be lost with this process.
        """
        unanswered = self._framed is not None and self._framed.unanswered and not self._gone.is_set()
        return bool(unanswered or self.transport.get_write_buffer_size())

    async def until_read(self) -> None:
        """Wait until the system holds all that is left of the answers, or the client is gone."""
        if self.transport.is_closing():
            await self._gone.wait()  # it closes by itself, once it has sent what is left
            return
        self.transport.set_write_buffer_limits(high=0)  # so that it is drained only when nothing is left
        await self.drained()


class Connections:
    """The open connections, the oldest first."""

    def __init__(self, connections_max: int, patience: ClientTimeouts, log: logging.Logger) -> None:
        self._open: dict[TrackedConnection, None] = {}
        self._max = connections_max
        self._patience = patience
        self._log = log
        self._warned_s = -WARN_EVERY_S
        self._peak_bytes = 0  # the most that partial bodies held, since memory was last given back

    def add(self, connection: TrackedConnection) -> None:
        """Take in one more. Where it is one too many, an idle one is closed for it, or else it is refused with 503."""
        self._open[connection] = None
        if len(self._open) <= self._max:
            return
        *others, newest = self._open
        idle = next((one for one in others[:IDLE_SEARCH_MAX] if one.idle), None)
        if idle is not None:
            idle.transport.abort()
            return
        now_s = asyncio.get_running_loop().time()
        if now_s - self._warned_s > WARN_EVERY_S:
            self._warned_s = now_s
            self._log.warning("clients are turned away: all of %d connections are in use", self._max)
        newest.refuse(503, f"All of {self._max} connections are in use: try again.")

    def remove(self, connection: TrackedConnection) -> None:
        self._open.pop(connection, None)

    @property
    def unfinished(self) -> bool:
        """Whether a stop would still lose something (see `TrackedConnection.unfinished`)."""
        return any(connection.unfinished for connection in self._open)

    async def until_read(self) -> None:
        """Wait until no answer waits for its client to read on."""
        await asyncio.gather(*(connection.until_read() for connection in self._open))

    async def watch(self) -> None:
        """End connections whose clients keep the server waiting, and give memory back, until cancelled."""
        while True:
            await asyncio.sleep(min(LOOK_S, self._patience.head_s / 4, self._patience.body_s / 4))
            await self._give_back_memory()
            self._end_overdue()

    def _end_overdue(self) -> None:
        """A function of its own: its locals would keep a connection while the loop above sleeps."""
        now_s = asyncio.get_running_loop().time()
        for connection in tuple(self._open):
            match connection.waiting.overdue(connection.stage(), self._patience, now_s):
                case Kind.SILENT:
                    connection.transport.abort()
                case Kind.HEAD:
                    connection.refuse(408, f"The request's head took over {self._patience.head_s:g} s.")
                case Kind.BODY:
                    connection.refuse(408, f"Nothing of the body came for {self._patience.body_s:g} s.")

    async def _give_back_memory(self) -> None:
        """Once most of what partial bodies held is freed, the allocator returns it to the system."""
        held_bytes = sum(connection.partial_body_bytes for connection in self._open)
        self._peak_bytes = max(self._peak_bytes, held_bytes)
        if self._peak_bytes > BODIES_MIN_BYTES and held_bytes < self._peak_bytes // 4:
            self._peak_bytes = held_bytes
            await asyncio.to_thread(give_back)
