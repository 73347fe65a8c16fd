"""Bounds the connections of a guarded port that have not proven that they know its secret.

Anybody may open one. A router proves itself within milliseconds, and a stranger keeps the server waiting. So where all
are taken, the oldest one of the client that has the most gives way to the new one: strangers take no place of a proven
connection, and those of one address no place of another address. Nobody who greets is turned away.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from torpor_container.core.clients import client_of
from torpor_container.transport.greeting import InstancesEnd


class Greetings:
    """The greetings of one process that are not over, those of each client by their age. `room` says how many there may
    be, and `crowded` is called for each one too many."""

    def __init__(self, room: Callable[[], int], crowded: Callable[[], None]) -> None:
        self._room = room
        self._crowded = crowded
        self._of_clients: dict[str | None, dict[CountedGreeting, None]] = {}
        self._open = 0

    def begin(self, greeting: "CountedGreeting") -> None:
        """Take in one more. Where it is one too many, an older one is closed for it."""
        self._of_clients.setdefault(greeting.client, {})[greeting] = None
        self._open += 1
        if self._open > self._room():
            self._crowded()
            most = max(self._of_clients.values(), key=len)
            next(iter(most)).give_way()

    def end(self, greeting: "CountedGreeting") -> None:
        """It has become a connection, or nothing has come of it."""
        own = self._of_clients.get(greeting.client, {})
        if greeting in own:
            del own[greeting]
            self._open -= 1
            if not own:
                del self._of_clients[greeting.client]


class CountedGreeting(InstancesEnd):
    """One connection, from its first moment until it has proven itself. `made` makes the protocol that takes over, and
    `plain` that of a connection that does not greet.

    `client` is whose greetings are counted together. All of this machine's own loopback addresses are one, None.
    """

    def __init__(
        self,
        greetings: Greetings,
        secret: bytes,
        made: Callable[[], asyncio.Protocol],
        plain: Callable[[], asyncio.Protocol] | None = None,
    ) -> None:
        ungreeted = None if plain is None else partial(self._over, plain)
        super().__init__(secret, partial(self._over, made), plain=ungreeted)
        self.client: str | None = None
        self._greetings = greetings

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.client = client_of(peer[0]) if isinstance(peer, tuple) else None
        self._greetings.begin(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._greetings.end(self)
        super().connection_lost(exc)

    def give_way(self) -> None:
        """Close it for another one."""
        self._greetings.end(self)
        self._transport.abort()

    def _over(self, made: Callable[[], asyncio.Protocol]) -> asyncio.Protocol:
        self._greetings.end(self)
        return made()
