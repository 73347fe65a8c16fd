"""Some requests are offered inline, and all others come by ASGI: no client can tell, however its bytes arrive."""

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
from tests.helpers.example_counts import tries
from tests.helpers.waiting import soon
from torpor_container.transport.parts import IN_PARTS

WAYS = ("/now/invocations", "/soon/invocations", "/a/invocations", "/a/invocations?")
"""An answer at once, one that is told later, and two by a task."""


@pytest.fixture(scope="module")
def server() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener):
        yield listener.getsockname()


@pytest.mark.parametrize("path", ["/now/invocations", "/soon/invocations"])
def test_a_request_gets_the_same_answer_inline_and_by_asgi(server: Address, path: str) -> None:
    request = post(path, b"0.5,2", "X-Amzn-SageMaker-Target-Model: caf\xc3\xa9.tar.gz", "x-b:\t two  ")
    inline, called = whole(server, request), by_asgi(server, request)
    assert (inline[1].pop("x-way"), called[1].pop("x-way")) == ("inline", "asgi")
    assert inline == (200, {**called[1], "content-length": inline[1]["content-length"]}, called[2])


def by_asgi(server: Address, data: bytes) -> tuple[int, dict[str, str], Any]:
    """The same request with a header by which it comes by ASGI."""
    (name, value), (first, rest) = IN_PARTS, data.split(b"\r\n", 1)
    status, headers, told = whole(server, b"%b\r\n%b: %b\r\n%b" % (first, name, value, rest))
    if isinstance(told, dict):
        told["headers"].remove([name.decode(), value.decode()])
        del headers["content-length"]
    return status, headers, told


NOT_OFFERED = {
    "chunked": b"POST /now/invocations HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n3\r\n1,2\r\n0\r\n\r\n",
    "with a query": post("/now/invocations?x=1"),
    "with a quoted path": post("/n%6Fw/invocations"),
    "to another path": post("/now"),
    "by another method": post("/now/invocations").replace(b"POST", b"PUT"),
}


@pytest.mark.parametrize("request_", NOT_OFFERED.values(), ids=NOT_OFFERED)
def test_a_request_that_is_not_plain_comes_by_asgi(server: Address, request_: bytes) -> None:
    assert whole(server, request_)[1]["x-way"] == "asgi"


def test_an_offer_of_another_protocol_is_ignored_and_its_body_read(server: Address) -> None:
    """Java's client offers HTTP/2 with each of its requests."""
    offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    with closing(connected(server)) as connection:
        for path in ("/a", "/now/invocations"):
            connection.sendall(post(path, b"1,2", *offer))
            status, _, told = answer(connection)
            assert (status, told["body"]) == (200, "1,2")


def test_a_proxy_on_this_machine_tells_that_its_client_speaks_tls(server: Address) -> None:
    assert whole(server, post("/a", b"1", "X-Forwarded-Proto: https"))[2]["scheme"] == "https"
    assert whole(server, post("/a", b"1", "X-Forwarded-Proto: http"))[2]["scheme"] == "http"
    assert whole(server, post("/a", b"1", "X-Forwarded-Proto: https", "X-Forwarded-Ssl: off"))[0] == 400


def test_a_request_that_is_refused_gets_its_answer_behind_that_of_the_one_before(server: Address) -> None:
    with closing(connected(server)) as connection, connection.makefile("rb") as told:
        connection.sendall(post("/a") + b"GET  / HTTP/1.1\r\n\r\n")
        assert re.findall(rb"HTTP/1.1 (\d+)", told.read()) == [b"200", b"400"]


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
@settings(max_examples=tries(16), deadline=None)
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
    assert rest in ([b"400"], [])
    assert whole(server, post("/now/invocations"))[0] == 200


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
    assert by_asgi(server, post(path)) == (status, headers, body)


def test_a_204_answer_has_no_body(server: Address) -> None:
    found = whole(server, post("/empty/invocations"))
    assert found == by_asgi(server, post("/empty/invocations"))
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
