"""Short requests are answered ahead of gunicorn's parser, and no client can tell, however its bytes arrive."""

import json
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.container.helpers.echo_server_process import Address, answer, connected, post, serving, whole
from tests.helpers.waiting import soon
from torpor_container.http.server import FIELD_MAX_BYTES
from torpor_container.http.short_requests import RequestReader

WAYS = ("/now/invocations", "/soon/invocations", "/a/invocations", "/a/invocations?")
"""An answer at once, one that is told later, one by a task, and one by gunicorn."""


@pytest.fixture(scope="module")
def server() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener):
        yield listener.getsockname()


@pytest.mark.parametrize("path", ["/a/invocations", "/models/m/invoke", "/now/invocations", "/soon/invocations"])
def test_a_short_request_gets_the_same_answer_by_the_shorter_way(server: Address, path: str) -> None:
    request = post(path, b"0.5,2", "X-Amzn-SageMaker-Target-Model: caf\xc3\xa9.tar.gz", "x-b:\t two  ")
    short, long = whole(server, request), the_long_way(server, request)
    assert (short[1].pop("x-way"), long[1].pop("x-way")) == ("short", "gunicorn")
    assert short == (200, {**long[1], "content-length": short[1]["content-length"]}, long[2])


def the_long_way(server: Address, data: bytes) -> tuple[int, dict[str, str], Any]:
    """The same request with a header by which it is gunicorn's."""
    first, rest = data.split(b"\r\n", 1)
    status, headers, told = whole(server, first + b"\r\nProxy-Connection: keep-alive\r\n" + rest)
    if isinstance(told, dict):
        told["headers"].remove(["proxy-connection", "keep-alive"])
        del headers["content-length"]
    return status, headers, told


LEFT_TO_GUNICORN = {
    "chunked": b"POST /a/invocations HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n3\r\n1,2\r\n0\r\n\r\n",
    "of an older version": post(version="1.0"),
    "that closes its connection": post("/a/invocations", b"1", "Connection: close"),
    "with a query": post("/a/invocations?x=1"),
    "with a quoted path": post("/a%2Fb/invocations"),
    "to another path": post("/a"),
    "with very many headers": post("/a/invocations", b"1", *(f"x-{number}: 1" for number in range(99))),
    "with two lengths": post("/a/invocations", b"1,2", "Content-Length: 1"),
    "with a header that is none": post("/a/invocations", b"1", "no colon"),
    "with a line folded": post("/a/invocations", b"1", "x-a: 1", " 2"),
    "for two hosts": post("/a/invocations", b"1", "Host: there"),
    "of two content types": post("/a/invocations", b"1", "Content-Type: text/csv", "content-type: text/csv"),
    "with a header too long": post("/a/invocations", b"1", "x-a: " + "1" * FIELD_MAX_BYTES),
}


@pytest.mark.parametrize("request_", LEFT_TO_GUNICORN.values(), ids=LEFT_TO_GUNICORN)
def test_a_request_that_is_not_plain_goes_to_gunicorn(server: Address, request_: bytes) -> None:
    assert whole(server, request_)[1].get("x-way") != "short"


def test_a_body_that_waits_to_be_asked_for_is_asked_for(server: Address) -> None:
    with closing(connected(server)) as connection:
        head, body = post("/a/invocations", b"1,2", "Expect: 100-continue").split(b"1,2")[0], b"1,2"
        connection.sendall(head)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert answer(connection)[2]["body"] == "1,2"


def test_a_client_that_waits_to_send_an_empty_body_is_asked_for_it(server: Address) -> None:
    with closing(connected(server)) as connection:
        for _ in range(2):
            connection.sendall(post("/a/invocations", b"", "Expect: 100-continue"))
            assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
            assert answer(connection)[2]["body"] == ""


