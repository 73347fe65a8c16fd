"""Strangers at a guarded port: however many they are, those that know the secret get in."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

from tests.container.helpers.echo_server_process import connected, serving
from torpor_container.http.clients.connections import GREETINGS_MIN
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.greeting import answer, hello
from torpor_container.transport.greetings import CountedGreeting, Greetings
from torpor_container.transport.upstream import Upstream

SECRET, NONCE = bytes(32), bytes(range(32))
MANY = GREETINGS_MIN + 4


class NewConnection(asyncio.Transport):
    """The transport of a connection of this client, and what is known of its end."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 4711)})
        self.aborted = False
        self.written = b""

    def write(self, data: Any) -> None:
        self.written += data

    def abort(self) -> None:
        self.aborted = True

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """It is told nothing."""


class Port:
    """A guarded port. `crowded` counts how often it was too many."""

    def __init__(self, room: int) -> None:
        self.greetings = Greetings(lambda: room, self._crowd)
        self.proven: list[asyncio.Protocol] = []
        self.crowded = 0

    def opened(self, address: str) -> tuple[CountedGreeting, NewConnection]:
        greeting, transport = CountedGreeting(self.greetings, SECRET, self._made), NewConnection(address)
        greeting.connection_made(transport)
        return greeting, transport

    def _made(self) -> asyncio.Protocol:
        self.proven.append(asyncio.Protocol())
        return self.proven[-1]

    def _crowd(self) -> None:
        self.crowded += 1


def in_loop(story: Callable[[], None]) -> None:
    async def told() -> None:
        story()

    asyncio.run(told())


def greet(greeting: CountedGreeting, transport: NewConnection) -> None:
    greeting.data_received(hello(NONCE))
    greeting.data_received(answer(SECRET, NONCE, transport.written))


def test_the_oldest_of_the_client_that_has_the_most_gives_way() -> None:
    def story() -> None:
        port = Port(room=3)
        router = port.opened("10.0.0.1")
        strangers = [port.opened("10.0.0.2")[1] for _ in range(5)]
        assert [one.aborted for one in strangers] == [True, True, True, False, False]
        assert port.crowded == 3
        greet(*router)
        assert (len(port.proven), router[1].aborted) == (1, False)

    in_loop(story)


def test_one_that_has_proven_itself_or_is_gone_leaves_room() -> None:
    def story() -> None:
        port = Port(room=4)
        taken = [port.opened("10.0.0.1") for _ in range(4)]
        greet(*taken[0])
        taken[1][0].connection_lost(None)
        port.opened("10.0.0.2")
        port.opened("10.0.0.3")
        assert not any(transport.aborted for _, transport in taken)
        port.opened("10.0.0.4")
        assert [transport.aborted for _, transport in taken] == [False, False, True, False]

    in_loop(story)


def test_one_that_gave_way_is_counted_off_once() -> None:
    def story() -> None:
        port = Port(room=3)
        opened = [port.opened("10.0.0.1") for _ in range(4)]
        opened[0][0].connection_lost(None)
        port.opened("10.0.0.1")
        assert [transport.aborted for _, transport in opened[:3]] == [True, True, False]

    in_loop(story)


def test_a_served_port_counts_greetings() -> None:
    async def asked(port: int) -> int:
        upstream = Upstream(GuardedAddress("127.0.0.1", port, SECRET))
        try:
            return (await upstream.send("POST", "/now/invocations", (), [b"1"], 10.0)).status
        finally:
            upstream.close()

    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as stack:
        stack.enter_context(serving(listener, secret=SECRET.hex(), connections_max=5))
        silent = [stack.enter_context(closing(connected(listener.getsockname()))) for _ in range(MANY)]
        assert asyncio.run(asked(listener.getsockname()[1])) == 200
        assert sum(map(_is_closed, silent)) >= MANY - GREETINGS_MIN  # before the one that asked was greeted


def _is_closed(client: socket.socket) -> bool:
    client.settimeout(0)
    try:
        return client.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
