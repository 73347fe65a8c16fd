"""Stateful sessions on a variant with two instances: a session's requests reach the instance that began it."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, one
from tests.endpoint.helpers.model_artifacts import put, script

SOURCE = """
import os
def model_fn(model_dir):
    return set()
def transform_fn(sessions, body, content_type, accept, context):
    session = context.get_request_header(0, "X-Amzn-SageMaker-Session-Id")
    if session == "NEW_SESSION":
        sessions.add(str(body))
        context.set_response_header(0, "X-Amzn-SageMaker-New-Session-Id", f"{body}; Expires=2030-01-01T00:00:00Z")
    elif body == "close":
        sessions.remove(session)
        context.set_response_header(0, "X-Amzn-SageMaker-Closed-Session-Id", session)
    elif body:
        return open(str(body)).read(), "text/plain"
    return f"{os.getpid()} {session in sessions}", "text/plain"
"""


@pytest.fixture(scope="module")
def stateful(live: LiveEndpoint) -> str:
    put(live.folder("stateful"), {"model.tar.gz": script(SOURCE)})
    members = {"InstanceType": "ml.m5.large", "InitialInstanceCount": 2}
    return live.deploy("Stateful", Variant(one("stateful/model.tar.gz"), members=members))


@pytest.fixture
def busy_first(live: LiveEndpoint, stateful: str, tmp_path: Path) -> Iterator[Any]:
    """A request keeps the instance busy that all requests reach while none is busy. Call it to let the request go."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        held = pool.submit(live.invoke, stateful, str(pipe).encode())
        writer = pipe.open("w")  # opens when the script reads

        def free() -> None:
            writer.close()
            held.result()

        yield free
        free()


def test_a_session_stays_on_the_instance_that_began_it(live: LiveEndpoint, stateful: str, busy_first: Any) -> None:
    live.invoke(stateful, b"s-1", SessionId="NEW_SESSION")
    busy_first()
    elsewhere, told = live.invoke(stateful, b"")["Body"].split()
    assert told == b"False"
    in_session = [live.invoke(stateful, b"", SessionId="s-1")["Body"].split() for _ in range(3)]
    assert {told for _, told in in_session} == {b"True"}
    assert elsewhere not in {process for process, _ in in_session}
    assert live.invoke(stateful, b"close", SessionId="s-1")["ClosedSessionId"] == "s-1"
    assert live.invoke(stateful, b"", SessionId="s-1")["Body"].split() == [elsewhere, b"False"]
