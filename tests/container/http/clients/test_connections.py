"""Connections that keep the server waiting, and more of them than it can have."""

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.container.helpers.echo_server_process import Address, answer, connected, post, serving, whole
from tests.helpers.waiting import soon

OTHER = post("/a?x")
"""A request for gunicorn, as it has a query."""


@pytest.fixture(scope="module")
def strict() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with serving(listener, head_s=0.2, body_s=0.2, connections_max=5):
            yield listener.getsockname()


def until_closed(connection: socket.socket) -> bytes:
    """Everything that comes until the server closes."""
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_a_head_that_does_not_end_is_refused_in_time(strict: Address) -> None:
    with closing(connected(strict)) as connection:
        connection.sendall(OTHER[:30])
        assert until_closed(connection).startswith(b"HTTP/1.1 408 Request Timeout")


def test_a_connection_on_which_nothing_ever_comes_is_closed(strict: Address) -> None:
    with closing(connected(strict)) as connection:
        assert until_closed(connection) == b""


def test_a_body_that_stalls_gets_408_and_a_slow_one_does_not(strict: Address) -> None:
    with closing(connected(strict)) as still, closing(connected(strict)) as slow:
        still.sendall(OTHER[:-1])
        slow.sendall(post("/a?x", b"x" * 100)[:-100])
        still.settimeout(0.05)
        for _ in range(100):
            slow.sendall(b"x")
            try:
                assert still.recv(100).startswith(b"HTTP/1.1 408 Request Timeout")
                break
            except TimeoutError:
                continue
        slow.sendall(b"x" * 100)
        assert answer(slow)[0] == 200


def test_a_body_that_trickles_gets_408() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with serving(listener, body_s=1.0, slow_s=0.3, least_bytes_per_s=1_000_000):
            with closing(connected(listener.getsockname())) as slow:
                slow.sendall(post("/a?x", b"x" * 100)[:-100])

                def refused() -> bool:
                    slow.sendall(b"x")
                    return bool(select.select([slow], [], [], 0.05)[0])

                assert soon(refused)
                assert until_closed(slow).startswith(b"HTTP/1.1 408 Request Timeout")


def test_an_idle_connection_gives_way_to_a_new_one(strict: Address) -> None:
    kept = [connected(strict) for _ in range(5)]
    for connection in kept:
        connection.sendall(post("/now/invocations"))
        assert answer(connection)[0] == 200
    assert whole(strict, post("/now/invocations"))[0] == 200
    assert kept[0].recv(1) == b""
    for connection in kept:
        connection.close()


def test_clients_beyond_the_limit_of_connections_get_503(strict: Address) -> None:
    with ExitStack() as closing_all:
        clients = [closing_all.enter_context(closing(connected(strict))) for _ in range(8)]
        for client in clients:
            client.sendall(post("/wait/invocations"))
        refused = select.select(clients, [], [], 10)[0]
        assert until_closed(refused[0]).startswith(b"HTTP/1.1 503 Service Unavailable")
        assert soon(lambda: len(select.select(clients, [], [], 0)[0]) == 3)
    assert soon(lambda: whole(strict, post("/now/invocations"))[0] == 200)
