"""How many Python calls one warm request makes in the endpoint's process: the same on every machine, however busy."""

import os
import signal
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.endpoint.helpers import call_counter
from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.waiting import until

WINDOWS, REQUESTS = 5, 20
BOUND = 168
"""A little more than the 163 that were counted. Raise it only with the reason in the commit."""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveEndpoint, Path]]:
    told = tmp_path_factory.mktemp("told") / "calls"
    told.touch()
    path = os.pathsep.join(filter(None, [str(Path(call_counter.__file__).parent), os.environ.get("PYTHONPATH")]))
    variables = {"PYTHONPATH": path, "CALLS_COUNTED": str(told)}
    with LiveEndpoint(tmp_path_factory.mktemp("counted"), environment=variables) as live:
        put(live.folder("models"), {"a.tar": constant(1.0)})
        live.deploy("counted", Variant({"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://models/"}))
        yield live, told


def calls_of(live: LiveEndpoint, told: Path, requests: int) -> int:
    """The calls of so many requests, one after another on one connection."""
    [worker] = live.worker_pids()
    host = live.url.removeprefix("http://")
    connection = HTTPConnection(host)
    try:
        _send(connection)  # it connects
        before = len(told.read_text().splitlines())
        os.kill(worker, signal.SIGRTMIN)
        until(lambda: len(told.read_text().splitlines()) == before + 1)
        for _ in range(requests):
            _send(connection)
        os.kill(worker, signal.SIGRTMIN)
        until(lambda: len(told.read_text().splitlines()) == before + 2)
        return int(told.read_text().splitlines()[-1])
    finally:
        connection.close()


def _send(connection: HTTPConnection) -> None:
    headers = {"Content-Type": "text/csv", "X-Amzn-SageMaker-Target-Model": "a.tar"}
    connection.request("POST", "/endpoints/counted/invocations", "0", headers)
    answer = connection.getresponse()
    assert (answer.status, answer.read() != b"") == (200, True)


def test_a_warm_request_makes_no_more_calls_than_its_bound(counted: tuple[LiveEndpoint, Path]) -> None:
    """The least of several windows: chores of the endpoint, such as a look at its instances, fall into some of them."""
    live, told = counted
    least = min(calls_of(live, told, REQUESTS) for _ in range(WINDOWS)) / REQUESTS
    print(f"{least:g} calls a warm request")
    assert least <= BOUND
