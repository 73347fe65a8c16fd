"""A terminated worker waits for clients that still read, and for no others."""

import socket
from contextlib import ExitStack, closing

import pytest

from tests.container.helpers.echo_server_process import Address, answer, post, serving
from tests.helpers.processes import gone

WAYS = ("/now/invocations", "/soon/invocations", "/a/invocations", "/a/invocations?")
"""An answer at once, one that is told later, and two by a task."""


@pytest.mark.parametrize("size", [8_000, 60_000])
def test_a_terminated_server_waits_for_clients_that_still_read(size: int) -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)  # the system holds little for a slow client
        process = stack.enter_context(serving(listener))
        *readers, leaver = [stack.enter_context(closing(slow(listener.getsockname()))) for _ in (*WAYS, "and away")]
        for reader, path in zip((*readers, leaver), (*WAYS, WAYS[0]), strict=True):
            reader.sendall(post(path, b"\x01" * size))
            assert reader.recv(1, socket.MSG_PEEK) == b"H"  # its answer has begun
        process.terminate()
        assert not gone(process.pid, within_s=0.5)
        leaver.close()
        assert [len(answer(reader)[2]["body"]) for reader in readers] == [size] * len(WAYS)
        assert process.wait(60.0) == 0


def slow(address: Address) -> socket.socket:
    """A connection that takes in little before it is read."""
    connection = socket.socket()
    connection.settimeout(10)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(address)
    return connection
