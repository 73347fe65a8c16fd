"""No single request, whatever its contents, blocks the event loop and with it all other requests."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path

import pytest

from tests.endpoint.helpers.worst_requests import WARMING, WORST, request
from tests.helpers.machine_pace import holds_up
from tests.helpers.thorough_values import one_in

SERVER = Path(__file__).parents[1] / "helpers" / "lag_measuring_endpoint.py"
TRIES = 8
"""A thread of its own, or the system, may take some processor time by chance, but not each time."""

Address = tuple[str, int]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """With all that it serves imported."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address: Address = listener.getsockname()
        command = [sys.executable, str(SERVER), str(listener.fileno()), str(tmp_path_factory.mktemp("endpoint"))]
        process = subprocess.Popen(command, pass_fds=[listener.fileno()])
    try:
        for warming in WARMING.values():
            told(address, warming)
        yield address
    finally:
        process.terminate()
        assert process.wait(30) == 0


def told(address: Address, data: bytes) -> bytes:
    """The answer's body, as far as one is given."""
    with closing(socket.create_connection(address, timeout=60)) as connection, suppress(OSError, HTTPException):
        with suppress(OSError):
            connection.sendall(data)
        with closing(HTTPResponse(connection)) as response:
            response.begin()
            return response.read()
    return b""


def lag_ms(address: Address) -> float:
    return float(told(address, request("GET /_lag")))


@pytest.mark.parametrize("name", one_in(3, WORST))
def test_a_request_that_is_much_work_does_not_hold_up_the_others(endpoint: Address, name: str) -> None:
    seen, worst = [], WORST[name]()
    for _ in range(TRIES):
        lag_ms(endpoint)
        told(endpoint, worst)
        seen.append(lag_ms(endpoint))
        if not holds_up(seen[-1]):
            return
    pytest.fail(f"the event loop was held up for {seen} ms")
