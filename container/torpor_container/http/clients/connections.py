"""The open connections of one process: how many there may be, and how long each may keep the server waiting.

Four things would let clients exhaust the server, and end here: connections on which a client sends nothing or too
slowly, more connections than the process has descriptors for, or than one client may have, and memory that bodies held
and that the allocator keeps.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Protocol

from torpor_container.core.client_timeouts import ClientTimeouts, ConnectionStage, Kind, Stage
from torpor_container.core.clients import client_of
from torpor_container.processes.memory import give_back
from torpor_container.processes.threads import on_thread
from torpor_container.waiting.quiet_time import QuietClock

LOOK_S = 1.0
"""How often the connections are looked at for clients that keep them waiting."""

WARN_EVERY_S = 60.0
"""How often the log says that there are too many connections."""

BODIES_MIN_BYTES = 16 * 1024 * 1024
"""Where partial bodies never held more than this, no memory is given back to the system."""

IDLE_SEARCH_MAX = 1_000
"""Where all connections are taken, so many of the oldest are looked at for an idle one."""

GREETINGS_MIN, GREETINGS_MAX = 16, 1_000
"""How many connections that have not proven themselves (`transport.greetings`) there may be: so many even where all
connections are taken, and never more than so many."""

GREETINGS_SHARE = 2
"""Nor are there more than a half of all connections: the event loop accepts 100 at once before one can be closed."""


Peer = tuple[str, int] | None
"""A client's address; None over a Unix socket."""


class RequestsInHand(Protocol):
    """What a connection has in hand. `at_work`: the application has a request of it."""

    @property
    def at_work(self) -> bool: ...

    @property
    def partial_body_bytes(self) -> int: ...


class OpenConnection(Protocol):
    """A connection as the list has it. `peer` is its client's address."""

    waiting: ConnectionStage
    transport: Any
    peer: Peer

    @property
    def hand(self) -> RequestsInHand: ...

    @property
    def idle(self) -> bool: ...

    @property
    def at_work(self) -> bool:
        """Whether an answer is due, or has bytes that the system has not taken."""

    def stage(self) -> Stage: ...

    def refuse(self, status: int, why: str) -> None: ...


