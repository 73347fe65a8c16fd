"""Clients that send no more, too slowly, too much, or from too many connections, and those that leave in a pipeline."""

import random
import resource
import select
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.container.helpers.echo_server_process import Address, answer, connected, post, serving, whole
from tests.helpers.waiting import soon
from torpor_container.http.bounded_requests import HEAD_MAX_BYTES, HOST_MAX_BYTES
from torpor_container.http.server import LINE_MAX_BYTES, SPARE_MIN, SPARE_SHARE, allowed_connections

CHUNKS = b"POST /a HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n"
OTHER = post("/a?x")
"""gunicorn's, as it has a query; the others here are short ones."""


@pytest.fixture(scope="module")
def server() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener):
        yield listener.getsockname()


@pytest.fixture(scope="module")
def strict() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with serving(listener, head_s=0.2, body_s=0.2, connections_max=5):
            yield listener.getsockname()


def told(connection: socket.socket) -> bytes:
    """Everything that comes until the server hangs up."""
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def half_closed(server: Address, data: bytes) -> bytes:
    with closing(connected(server)) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return told(connection)


WHOLE = {
    "at once": (post("/now/invocations"), 1),
    "a little later": (post("/soon/invocations"), 1),
    "by a task": (post("/a/invocations"), 1),
    "by gunicorn": (OTHER, 1),
    "in chunks": (CHUNKS, 1),
    "large": (post("/a?x", b"x" * 1_000_000), 1),
    "one after another": (post("/soon/invocations") * 8, 8),
    "one after another by gunicorn": (OTHER * 30, 30),
    "by both ways in turn": ((OTHER + post("/soon/invocations")) * 10, 20),
    "before half a body": (OTHER * 3 + post("/soon/invocations")[:-1], 3),
    "before half a head": (post("/soon/invocations") * 3 + OTHER[:10], 3),
    "before half a body by gunicorn": (OTHER + OTHER[:-1], 1),
}


@pytest.mark.parametrize(("data", "answers"), WHOLE.values(), ids=WHOLE)
def test_a_client_that_sends_no_more_gets_all_its_answers(server: Address, data: bytes, answers: int) -> None:
    assert half_closed(server, data).count(b"HTTP/1.1 200 OK") == answers


@pytest.mark.parametrize("data", [b"", OTHER[:20], OTHER[:-1], post("/now/invocations")[:-1]])
def test_a_client_that_sends_no_more_before_its_request_is_whole_gets_none(server: Address, data: bytes) -> None:
    assert half_closed(server, data) == b""


def test_a_client_that_leaves_is_not_taken_for_one_that_sends_no_more(server: Address) -> None:
    before = whole(server, post())[2]["left"]
    with closing(connected(server)) as connection:
        connection.sendall(post("/wait/invocations"))
        whole(server, post())  # it is waiting by now
    assert soon(lambda: whole(server, post())[2]["left"] == before + 1)


def test_clients_that_leave_in_a_pipeline_leave_no_traceback() -> None:
    dice, kinds = (
        random.Random(1),
        (OTHER * 50, post() * 50, post("/soon/invocations") * 20, post("/a?x", bytes(10**5))),
    )
    with tempfile.TemporaryFile() as log, socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with serving(listener, log=log, log_level="info"):
            for data in kinds * 20:
                with closing(connected(address)) as connection:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.sendall(data[: dice.randrange(1, len(data))])
            assert whole(address, post())[0] == 200
        log.seek(0)
        assert b"Traceback" not in log.read()


HEADS = {
    "a host that no name can be": (400, b"POST / HTTP/1.1\r\nHost: " + b"a" * (HOST_MAX_BYTES + 1) + b"\r\n\r\n"),
    "such a host of a short request": (400, post("/a/invocations").replace(b"here", b"a." * HOST_MAX_BYTES)),
    "a line that is too long": (414, b"GET /" + b"a" * LINE_MAX_BYTES + b" HTTP/1.1\r\nHost: h\r\n\r\n"),
    "more headers than a head holds": (431, b"GET / HTTP/1.1\r\n" + (b"x: " + b"v" * 60_000 + b"\r\n") * 3 + b"\r\n"),
}


@pytest.mark.parametrize(("status", "data"), HEADS.values(), ids=HEADS)
def test_a_head_that_is_too_large_is_refused(server: Address, status: int, data: bytes) -> None:
    assert len(data) > HEAD_MAX_BYTES or status != 431
    assert whole(server, data)[0] == status


def test_a_head_that_does_not_end_is_refused_in_time(strict: Address) -> None:
    with closing(connected(strict)) as connection:
        connection.sendall(OTHER[:30])
        assert told(connection).startswith(b"HTTP/1.1 408 Request Timeout")


def test_a_connection_on_which_nothing_ever_comes_is_closed(strict: Address) -> None:
    with closing(connected(strict)) as connection:
        assert told(connection) == b""


def test_a_body_that_stands_still_is_refused_in_time_and_one_that_goes_on_is_not(strict: Address) -> None:
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


def test_an_idle_connection_gives_way_to_a_new_one(strict: Address) -> None:
    kept = [connected(strict) for _ in range(5)]
    for connection in kept:
        connection.sendall(post("/now/invocations"))
        assert answer(connection)[0] == 200
    assert whole(strict, post("/now/invocations"))[0] == 200
    assert kept[0].recv(1) == b""
    for connection in kept:
        connection.close()


def test_clients_too_many_are_told_so(strict: Address) -> None:
    with ExitStack() as closing_all:
        clients = [closing_all.enter_context(closing(connected(strict))) for _ in range(8)]
        for client in clients:
            client.sendall(post("/wait/invocations"))
        refused = select.select(clients, [], [], 10)[0]
        assert told(refused[0]).startswith(b"HTTP/1.1 503 Service Unavailable")
        assert soon(lambda: len(select.select(clients, [], [], 0)[0]) == 3)
    assert soon(lambda: whole(strict, post("/now/invocations"))[0] == 200)


def test_some_descriptors_are_not_for_connections() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert SPARE_MIN <= limit - allowed_connections() == max(limit // SPARE_SHARE, SPARE_MIN)
