"""A guarded port that also takes a gateway's requests: each needs a ticket, and is an invocation whatever its path."""

import asyncio
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.tickets import ARTIFACT, INVOCATION, LASTS_S, ticket_for
from torpor_container.transport.upstream import Upstream

SECRET = bytes(range(32))
SERVER = [sys.executable, "-m", "tests.container.helpers.echo_server"]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number: int = listener.getsockname()[1]
        options = json.dumps({"secret": SECRET.hex(), "tickets": True, "shares_artifacts": True})
        command = [*SERVER, str(listener.fileno()), options]
        with subprocess.Popen(command, pass_fds=[listener.fileno()], stderr=subprocess.PIPE) as server:
            yield number
            server.terminate()


def asked(port: int, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, b"1,2", headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def ticket(
    model: str = "", secret: bytes = SECRET, now_s: float | None = None, purpose: bytes = INVOCATION
) -> dict[str, str]:
    made = ticket_for(secret, model.encode(), time.time() if now_s is None else now_s, purpose)
    named = {"X-Amzn-SageMaker-Target-Model": model} if model else {}
    return {"X-Torpor-Ticket": made.decode(), **named}


def test_a_request_with_a_ticket_is_an_invocation(port: int) -> None:
    status, body = asked(port, "POST", "/endpoints/shop/invocations", ticket("a"))
    said = json.loads(body)
    assert (status, said["path"], said["raw"], said["body"]) == (200, "/invocations", "/invocations", "1,2")
    names = {name for name, _ in said["headers"]}
    assert "x-amzn-sagemaker-target-model" in names
    assert "x-torpor-ticket" not in names


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {}),
        ("GET", ticket("a")),
        ("DELETE", ticket("a")),
        ("POST", ticket("a", secret=bytes(32))),
        ("POST", ticket("a", now_s=time.time() - LASTS_S - 60)),
        ("POST", ticket("a") | {"X-Amzn-SageMaker-Target-Model": "b"}),
    ],
)
def test_anything_else_is_refused(port: int, method: str, headers: dict[str, str]) -> None:
    status, body = asked(port, method, "/models/a", headers)
    assert (status, b"ticket" in body) == (403, True)


def test_a_neighbour_s_ticket_is_for_one_model_s_artifact_alone(port: int) -> None:
    status, body = asked(port, "GET", "/_torpor/artifact", ticket("a", purpose=ARTIFACT))
    assert (status, json.loads(body)["path"]) == (200, "/_torpor/artifact")
    for method, path, headers in (
        ("GET", "/_torpor/artifact", ticket("a")),
        ("GET", "/_torpor/artifact", ticket("a", secret=bytes(32), purpose=ARTIFACT)),
        ("GET", "/_torpor/artifact", ticket("a", purpose=ARTIFACT) | {"X-Amzn-SageMaker-Target-Model": "b"}),
        ("GET", "/_torpor/state", ticket("a", purpose=ARTIFACT)),
        ("POST", "/endpoints/shop/invocations", ticket("a", purpose=ARTIFACT)),
    ):
        assert asked(port, method, path, headers)[0] == 403


def test_a_gateway_names_no_neighbours(port: int) -> None:
    _, body = asked(port, "POST", "/endpoints/shop/invocations", ticket("a") | {"X-Torpor-Neighbours": "[]"})
    assert "x-torpor-neighbours" not in {name for name, _ in json.loads(body)["headers"]}


def test_routers_greet_at_the_same_port(port: int) -> None:
    async def body() -> bytes:
        upstream = Upstream(GuardedAddress("127.0.0.1", port, SECRET))
        try:
            return (await upstream.send("POST", "/invocations", (), [b"3"], 60.0)).body
        finally:
            upstream.close()

    assert json.loads(asyncio.run(body()))["body"] == "3"
