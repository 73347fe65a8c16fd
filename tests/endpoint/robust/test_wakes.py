"""Many calls at once to a sleeping variant are one wake: every answer is right, and none is lost."""

import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.processes import descendants
from tests.helpers.waiting import soon

MODELS = {f"m{number:02}.tar": float(number) for number in range(20)}
TO_ZERO = {
    "InstanceType": "ml.m5.large",
    "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 4},
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    """One on which nothing else runs, so that every process is accounted for. Its whole zygote starts on a guess."""
    with LiveEndpoint(tmp_path_factory.mktemp("wakes"), "--warm-idle", "600", frameworks=True) as live:
        put(live.folder("crowd"), {f"models/{name}": constant(number) for name, number in MODELS.items()})
        yield live


def deploy(live: LiveEndpoint, *names: str) -> None:
    """Endpoints over all the models, that sleep after a second."""
    container = many("crowd/models", {"TORPOR_IDLE_SECONDS": "1"})
    for name in names:
        live.create(name, Variant(container, members=TO_ZERO))
    for name in names:
        assert live.settled(name)["EndpointStatus"] == "InService"


def at_once(live: LiveEndpoint, calls: list[tuple[str, str]]) -> list[float]:
    """The answers of each (endpoint, model), called once every connection is open."""
    address = ("127.0.0.1", int(live.url.rpartition(":")[2]))
    lines = [socket.create_connection(address, timeout=60.0) for _ in calls]
    try:
        for line, (endpoint, model) in zip(lines, calls, strict=True):
            head = f"POST /endpoints/{endpoint}/invocations HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\n"
            line.sendall(f"{head}x-amzn-sagemaker-target-model: {model}\r\ncontent-length: 1\r\n\r\n1".encode())
        return [number_on(line) for line in lines]
    finally:
        for line in lines:
            line.close()


def number_on(line: socket.socket) -> float:
    with HTTPResponse(line) as answer:
        answer.begin()
        body = answer.read()
        assert answer.status == 200, body
        return float(body.strip(b"[]\n"))


def test_two_hundred_calls_at_once_over_twenty_models_are_one_wake(own: LiveEndpoint) -> None:
    deploy(own, "crowd")
    assert endpoint_pages.asleep(own, "crowd")
    before = endpoint_pages.launches(own, "crowd")
    models = list(MODELS) * 10
    assert at_once(own, [("crowd", model) for model in models]) == [MODELS[model] for model in models]
    assert endpoint_pages.launches(own, "crowd") == before + 1


@pytest.mark.thorough
def test_ten_endpoints_that_sleep_are_woken_together(own: LiveEndpoint) -> None:
    names = [f"dawn-{number}" for number in range(10)]
    deploy(own, *names)
    assert endpoint_pages.asleep(own, *names)
    before = endpoint_pages.launches(own, *names)
    calls = list(zip(names, MODELS, strict=False))
    assert at_once(own, calls) == [MODELS[model] for _, model in calls]
    assert endpoint_pages.launches(own, *names) == before + 10


@pytest.mark.thorough
def test_at_zero_nothing_runs_but_the_endpoint_and_a_zygote(own: LiveEndpoint) -> None:
    deploy(own, "alone")
    assert at_once(own, [("alone", "m07.tar")]) == [7.0]
    assert soon(lambda: not endpoint_pages.forked(own) and not sockets(own), 60)
    assert soon(lambda: len(descendants(own.pid)) <= len(own.worker_pids()) + 1)


def sockets(live: LiveEndpoint) -> list[Path]:
    """Those of instances, in the folder for them."""
    return list((live.data_dir / "run").glob("i-*"))
