"""Heads that are too large, and clients that disconnect in the middle of a pipeline."""

import random
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.container.helpers.echo_server_process import Address, connected, post, serving, whole
from torpor_container.http.messages.request_heads import HEAD_MAX_BYTES, HOST_MAX_BYTES, LINE_MAX_BYTES

OTHER = post("/a?x")
"""A request for gunicorn, as it has a query."""


@pytest.fixture(scope="module")
def server() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener):
        yield listener.getsockname()


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
