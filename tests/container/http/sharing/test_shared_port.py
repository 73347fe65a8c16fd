"""A port that several processes serve: who accepts, and how a connection goes to the owner."""

import http.client
import json
import os
import signal
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any

import pytest

from tests.container.helpers.echo_server_process import post
from tests.helpers.certificates import pair
from tests.helpers.forked_starts import starting
from tests.helpers.processes import gone, stop
from tests.helpers.waiting import soon
from torpor_container.http.server import TlsFiles
from torpor_container.http.sharing.shared_port import OWNER, PortBoard, SharedPort, opened, read

PROCESSES = 3
ROUNDS = 20
SERVER = "tests.container.helpers.shared_port_server"


class Port:
    """The processes of one port, of which the first is the owner."""

    def __init__(self, processes: int, files: TlsFiles | None = None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.shared = opened(self.listener.fileno(), processes)
        self.files = files
        self.processes = [self._started(place) for place in range(processes)]
        self.connections = PortBoard(self.shared).connections
        self._open = ExitStack()

    def _started(self, place: int) -> starting.Started:
        own = replace(self.shared, place=place, taking=self.shared.taking if place == OWNER else None)
        files = None if self.files is None else [str(self.files.certificate), str(self.files.key)]
        command = [sys.executable, "-m", SERVER, str(own.listener), json.dumps({**asdict(own), "tls": files})]
        inherited = (*own.inherited, *(() if own.taking is None else (own.taking,)))
        with os.fdopen(os.dup(2), "wb") as output:
            return starting.start(command, output, pass_fds=inherited)

    def connected(self) -> "Client":
        """A new connection."""
        client = Client(socket.create_connection(self.listener.getsockname(), timeout=60), self.files)
        self._open.callback(client.close)
        return client

    def by(self, place: int) -> "Client":
        """A connection that this process has accepted."""
        while True:
            client = self.connected()
            if client.asks("/both/place")["place"] == place:
                return client

    def accept(self) -> bool:
        return soon(lambda: None not in self.connections(), within_s=60)

    def hang_up(self) -> None:
        """Close all connections."""
        self._open.close()

    def close(self) -> None:
        self.hang_up()
        for one in self.processes:
            if one.poll() is None:
                one.terminate()
        assert {one.wait(60) for one in self.processes} <= {0, -signal.SIGKILL}
        self.listener.close()


class Client:
    def __init__(self, connection: socket.socket, files: TlsFiles | None) -> None:
        self.address = list(connection.getsockname())
        if files is not None:
            trusting = ssl.create_default_context(cafile=files.certificate)
            connection = trusting.wrap_socket(connection, server_hostname="localhost")
        self.socket = connection
        self._answers = connection.makefile("rb")

    def close(self) -> None:
        self._answers.close()
        self.socket.close()

    def asks(self, path: str, body: bytes = b"", *headers: str) -> Any:
        self.socket.sendall(post(path, body, *headers))
        return self.answered()

    def answered(self) -> Any:
        """The next answer, of several that may have come together."""
        assert self._answers.readline() == b"HTTP/1.1 200 OK\r\n"
        headers = http.client.parse_headers(self._answers)
        said = b""
        if "content-length" in headers:
            said = self._answers.read(int(headers["content-length"]))
        else:
            while size := int(self._answers.readline(), 16):
                said += self._answers.read(size)
                self._answers.readline()
            self._answers.readline()
        return json.loads(said) if said.startswith(b"{") else said


@pytest.fixture(scope="module", params=["http", "https"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    files = pair(tmp_path_factory.mktemp("tls"), "one") if request.param == "https" else None
    found = Port(PROCESSES, files)
    try:
        assert found.accept()
        yield found
    finally:
        found.close()


@pytest.fixture
def port(served: Port) -> Iterator[Port]:
    """No connection of a test is left, and none is counted that has gone."""
    yield served
    served.hang_up()
    assert soon(lambda: served.connections() == [0, 0, 0])


def test_what_another_process_inherits_is_read_as_it_was_written() -> None:
    shared = SharedPort(3, 4, 5, 6)
    assert read(shared.text(2)) == SharedPort(3, 4, 5, place=2)


def test_connections_spread_evenly_over_the_processes(port: Port) -> None:
    """A process that does not come for a few looks gets fewer: on a busy machine one round of several is even."""
    for _ in range(ROUNDS):
        clients = [port.connected() for _ in range(30)]
        asked = Counter(client.asks("/both/place")["place"] for client in clients for _ in range(10))
        if asked == dict.fromkeys(range(PROCESSES), 100):
            return
        port.hang_up()
        assert soon(lambda: port.connections() == [0, 0, 0])
    pytest.fail(f"of {ROUNDS} rounds none was even; the last was {asked}")


def test_a_request_that_is_the_owners_goes_there_with_its_connection_and_stays(port: Port) -> None:
    client = port.by(1)
    told = client.asks("/elsewhere?x=1", b"abc", "X-Signed: as it was")
    assert (told["place"], told["path"], told["bytes"]) == (OWNER, "/elsewhere", 3)
    assert ["x-signed", "as it was"] in told["headers"]
    assert told["client"] == client.address
    assert told["scheme"] == ("http" if port.files is None else "https")
    assert told["tls"] == (None if port.files is None else {"tls_version": 0x0304})
    assert client.asks("/both/place")["place"] == OWNER
    assert client.asks("/both/now/invocations", b"1")["place"] == OWNER


def test_requests_that_came_together_are_answered_in_their_order(port: Port) -> None:
    client = port.by(2)
    paths = ["/both/place", "/both/long", "/both/now/invocations", "/elsewhere", "/both/place"]
    client.socket.sendall(b"".join(post(path) for path in paths))
    places = []
    for path in paths:
        said = client.answered()
        places.append(
            said["place"] if isinstance(said, dict) else (path, json.loads(said[said.index(b"{") :])["place"])
        )
    assert places == [2, ("/both/long", 2), 2, OWNER, OWNER]


@pytest.mark.parametrize("size", [1, 300_000, 5_000_000])
def test_a_body_reaches_the_owner_however_much_of_it_has_come(port: Port, size: int) -> None:
    client = port.by(1)
    sent = post("/elsewhere", b"x" * size)
    client.socket.sendall(sent[: size // 2])
    client.socket.sendall(sent[size // 2 :])
    assert client.answered()["bytes"] == size
    assert client.asks("/long")[-1:] == b"}"


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked_once(port: Port) -> None:
    for size in (0, 3):
        client = port.by(1)
        client.socket.sendall(post("/elsewhere", b"x" * size, "Expect: 100-continue")[: -size or None])
        assert client.socket.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.socket.sendall(b"x" * size)
        assert client.answered()["bytes"] == size


def test_a_client_that_sends_no_more_gets_its_answer_of_the_owner(port: Port) -> None:
    if port.files is None:  # over TLS nobody is answered who has closed
        client = port.by(1)
        client.socket.sendall(post("/elsewhere", b"x"))
        client.socket.shutdown(socket.SHUT_WR)
        assert client.answered()["place"] == OWNER


def test_more_connections_than_wait_at_once_all_reach_the_owner(port: Port) -> None:
    clients = [port.connected() for _ in range(300)]
    stop(port.processes[OWNER].pid)
    try:
        for client in clients:
            client.socket.sendall(post("/elsewhere", b"abc"))
    finally:
        port.processes[OWNER].send_signal(signal.SIGCONT)
    assert {client.answered()["place"] for client in clients} == {OWNER}


@pytest.fixture
def mortal() -> Iterator[Port]:
    """A port whose processes may be killed."""
    found = Port(PROCESSES)
    try:
        assert found.accept()
        yield found
    finally:
        for one in found.processes:
            one.send_signal(signal.SIGCONT)
        found.close()


def test_connections_that_nobody_has_accepted_outlive_a_process_that_is_killed(mortal: Port) -> None:
    held = [mortal.by(OWNER), mortal.by(1), mortal.by(1)]
    for one in mortal.processes:
        stop(one.pid)
    waiting = [mortal.connected() for _ in range(20)]
    for client in waiting:
        client.socket.sendall(post("/both/place"))
    mortal.processes[2].kill()
    assert gone(mortal.processes[2].pid)
    PortBoard(mortal.shared).ended(2)
    for one in mortal.processes[:2]:
        one.send_signal(signal.SIGCONT)
    answered = Counter(client.answered()["place"] for client in waiting)
    assert sum(answered.values()) == 20
    assert set(answered) == {OWNER, 1}
    assert len(held) == 3


def test_a_process_that_hangs_keeps_no_connection_from_the_others(mortal: Port) -> None:
    assert mortal.by(1)
    stop(mortal.processes[2].pid)  # it has the fewest
    assert {mortal.connected().asks("/both/place")["place"] for _ in range(6)} == {OWNER, 1}


def test_what_was_given_to_the_owner_outlives_the_process_that_gave_it(mortal: Port) -> None:
    client = mortal.by(1)
    assert client.asks("/elsewhere")["place"] == OWNER
    mortal.processes[1].kill()
    assert gone(mortal.processes[1].pid)
    assert client.asks("/elsewhere")["place"] == OWNER


def test_a_process_that_is_told_to_stop_accepts_no_more_and_answers_what_it_has(mortal: Port) -> None:
    client = mortal.by(1)
    client.socket.sendall(post("/both/long"))
    mortal.processes[1].terminate()
    assert soon(lambda: mortal.connections()[1] is None)
    assert {mortal.connected().asks("/both/place")["place"] for _ in range(6)} == {OWNER, 2}
    assert client.answered()[-1:] == b"}"
    assert mortal.processes[1].wait(60) == 0
