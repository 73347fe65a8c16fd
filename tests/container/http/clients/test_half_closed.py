"""Clients that send no more get the answers still due to them, and the server notices clients that have left."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.container.helpers.echo_server_process import Address, answer, connected, post, serving, whole
from tests.helpers.waiting import soon
from torpor_container.http.clients.half_closed import without_owner

CHUNKS = b"POST /a HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n"
OTHER = post("/a?x")
"""A request for gunicorn, as it has a query."""


@pytest.fixture(scope="module")
def server() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener):
        yield listener.getsockname()


def half_closed(server: Address, data: bytes) -> bytes:
    """Everything that comes after the client has sent this and shut down its side."""
    with closing(connected(server)) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


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
def test_a_client_half_closed_before_its_request_is_whole_gets_no_answer(server: Address, data: bytes) -> None:
    assert half_closed(server, data) == b""


def test_a_disconnected_client_is_not_mistaken_for_a_half_closed_one(server: Address) -> None:
    before = whole(server, post())[2]["left"]
    with closing(connected(server)) as connection:
        connection.sendall(post("/wait/invocations"))
        whole(server, post())  # it is waiting by now
    assert soon(lambda: whole(server, post())[2]["left"] == before + 1)


TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 20 4 30 10 -1
   1: 0100007F:1F90 0100007F:9C40 08 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 20 4 0 10 -1
"""  # noqa: E501  as the kernel writes it


def test_an_end_of_a_connection_that_no_process_holds_is_found_in_the_kernels_table(tmp_path: Path) -> None:
    (tmp_path / "tcp").write_text(TABLE)
    assert without_owner([tmp_path / "tcp", tmp_path / "none"]) == {("0100007F:9C40", "0100007F:1F90")}


def test_a_unix_client_that_leaves_while_it_is_answered_is_noticed(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(tmp_path / "s"))
        listener.listen()
        with serving(listener):
            left = asked(tmp_path / "s", post("/now/invocations"))
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(os.fspath(tmp_path / "s"))
                client.sendall(post("/wait/invocations"))
                client.shutdown(socket.SHUT_WR)
                asked(tmp_path / "s", post("/now/invocations"))  # the one before is in hand by now
            assert soon(lambda: asked(tmp_path / "s", post("/now/invocations")) == left + 1)


def asked(path: Path, data: bytes) -> int:
    """How many callers have left so far."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(os.fspath(path))
        client.sendall(data)
        return int(answer(client)[2]["left"])