@given(cuts=st.lists(st.integers(0, 400), max_size=6))
@example(cuts=[len(post("/now/invocations", b"0")) + 1])
@settings(max_examples=40, deadline=None)
def test_however_the_bytes_are_cut_every_request_is_answered_in_its_turn(server: Address, cuts: list[int]) -> None:
    paths = [*WAYS[:3], "/a", *WAYS[:2], "/models/m/invoke", "/a/invocations"]
    stream = b"".join(post(path, b"%d" % number) for number, path in enumerate(paths))
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    with closing(connected(server)) as connection, connection.makefile("rb") as file:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start, end in pairwise(edges):
            connection.sendall(stream[start:end])
        told = [one_of_many(file) for _ in paths]
    assert [(line["path"], line["body"]) for line in told] == [(path, str(n)) for n, path in enumerate(paths)]


def one_of_many(file: Any) -> Any:
    head = b"".join(iter(lambda: file.readline(), b"\r\n"))
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    return json.loads(file.read(int(length.split(b":")[1])))


def test_more_early_requests_than_are_held_are_answered_too(server: Address) -> None:
    stream = post("/a/invocations", b"x" * 50_000) * 30
    with closing(connected(server)) as connection, connection.makefile("rb") as file, ThreadPoolExecutor(1) as threads:
        sending = threads.submit(connection.sendall, stream)
        assert [len(one_of_many(file)["body"]) for _ in range(30)] == [50_000] * 30
        sending.result()


def test_an_unreadable_request_ends_its_own_connection_alone_even_in_a_pipeline(server: Address) -> None:
    unreadable = f"POST /a HTTP/1.1\r\nhost: h\r\ncontent-length: {'9' * 5000}\r\n\r\n".encode()
    assert whole(server, unreadable)[0] == 400
    with closing(connected(server)) as connection:
        connection.sendall(post("/soon/invocations"))
        time.sleep(0.01)
        connection.sendall(unreadable)
        with connection.makefile("rb") as told:
            first, *rest = re.findall(rb"HTTP/1.1 (\d+)", told.read())
    assert first == b"200"
    assert rest in ([b"400"], [])  # gunicorn has both if they came together, and then closes without a word
    assert whole(server, post("/now/invocations"))[0] == 200


def test_a_request_is_not_kept_once_it_is_taken_up() -> None:
    reader = RequestReader()
    assert reader.read(post(body=b"1,2"))
    assert reader.take()[1] == b"1,2"
    assert (reader.headers, reader.body) == ([], b"")


def test_an_application_is_notified_when_its_caller_disconnects(server: Address) -> None:
    before, kept = whole(server, post("/now/invocations"))[2]["left"], still_kept(server)
    with closing(connected(server)) as connection:
        connection.sendall(post("/wait/invocations"))
    assert soon(lambda: whole(server, post("/now/invocations"))[2]["left"] == before + 1)
    assert soon(lambda: still_kept(server) <= kept)


def still_kept(server: Address) -> int:
    """How many tasks are over, and still kept by something."""
    return int(whole(server, post("/kept/invocations"))[2])


@pytest.mark.parametrize("path", ["/raise/invocations", "/split/invocations"])
def test_an_application_that_breaks_answers_500_and_its_connection_ends(server: Address, path: str) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(post(path))
        status, headers, body = answer(connection)
        assert (status, headers["connection"], body) == (500, "close", b"Internal Server Error")
        assert connection.recv(1) == b""
    assert the_long_way(server, post(path)) == (status, headers, body)


def test_a_204_answer_has_no_body(server: Address) -> None:
    found = whole(server, post("/empty/invocations"))
    assert found == the_long_way(server, post("/empty/invocations"))
    assert (found[0], found[2]) == (204, b"")


def test_an_idle_connection_is_closed_after_each_kind_of_answer() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        stack.enter_context(serving(listener, keep_alive_s=1))
        connections = [stack.enter_context(closing(connected(listener.getsockname()))) for _ in WAYS]
        for connection, path in zip(connections, WAYS, strict=True):
            connection.sendall(post(path))
            assert answer(connection)[0] == 200
        answered_s = time.monotonic()
        assert [connection.recv(1) for connection in connections] == [b""] * len(WAYS)
        assert time.monotonic() - answered_s > 0.9
