"""How many calls one warm request makes in the endpoint's process: the same on every machine, however busy."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection

import pytest

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.call_windows import Calls, CallWindows

CONNECTIONS = 32
ROUNDS = 4
"""So that what is done once for many requests falls into each window: the rows of metrics and ledger."""
ONE = Calls(126, 69)
"""What was counted, as are all of these. Raise one only with the reason in the changelog."""
TOGETHER = Calls(150, 77)
"""For each of 32 requests that are there at once: 142 / 73, and on a busy machine, where some answers come in pieces in
every window, 147.4 / 75.6."""
FACED = Calls(131, 74)
"""For a request of the Open Inference Protocol."""
CHANGING = Calls(180, 88)
"""For a request of a client that signs: no head is that of the request before."""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveEndpoint, CallWindows]]:
    windows = CallWindows(tmp_path_factory.mktemp("told"))
    with LiveEndpoint(tmp_path_factory.mktemp("counted"), environment=windows.variables) as live:
        put(live.folder("models"), {"a.tar": constant(1.0)})
        live.deploy("counted", Variant({"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://models/"}))
        [windows.pid] = live.worker_pids()
        yield live, windows


@pytest.fixture
def connections(counted: tuple[LiveEndpoint, CallWindows]) -> Iterator[list[HTTPConnection]]:
    """As many as are wanted at most, each with a request behind it."""
    host = counted[0].url.removeprefix("http://")
    with ExitStack() as opened:
        found = [opened.enter_context(closing(HTTPConnection(host))) for _ in range(CONNECTIONS)]
        for one in found:
            send(one)
            receive(one)
        yield found


def send(connection: HTTPConnection, **signed: str) -> None:
    headers = {"Content-Type": "text/csv", "X-Amzn-SageMaker-Target-Model": "a.tar", **signed}
    connection.request("POST", "/endpoints/counted/invocations", "0", headers)


def receive(connection: HTTPConnection) -> None:
    answer = connection.getresponse()
    assert (answer.status, answer.read() != b"") == (200, True)


def test_one_warm_request(counted: tuple[LiveEndpoint, CallWindows], connections: list[HTTPConnection]) -> None:
    def call() -> None:
        send(connections[0])
        receive(connections[0])

    counted[1].check(ONE, 1, call)


def test_one_of_another_protocol(counted: tuple[LiveEndpoint, CallWindows], connections: list[HTTPConnection]) -> None:
    tensor = b'{"inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [0]}]}'

    def call() -> None:
        connections[0].request("POST", "/v2/models/a.tar/infer", tensor, {"Content-Type": "application/json"})
        receive(connections[0])

    call()  # it makes the face
    counted[1].check(FACED, 1, call)


def test_one_whose_head_is_new(counted: tuple[LiveEndpoint, CallWindows], connections: list[HTTPConnection]) -> None:
    credential = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/sagemaker/aws4_request"
    numbers = iter(range(1_000_000))

    def call() -> None:
        signature = f"{credential}, SignedHeaders=host, Signature={next(numbers):064x}"
        send(connections[0], Authorization=signature)
        receive(connections[0])

    counted[1].check(CHANGING, 1, call)


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

    counted[1].check(TOGETHER, ROUNDS * CONNECTIONS, call)