class Connections:
    """The open connections, the oldest first. `each_max` is how many one client may have; 0 is no such limit. `show` is
    told how many there are of clients with an address, each time that this changes."""

    def __init__(
        self,
        connections_max: int,
        patience: ClientTimeouts,
        log: logging.Logger,
        each_max: int = 0,
        show: Callable[[int], None] | None = None,
    ) -> None:
        self._open: dict[OpenConnection, None] = {}
        self._left: dict[OpenConnection, None] = {}  # their clients have left, and the application still runs for them
        self._stirred = asyncio.Event()
        self._max = connections_max
        self._each_max = each_max
        self._of_clients: dict[str, dict[OpenConnection, None]] = {}
        self._handshakes = 0  # of connections that are not open yet
        self._handshakes_of = Counter[str]()
        self._patience = patience
        self._show = show
        self._shown = 0
        self._log = log
        self._warned_s: dict[str, float] = {}
        self._peak_bytes = 0  # the most that partial bodies held, since memory was last given back

    def add(self, connection: OpenConnection) -> None:
        """Take in one more. Where it is one too many, an idle one is closed for it, or else it is refused with 503."""
        self._open[connection] = None
        self._changed(connection.peer, 1)
        if len(self._open) > self._max and not self._close_idle(self._open, connection):
            connection.refuse(503, self._all_in_use())
            return
        client = self._client(connection.peer)
        if client is None:
            return
        own = self._of_clients.setdefault(client, {})
        own[connection] = None
        if len(own) > self._each_max and not self._close_idle(own, connection):
            connection.refuse(503, self._too_many(client))

    def remove(self, connection: OpenConnection) -> None:
        if connection in self._open:
            del self._open[connection]
            self._changed(connection.peer, -1)
        if connection.hand.at_work:
            self._left[connection] = None
        client = self._client(connection.peer)
        if client is not None and (own := self._of_clients.get(client)) is not None:
            own.pop(connection, None)
            if not own:
                del self._of_clients[client]

    def handshake_begins(self, peer: Peer) -> bool:
        """Whether a connection may come on which TLS is not spoken yet. If so, `handshake_ends` must follow."""
        client = self._client(peer)
        if len(self._open) + self._handshakes >= self._max and not self._close_idle(self._open):
            self._all_in_use()
            return False
        if client is not None:
            own = self._of_clients.get(client, {})
            if len(own) + self._handshakes_of[client] >= self._each_max and not self._close_idle(own):
                self._too_many(client)
                return False
            self._handshakes_of[client] += 1
        self._handshakes += 1
        self._changed(peer, 1)
        return True

    def handshake_ends(self, peer: Peer) -> None:
        """It has become a connection, or nothing has come of it."""
        self._handshakes -= 1
        self._changed(peer, -1)
        client = self._client(peer)
        if client is not None:
            self._handshakes_of[client] -= 1
            if not self._handshakes_of[client]:
                del self._handshakes_of[client]

    def room_for_greetings(self) -> int:
        """How many connections may be there that have not proven themselves. They leave those that have alone."""
        free = min(self._max - len(self._open), self._max // GREETINGS_SHARE)
        return min(max(free, GREETINGS_MIN), GREETINGS_MAX)

    def greetings_crowded(self) -> None:
        """Called where more connections come than prove themselves."""
        self._warn("greetings", "more connections come than prove that they are a router's: the oldest are closed")

    def _changed(self, peer: Peer, more: int) -> None:
        if self._show is not None and peer is not None:
            self._shown += more
            self._show(self._shown)

    def _client(self, peer: Peer) -> str | None:
        """The client of a connection; None if it is not counted."""
        return client_of(peer[0]) if self._each_max and peer is not None else None

    def _close_idle(self, among: Iterable[OpenConnection], newest: OpenConnection | None = None) -> bool:
        """Close the oldest idle connection. False if there is none, as far as was looked."""
        for one in islice(among, IDLE_SEARCH_MAX):
            if one is not newest and one.idle:
                one.transport.abort()
                self.remove(one)
                return True
        return False

    def _all_in_use(self) -> str:
        self._warn("all", f"clients are turned away: all of {self._max} connections are in use")
        return f"All of {self._max} connections are in use: try again."

    def _too_many(self, client: str) -> str:
        text = f"the client {client} is turned away: each may have {self._each_max} connections, and all of its own"
        self._warn("each", f"{text} are in use")
        return f"All of the {self._each_max} connections that one client may have are in use: try again."

    def _warn(self, kind: str, text: str) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s - self._warned_s.get(kind, -WARN_EVERY_S) >= WARN_EVERY_S:
            self._warned_s[kind] = now_s
            self._log.warning("%s", text)

    def stirred(self) -> None:
        """A connection is at work no longer, perhaps: it says so while the server stops."""
        self._stirred.set()

    async def at_rest(self) -> None:
        """Wait until every request that has come is answered, and no answer waits for its client to read on."""
        while any(one.at_work for one in self._open) or any(one.hand.at_work for one in self._left):
            for one in self._open:
                if not one.transport.is_closing():
                    one.transport.set_write_buffer_limits(high=0)  # so that it tells when nothing is left
            self._stirred.clear()
            await self._stirred.wait()

    async def watch(self) -> None:
        """End connections whose clients keep the server waiting, and give memory back, until cancelled."""
        clock = QuietClock(asyncio.get_running_loop().time)
        while True:
            await asyncio.sleep(min(LOOK_S, self._patience.head_s / 4, self._patience.body_s / 4))
            await self._give_back_memory()
            self._end_overdue(clock())

    def _end_overdue(self, now_s: float) -> None:
        """A function of its own: its locals would keep a connection while the loop above sleeps."""
        self._left = {one: None for one in self._left if one.hand.at_work}
        for connection in tuple(self._open):
            match connection.waiting.overdue(connection.stage(), self._patience, now_s):
                case Kind.SILENT:
                    connection.transport.abort()
                case Kind.HEAD:
                    connection.refuse(408, f"The request's head took over {self._patience.head_s:g} s.")
                case Kind.BODY:
                    connection.refuse(408, f"Nothing of the body came for {self._patience.body_s:g} s.")
                case Kind.SLOW_BODY:
                    least = self._patience.least_bytes_per_s
                    text = f"Less than {least:g} bytes of the body came each second, for {self._patience.slow_s:g} s."
                    connection.refuse(408, text)

    async def _give_back_memory(self) -> None:
        """Once most of what partial bodies held is freed, the allocator returns it to the system."""
        held_bytes = sum(connection.hand.partial_body_bytes for connection in self._open)
        self._peak_bytes = max(self._peak_bytes, held_bytes)
        if self._peak_bytes > BODIES_MIN_BYTES and held_bytes < self._peak_bytes // 4:
            self._peak_bytes = held_bytes
            await on_thread(give_back)
