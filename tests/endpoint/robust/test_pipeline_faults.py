"""A container of a pipeline is killed, or the pipeline is updated or wakes, in mid-request or in mid-stream."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EventStreamError

from tests.endpoint.helpers.endpoint_pages import forked
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import put, script
from tests.helpers.waiting import until

FIRST = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    return body
"""
SECOND = """
import pathlib

def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    places = body.split()
    if len(places) == 1:
        return body
    return parts(*map(pathlib.Path, places))

def parts(there, gate):
    there.touch()
    yield "first"
    gate.open().close()  # blocks until somebody opens it to write
    yield "second"
"""
WAITING = """
import pathlib

def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    places = body if isinstance(body, str) else body.decode()
    there, gate = map(pathlib.Path, places.split())
    there.touch()
    gate.open().close()
    return "done"
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("pipelines")) as endpoint:
        objects = {"many/first.tar.gz": FIRST, "second.tar.gz": SECOND, "waiting.tar.gz": WAITING}
        put(endpoint.folder("p"), {key: script(source) for key, source in objects.items()})
        yield endpoint


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A file that a script makes when it is at work, and a pipe that it then waits for."""
    os.mkfifo(gate := tmp_path / "gate")
    return tmp_path / "there", gate


@pytest.fixture
def deployed(live: LiveEndpoint) -> Callable[[str, str], int]:
    """Deploys a pipeline whose second container has this model, and returns the process of the second container."""

    def deploy(name: str, model: str, **members: Any) -> int:
        others = set(forked(live))
        containers = (many("p/many"), one(f"p/{model}.tar.gz"))
        live.deploy(name, Variant(containers, **members))
        return sorted(set(forked(live)) - others)[1]  # the processes of scripts are younger

    return deploy


@pytest.fixture
def streamed(live: LiveEndpoint) -> Iterator[Callable[..., Iterator[Any]]]:
    """The events of a stream. boto3 has no TargetModel for streams: an event handler adds its header."""
    with ExitStack() as answers:

        def add(params: Any, **_: object) -> None:
            params["headers"]["X-Amzn-SageMaker-Target-Model"] = "first.tar.gz"

        def called(endpoint: str, *places: Path) -> Iterator[Any]:
            runtime = live.client("sagemaker-runtime")
            answers.callback(runtime.close)
            runtime.meta.events.register("before-call.sagemaker-runtime.InvokeEndpointWithResponseStream", add)
            body = " ".join(map(str, places))
            answer = runtime.invoke_endpoint_with_response_stream(
                EndpointName=endpoint, Body=body, ContentType="text/plain"
            )
            answers.callback(answer["Body"].close)
            return iter(answer["Body"])

        yield called


def hits(live: LiveEndpoint, endpoint: str) -> list[int]:
    """Of the model in the first container, by instance."""
    instances = live.shown(endpoint)[0]["instances"]
    return [model["hits"] for instance in instances for model in instance["containers"][0].get("models", ())]


def test_a_container_is_killed_in_mid_request(
    live: LiveEndpoint, deployed: Callable[[str, str], int], places: tuple[Path, Path]
) -> None:
    second = deployed("Request", "waiting")
    with ThreadPoolExecutor(1) as caller:
        body = " ".join(map(str, places)).encode()
        call = caller.submit(live.invoke, "Request", body, "text/plain", TargetModel="first.tar.gz")
        until(places[0].exists)
        before = hits(live, "Request")
        os.kill(second, signal.SIGKILL)
        with pytest.raises(ClientError, match="from container-2 with message"):
            call.result(60.0)
        again = caller.submit(live.invoke, "Request", body, "text/plain", TargetModel="first.tar.gz")
        # The script of the killed container may still wait at the gate, and be the first to go through.
        until(lambda: again.done() or (opened(places[1]) and again.done()), within_s=60)
        assert again.result()["Body"] == b"done"
    assert hits(live, "Request")[0] > before[0], "the first container has kept its model"


def update(live: LiveEndpoint, name: str, containers: Sequence[dict[str, Any]]) -> None:
    """Replaces the endpoint's model by one of these containers."""
    new = f"{name}-2"
    live.sagemaker.create_model(ModelName=new, Containers=containers)
    variant = {"VariantName": "AllTraffic", "ModelName": new, "InitialInstanceCount": 1, "InstanceType": "ml.m5.large"}
    live.sagemaker.create_endpoint_config(EndpointConfigName=new, ProductionVariants=[variant])
    live.sagemaker.update_endpoint(EndpointName=name, EndpointConfigName=new)


def opened(gate: Path) -> bool:
    """Whether a script waits for the pipe; then it waits no longer."""
    try:
        os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_a_container_is_killed_in_mid_stream(
    live: LiveEndpoint,
    deployed: Callable[[str, str], int],
    streamed: Callable[..., Iterator[Any]],
    places: tuple[Path, Path],
) -> None:
    second = deployed("Stream", "second")
    events = streamed("Stream", *places)
    assert next(events)["PayloadPart"]["Bytes"] == b"first"
    os.kill(second, signal.SIGKILL)
    with pytest.raises(EventStreamError, match="ModelStreamError"):
        next(events)
    answer = live.invoke("Stream", b"x", "text/plain", TargetModel="first.tar.gz")
    assert answer["Body"] == b"x"


def test_an_update_cuts_no_stream_of_a_pipeline(
    live: LiveEndpoint,
    deployed: Callable[[str, str], int],
    streamed: Callable[..., Iterator[Any]],
    places: tuple[Path, Path],
) -> None:
    deployed("Updated", "second")
    events = streamed("Updated", *places)
    assert next(events)["PayloadPart"]["Bytes"] == b"first"
    update(live, "Updated", [many("p/many"), one("p/second.tar.gz", {"A": "b"})])
    assert live.settled("Updated")["EndpointStatus"] == "InService"
    until(lambda: opened(places[1]))
    assert next(events)["PayloadPart"]["Bytes"] == b"second"
    assert list(events) == []


@pytest.mark.thorough
def test_an_update_loses_no_request_between_two_containers(live: LiveEndpoint, places: tuple[Path, Path]) -> None:
    containers = [one("p/waiting.tar.gz"), one("p/second.tar.gz")]
    live.deploy("Between", Variant(containers))
    body = " ".join(map(str, places)).encode()
    with ThreadPoolExecutor(1) as caller:
        call = caller.submit(live.invoke, "Between", body, "text/plain")
        until(places[0].exists)
        update(live, "Between", [one("p/waiting.tar.gz", {"A": "b"}), containers[1]])
        assert live.settled("Between")["EndpointStatus"] == "InService"
        until(lambda: opened(places[1]))
        assert call.result(30.0)["Body"] == b"done"


@pytest.mark.thorough
def test_a_stream_wakes_a_pipeline(
    live: LiveEndpoint,
    streamed: Callable[..., Iterator[Any]],
    places: tuple[Path, Path],
) -> None:
    serverless = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 2}}
    live.deploy("Asleep", Variant((many("p/many"), one("p/second.tar.gz")), members=serverless))
    events = streamed("Asleep", *places)
    assert next(events)["PayloadPart"]["Bytes"] == b"first"
    until(lambda: opened(places[1]))
    assert next(events)["PayloadPart"]["Bytes"] == b"second"
