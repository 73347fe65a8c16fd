"""How many connections one client may have. Addresses are made up: all of this machine's own count for nobody."""

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from torpor_container.core.client_timeouts import ClientTimeouts
from torpor_container.http.clients.connections import GREETINGS_MAX, GREETINGS_MIN, Connections, OpenConnection

LOG = logging.getLogger("test")


class Wire:
    """A connection as the list of connections sees it; it is its own transport."""

    def __init__(self, address: str, *, idle: bool = False) -> None:
        self.peer = (address, 4711)
        self.idle = idle
        self.ended = ""
        self.hand = SimpleNamespace(at_work=False)
        self.transport = self

    def refuse(self, status: int, why: str) -> None:
        self.ended = f"{status} {why}"

    def abort(self) -> None:
        self.ended = "aborted"


def added(connections: Connections, *wires: Wire) -> list[str]:
    for wire in wires:
        connections.add(cast(OpenConnection, wire))
    return [wire.ended for wire in wires]


def in_loop(story: Callable[[Connections], Any], each_max: int = 2, connections_max: int = 100) -> None:
    async def told() -> None:
        story(Connections(connections_max, ClientTimeouts(), LOG, each_max))

    asyncio.run(told())


def test_one_more_than_a_client_may_have_gets_503_and_others_do_not() -> None:
    def story(connections: Connections) -> None:
        first, second, third = added(connections, *(Wire("10.0.0.1") for _ in range(3)))
        assert (first, second) == ("", "")
        assert third == "503 All of the 2 connections that one client may have are in use: try again."
        assert added(connections, Wire("10.0.0.2")) == [""]

    in_loop(story)


def test_a_clients_own_idle_connection_gives_way() -> None:
    def story(connections: Connections) -> None:
        other, kept, idle = Wire("10.0.0.2", idle=True), Wire("10.0.0.1"), Wire("10.0.0.1", idle=True)
        assert added(connections, other, kept, idle, Wire("10.0.0.1")) == ["", "", "aborted", ""]

    in_loop(story)


def test_a_connection_that_has_gone_leaves_room() -> None:
    def story(connections: Connections) -> None:
        gone, kept = Wire("10.0.0.1"), Wire("10.0.0.1")
        added(connections, gone, kept)
        connections.remove(cast(OpenConnection, gone))
        assert added(connections, Wire("10.0.0.1")) == [""]

    in_loop(story)


@pytest.mark.parametrize(("address", "each_max"), [("127.0.0.1", 2), ("10.0.0.1", 0)])
def test_this_machine_and_a_limit_of_0_are_not_counted(address: str, each_max: int) -> None:
    def story(connections: Connections) -> None:
        assert set(added(connections, *(Wire(address) for _ in range(50)))) == {""}

    in_loop(story, each_max)


def test_handshakes_count_until_they_end() -> None:
    def story(connections: Connections) -> None:
        peer = ("10.0.0.1", 1)
        assert [connections.handshake_begins(peer) for _ in range(3)] == [True, True, False]
        connections.handshake_ends(peer)
        assert added(connections, Wire("10.0.0.1")) == [""]
        assert not connections.handshake_begins(peer)
        assert connections.handshake_begins(("10.0.0.2", 1))

    in_loop(story)


def test_handshakes_count_for_all_connections_too() -> None:
    def story(connections: Connections) -> None:
        added(connections, Wire("10.0.0.1"), Wire("10.0.0.2"))
        assert [connections.handshake_begins(None) for _ in range(2)] == [True, False]

    in_loop(story, connections_max=3)


def test_greetings_have_what_connections_leave_and_close_none_of_them() -> None:
    def story(connections: Connections) -> None:
        assert connections.room_for_greetings() == 50
        assert set(added(connections, *(Wire("10.0.0.1", idle=True) for _ in range(100)))) == {""}
        assert connections.room_for_greetings() == GREETINGS_MIN

    in_loop(story, each_max=0)
    in_loop(lambda connections: _has_room(connections, GREETINGS_MAX), connections_max=100_000)


def _has_room(connections: Connections, room: int) -> None:
    assert connections.room_for_greetings() == room


def test_a_stop_waits_for_a_request_whose_client_has_left() -> None:
    async def story() -> None:
        connections, wire = Connections(100, ClientTimeouts(), LOG), Wire("10.0.0.1")
        wire.hand.at_work = True
        connections.add(cast(OpenConnection, wire))
        connections.remove(cast(OpenConnection, wire))
        resting = asyncio.ensure_future(connections.at_rest())
        await asyncio.sleep(0)
        assert not resting.done()
        wire.hand.at_work = False
        connections.stirred()
        await resting

    asyncio.run(story())
