"""How many calls a warm request makes in a router at the endpoint's port: as many as in the endpoint's own process."""

import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.helpers.shared_ports import all_accept, held, routers
from tests.endpoint.runtime.test_calls_of_a_warm_request import CONNECTIONS, ONE, ROUNDS, TOGETHER
from tests.helpers.call_windows import Calls, CallWindows
from tests.helpers.processes import children

MORE = 1.03
"""So much of what the endpoint's own process may make is allowed to a router."""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveEndpoint, CallWindows]]:
    windows = CallWindows(tmp_path_factory.mktemp("told"))
    folder = tmp_path_factory.mktemp("counted")
    with LiveEndpoint(folder, "--routers=2", environment=windows.variables) as live:
        put(live.folder("shop"), {"models/a.tar": constant(1.0)})
        live.deploy("counted", Variant(many("shop/models/")))
        assert all_accept(live)
        [windows.pid] = children(routers(live)[1])
        yield live, windows


def over(connection: socket.socket) -> HTTPConnection:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    found = HTTPConnection("localhost")
    found.sock = connection
    return found


def send(connection: HTTPConnection) -> None:
    head = ["POST /endpoints/counted/invocations HTTP/1.1", "Host: localhost", "Content-Type: text/csv"]
    head += ["X-Amzn-SageMaker-Target-Model: a.tar", "Content-Length: 1", "", "0"]
    connection.send("\r\n".join(head).encode())


def receive(connection: HTTPConnection) -> None:
    with HTTPResponse(connection.sock, method="POST") as answer:
        answer.begin()
        assert (answer.status, answer.read() != b"") == (200, True)


@pytest.fixture
def connections(counted: tuple[LiveEndpoint, CallWindows]) -> Iterator[list[HTTPConnection]]:
    """Connections that the router has accepted, each with a request behind it."""
    with held(counted[0], 1, CONNECTIONS) as accepted:
        found = [over(one) for one in accepted]
        for one in found:
            send(one)
            receive(one)
        yield found


@pytest.mark.thorough
def test_one_warm_request(counted: tuple[LiveEndpoint, CallWindows], connections: list[HTTPConnection]) -> None:
    def call() -> None:
        send(connections[0])
        receive(connections[0])

    counted[1].check(Calls(*(MORE * most for most in ONE)), 1, call)


@pytest.mark.thorough
def test_requests_that_are_there_at_once(
    counted: tuple[LiveEndpoint, CallWindows], connections: list[HTTPConnection]
) -> None:
    def call() -> None:
        for _ in range(ROUNDS):
            with counted[1].asleep():
                for one in connections:
                    send(one)
            for one in connections:
                receive(one)

    counted[1].check(Calls(*(MORE * most for most in TOGETHER)), ROUNDS * CONNECTIONS, call)
