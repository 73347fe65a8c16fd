"""The client that plays SageMaker: whole answers with their times, and errors that say what is missing."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.helpers.ports import free_port
from torpor.conformance.container_client import ContainerClient, NoContainerAnswer

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: Text/CSV; charset=utf-8\r\n"


@contextmanager
def answering(*answers: bytes, hold_s: float = 0.0) -> Iterator[ContainerClient]:
    """A server that sends these bytes, one after each request of one connection, then hangs up."""
    done = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            for answer in answers:
                connection.recv(65536)
                connection.sendall(answer)
            done.wait(hold_s)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        yield ContainerClient("127.0.0.1", listener.getsockname()[1])
        done.set()
        serving.join()


def test_an_answer_has_its_parts() -> None:
    with answering(HEAD + b"Content-Length: 4\r\n\r\n1,2\n") as client:
        answer = client.send("POST", "/invocations", b"x", within_s=60.0)
    assert (answer.request, answer.status, answer.body) == ("POST /invocations", 200, b"1,2\n")
    assert (answer.content_type, answer.shown) == ("text/csv", "200 text/csv 1,2")
    assert 0 < answer.first_s <= answer.took_s < 60.0


def test_a_redirect_is_an_answer_like_any_other() -> None:
    with answering(b"HTTP/1.1 302 Found\r\nLocation: /health\r\nContent-Length: 0\r\n\r\n") as client:
        assert client.send("GET", "/ping", within_s=60.0).status == 302


def test_a_connection_takes_several_requests() -> None:
    one = HEAD + b"Content-Length: 1\r\n\r\n1"
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n22\r\n0\r\n\r\n"
    with answering(one, chunked, one) as client, client.connected(60.0) as connection:
        bodies = [connection.send("GET", "/", within_s=60.0).body for _ in range(3)]
    assert bodies == [b"1", b"22", b"1"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "the container closed the connection without an answer"),
        (b"what is HTTP?\r\n\r\n", "BadStatusLine"),
        (HEAD + b"Content-Length: 9\r\n\r\n1,2\n", "5 bytes before its Content-Length"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n22\r\n", "IncompleteRead"),
    ],
    ids=["none", "no HTTP", "short", "no last chunk"],
)
def test_an_answer_that_is_not_whole_is_none(answer: bytes, reason: str) -> None:
    with answering(answer) as client, pytest.raises(NoContainerAnswer, match=reason):
        client.send("GET", "/ping", within_s=60.0)


@pytest.mark.parametrize("answer", [b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\n1"], ids=["none", "head", "half"])
def test_an_answer_that_is_not_whole_in_time_is_none(answer: bytes) -> None:
    with (
        answering(answer, hold_s=5.0) as client,
        pytest.raises(NoContainerAnswer, match=r"no whole answer within 0\.1"),
    ):
        client.send("GET", "/ping", within_s=0.1)


def test_where_nothing_listens_the_address_is_named() -> None:
    port = free_port()
    with pytest.raises(NoContainerAnswer, match=f"127.0.0.1:{port} accepts no connection"):
        ContainerClient("127.0.0.1", port).send("GET", "/ping", within_s=60.0)
