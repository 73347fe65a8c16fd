"""The server's end of a connection with frames: each request is answered as soon as it can be, and fails alone."""

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest
from starlette.types import Receive, Scope, Send

from tests.container.helpers.echo_server_process import Address, answer, connected, post, serving, whole
from tests.container.helpers.read_frames import NamingReader, ReadFrame
from tests.helpers.waiting import reached, soon
from torpor_container.http.clients import framed_requests
from torpor_container.http.clients.framed_requests import TARGET, FramedRequests
from torpor_container.http.exchange import TakeInline, Tell
from torpor_container.transport.frames import NO_ANSWER, START, UPGRADED, encoded, lines, upgrade

PATH = "/framed/invocations"


class Client:
    """One connection, upgraded."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._reader = NamingReader()
        connection.sendall(upgrade(PATH))
        assert connection.recv(4096) == UPGRADED

    def ask(self, *bodies: bytes) -> None:
        """Frames of these bodies in one piece, numbered from 0."""
        self.connection.sendall(b"".join(encoded(n, 0, b"x-n: %d\r\n" % n, body) for n, body in enumerate(bodies)))

    def answers(self, count: int) -> dict[int, ReadFrame]:
        """So many, by number, in the order in which they came."""
        found = dict[int, ReadFrame]()
        while len(found) < count:
            data = self.connection.recv(1 << 20)
            assert data, "the connection ended"
            found |= {frame.number: frame for frame in self._reader.read(data)}
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener):
        yield listener.getsockname()


@contextmanager
def client(server: Address) -> Iterator[Client]:
    with closing(connected(server)) as connection:
        yield Client(connection)


def test_a_client_that_sends_no_more_frames_gets_all_its_answers(server: Address) -> None:
    with client(server) as asking:
        asking.ask(b"soon", b"now", b"some task")
        asking.connection.shutdown(socket.SHUT_WR)
        assert asking.answers(3).keys() == {0, 1, 2}
        assert asking.connection.recv(1) == b""


def test_requests_are_answered_as_soon_as_they_can_be(server: Address) -> None:
    with client(server) as asking:
        asking.ask(b"soon", b"now", b"some task", b"now")
        found = asking.answers(4)
        order = list(found)
        assert order.index(1) < min(order.index(2), order.index(3))
        assert order[-1] == 0
        assert [found[number].status for number in range(4)] == [200] * 4
        told = [json.loads(found[number].body) for number in range(4)]
        assert [one["body"] for one in told] == ["soon", "now", "some task", "now"]
        assert [one["headers"] for one in told] == [[["x-n", str(number)]] for number in range(4)]
        assert {(one["method"], one["path"], one["query"]) for one in told} == {("POST", PATH, "")}
        assert (b"x-way", b"inline") in found[0].headers


@pytest.mark.parametrize("body", [b"raise", b"cancelled", b"broken", b"split"])
def test_an_application_that_breaks_answers_500_and_no_other_request_notices(server: Address, body: bytes) -> None:
    with client(server) as asking:
        asking.ask(b"soon", body, b"now")
        found = asking.answers(3)
        assert (found[1].status, found[1].headers, found[1].body) == (500, [], b"Internal Server Error")
        assert (found[0].status, found[2].status) == (200, 200)


@pytest.mark.parametrize("body", [b"large", b"headed"])
def test_an_answer_that_is_too_long_is_refused_and_delays_no_other(server: Address, body: bytes) -> None:
    with client(server) as asking:
        asking.ask(body, b"now")
        found = asking.answers(2)
        assert found[0].status == NO_ANSWER
        assert b"over 67108864 bytes, or its headers over 1048576" in found[0].body
        assert found[1].status == 200


def test_a_client_that_sends_a_frame_that_is_too_long_is_disconnected(server: Address) -> None:
    with client(server) as asking:
        asking.connection.sendall(START.pack(0, 0, 0, 2**32 - 1))
        assert asking.connection.recv(1) == b""
    assert whole(server, post("/now/invocations"))[0] == 200


def test_an_application_that_still_answers_notices_that_its_client_left(server: Address) -> None:
    before = whole(server, post("/now/invocations"))[2]["left"]
    with client(server) as asking:
        asking.ask(b"wait", b"wait", b"now")
        assert asking.answers(1)
    assert soon(lambda: whole(server, post("/now/invocations"))[2]["left"] == before + 2)


def test_frames_are_offered_on_only_one_path(server: Address) -> None:
    with closing(connected(server)) as connection:
        connection.sendall(upgrade("/other/invocations"))
        assert answer(connection)[0] == 200  # by HTTP, as if nothing had been asked for
        assert soon(lambda: way(connection) == "inline")  # gunicorn takes a moment to wait for the next one


def test_a_server_that_stops_answers_requests_that_wait_for_their_turn() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener) as process:
        with client(listener.getsockname()) as asking:
            asking.ask(*[b"busy"] * 50)
            found = asking.answers(1)
            process.terminate()
            found |= asking.answers(50 - len(found))
        assert {frame.status for frame in found.values()} == {200}
        assert process.wait(60.0) == 0


class Slow:
    """An application that answers at once, and takes 0.4 ms of its own clock for it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.asked: list[bytes] = []
        self.written: list[bytes] = []
        self.gone = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("it answers at once")

    def inline(self, scope: Scope) -> TakeInline:
        return self.take_inline

    def take_inline(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        self.now_s += 0.0004
        self.asked.append(body)
        tell(200, [], body)
        return True

    def connection(self) -> FramedRequests:
        client = framed_requests.Client(self.written.append, self.gone.set)
        return FramedRequests(self, {"type": "http"}, client, self.gone, logging.getLogger(), lambda: self.now_s)


def called(model: bytes, count: int) -> bytes:
    return b"".join(encoded(number, 0, lines([(TARGET, model)]), model) for number in range(count))


def test_a_model_that_many_call_holds_up_another_by_one_request_and_not_by_all() -> None:
    async def story() -> None:
        app = Slow()
        requests = app.connection()
        requests.read(called(b"hot", 20) + called(b"rare", 1))
        assert app.asked == [b"hot"] * 3  # of what the event loop may spend on them in one go
        assert len(app.written) == 1
        requests.read(called(b"rare", 1) + called(b"other", 1))  # while they wait
        await reached(lambda: not requests.unanswered)
        assert app.asked[3:9] == [b"hot", b"rare", b"other", b"hot", b"rare", b"hot"]
        assert len(app.asked) == 23
        assert len(list(NamingReader().read(b"".join(app.written)))) == 23
        assert len(app.written) == 8  # answers leave whenever others have the event loop

    asyncio.run(story())


def test_requests_of_a_client_that_has_left_are_not_begun() -> None:
    async def story() -> None:
        app = Slow()
        app.connection().read(called(b"hot", 20))
        app.gone.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert app.asked == [b"hot"] * 3

    asyncio.run(story())


def test_a_write_that_fails_in_one_turn_does_not_end_the_turns_after_it() -> None:
    async def story() -> None:
        app = Slow()
        failures = iter([ConnectionError("this piece does not leave")] * 2)

        def write(piece: bytes) -> None:
            for failure in failures:
                raise failure
            app.written.append(piece)

        odd = framed_requests.Client(write, app.gone.set)
        requests = FramedRequests(app, {"type": "http"}, odd, app.gone, logging.getLogger(), lambda: app.now_s)
        faults: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context["exception"]))
        with pytest.raises(ConnectionError):  # in the first turn, which the reader began
            requests.read(called(b"hot", 9))
        await reached(lambda: len(app.asked) == 9)
        assert [type(fault) for fault in faults] == [ConnectionError]  # in the second one
        assert len(app.asked) == 9
        assert len(list(NamingReader().read(b"".join(app.written)))) == 3

    asyncio.run(story())


def way(connection: socket.socket) -> str:
    connection.sendall(post("/now/invocations"))
    status, headers, _ = answer(connection)
    assert status == 200
    return headers["x-way"]


def test_a_terminated_server_answers_the_requests_that_it_has() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        process = stack.enter_context(serving(listener))
        asking = stack.enter_context(client(listener.getsockname()))
        asking.ask(b"later", b"now")
        assert list(asking.answers(1)) == [1]
        process.terminate()
        assert asking.answers(1)[0].status == 200
        assert process.wait(60.0) == 0


def test_a_connection_with_frames_is_not_closed_because_it_is_idle() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        stack.enter_context(serving(listener, keep_alive_s=1))
        connection = stack.enter_context(closing(connected(listener.getsockname())))
        connection.sendall(post("/now/invocations"))  # what sets the clock for idle connections
        assert answer(connection)[0] == 200
        asking = Client(connection)
        connection.settimeout(2.5)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        asking.ask(b"now")
        assert asking.answers(1)[0].status == 200
