"""InvokeEndpointWithResponseStream through boto3: when parts come, how a stream ends, and what is refused."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EventStreamError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, put, script
from tests.endpoint.services.helpers.runtime_answers import code_and_status, refusal
from tests.helpers.waiting import soon

SOURCE = """
import json, os, pathlib, time
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept, context):
    asked = json.loads(str(body))
    context.set_response_header(0, "X-Amzn-SageMaker-Custom-Attributes", "from=" + asked["do"])
    return globals()[asked["do"]](pathlib.Path(asked.get("at", "/"))), accept
def gated(gate):
    yield "first"
    gate.open().close()
    yield "second"
def ready(_):
    raise ValueError("not even one")
    yield ""
def broken(_):
    yield "first"
    raise ValueError("no more")
def hanging(_):
    yield "first"
    time.sleep(600)
def dying(_):
    yield "first"
    time.sleep(0.1)
    os.kill(os.getpid(), 9)
def endless(closed):
    try:
        while True:
            yield b"x" * 1000
            time.sleep(0.01)
    finally:
        closed.touch()
def flood(made):
    for number in range(1024):
        yield b"x" * (1 << 20)
        made.write_text(str(number))
def whole(_):
    return "all at once"
"""
SETTINGS = {"TORPOR_INVOCATION_TIMEOUT_SECONDS": "2"}

Stream = Callable[..., Any]


@pytest.fixture(scope="module")
def streaming(live: LiveEndpoint) -> str:
    put(live.folder("streaming"), {"m.tar.gz": script(SOURCE)})
    return live.deploy("Streaming", Variant(one("streaming/m.tar.gz", SETTINGS)))


@pytest.fixture
def call(live: LiveEndpoint) -> Iterator[Stream]:
    """Calls an endpoint, or a model of it. boto3 has no TargetModel for streams: an event handler adds its header."""
    with ExitStack() as answers:

        def called(
            endpoint: str, body: bytes, model: str = "", kinds: tuple[str, str] = ("application/json", "text/plain")
        ) -> Any:
            client = live.client("sagemaker-runtime")
            answers.callback(client.close)

            def add(params: Any, **_: Any) -> None:
                params["headers"]["X-Amzn-SageMaker-Target-Model"] = model

            if model:
                client.meta.events.register("before-call.sagemaker-runtime.InvokeEndpointWithResponseStream", add)
            answer = client.invoke_endpoint_with_response_stream(
                EndpointName=endpoint, Body=body, ContentType=kinds[0], Accept=kinds[1]
            )
            answers.callback(answer["Body"].close)
            return answer

        yield called


@pytest.fixture
def stream(call: Stream, streaming: str) -> Stream:
    """Calls the script of one model."""
    return lambda do, at=None: call(streaming, json.dumps({"do": do, "at": str(at)}).encode())


def parts(answer: Any) -> list[bytes]:
    return [event["PayloadPart"]["Bytes"] for event in answer["Body"]]


def test_the_first_part_comes_before_the_second_is_made(stream: Stream, tmp_path: Path) -> None:
    os.mkfifo(gate := tmp_path / "gate")
    answer = stream("gated", gate)
    assert (answer["ContentType"], answer["InvokedProductionVariant"]) == ("text/plain", "AllTraffic")
    assert answer["CustomAttributes"] == "from=gated"
    events = iter(answer["Body"])
    assert next(events) == {"PayloadPart": {"Bytes": b"first"}}
    gate.open("w").close()
    assert list(events) == [{"PayloadPart": {"Bytes": b"second"}}]


def test_a_whole_answer_is_one_part(stream: Stream) -> None:
    assert parts(stream("whole")) == [b"all at once"]


def test_an_error_before_the_first_part_is_an_ordinary_one(stream: Stream) -> None:
    response = refusal(lambda: stream("ready"))
    assert code_and_status(response) == ("ModelError", 424)
    assert response["OriginalStatusCode"] == 500
    assert "not even one" in response["OriginalMessage"]


@pytest.mark.parametrize(
    ("do", "message"),
    [
        ("broken", "no more"),
        ("dying", "the model's process ended"),
        ("hanging", "Your model primary did not complete sending the inference response in the allotted time."),
    ],
)
def test_an_error_after_the_first_part_ends_the_stream(stream: Stream, do: str, message: str) -> None:
    events = iter(stream(do)["Body"])
    assert next(events)["PayloadPart"]["Bytes"] == b"first"
    with pytest.raises(EventStreamError, match=message) as error:
        next(events)
    assert error.value.response["Error"]["Code"] == "ModelStreamError"


def test_a_caller_that_leaves_ends_the_generator(stream: Stream, tmp_path: Path) -> None:
    answer = stream("endless", closed := tmp_path / "closed")
    next(iter(answer["Body"]))
    answer["Body"].close()
    assert soon(closed.exists)


def test_a_caller_that_reads_nothing_holds_up_its_model(stream: Stream, tmp_path: Path) -> None:
    (made := tmp_path / "made").touch()
    answer = stream("flood", made)
    next(iter(answer["Body"]))
    before = -1
    while (now := int(made.read_text() or 0)) != before:
        before = now
        soon(lambda now=now: int(made.read_text() or 0) != now, within_s=0.5)  # type: ignore[misc]  # a default
    answer["Body"].close()
    assert before < 64  # MiB, of 1,024


def test_two_streams_of_two_models_go_on_at_once_and_a_target_model_is_a_header(
    live: LiveEndpoint, call: Stream, tmp_path: Path
) -> None:
    put(live.folder("streams"), {f"{name}.tar.gz": script(SOURCE) for name in "ab"} | {"tree.json": booster()})
    live.deploy("Streams", Variant(many("streams")))
    answers = []
    for name in "ab":
        os.mkfifo(gate := tmp_path / name)
        body = json.dumps({"do": "gated", "at": str(gate)}).encode()
        events = iter(call("Streams", body, f"{name}.tar.gz")["Body"])
        assert next(events)["PayloadPart"]["Bytes"] == b"first"
        answers.append((gate, events))
    for gate, events in answers:
        gate.open("w").close()
        assert next(events)["PayloadPart"]["Bytes"] == b"second"
    assert len(parts(call("Streams", ROW, "tree.json", ("text/csv", "text/csv")))) == 1
    assert code_and_status(refusal(lambda: call("Streams", b"{}"))) == ("ValidationError", 400)


def test_a_stream_wakes_an_endpoint_that_sleeps(live: LiveEndpoint, call: Stream) -> None:
    put(live.folder("asleep"), {"m.tar.gz": script(SOURCE)})
    serverless = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 2}}
    live.deploy("AsleepStream", Variant(one("asleep/m.tar.gz"), members=serverless))
    body = json.dumps({"do": "whole"}).encode()
    answer = call("AsleepStream", body)
    assert parts(answer) == [b"all at once"]


def test_an_update_cuts_no_stream(live: LiveEndpoint, call: Stream, tmp_path: Path) -> None:
    os.mkfifo(gate := tmp_path / "gate")
    put(live.folder("updated"), {"m.tar.gz": script(SOURCE)})
    live.deploy("UpdatedStream", Variant(one("updated/m.tar.gz")))
    body = json.dumps({"do": "gated", "at": str(gate)}).encode()
    events = iter(call("UpdatedStream", body)["Body"])
    next(events)
    live.sagemaker.create_model(ModelName="updated-2", PrimaryContainer=one("updated/m.tar.gz", {"A": "b"}))
    production = [{"VariantName": "AllTraffic", "ModelName": "updated-2", "InitialInstanceCount": 1}]
    production[0]["InstanceType"] = "ml.m5.large"
    live.sagemaker.create_endpoint_config(EndpointConfigName="updated-2", ProductionVariants=production)
    live.sagemaker.update_endpoint(EndpointName="UpdatedStream", EndpointConfigName="updated-2")
    gate.open("w").close()
    assert next(events)["PayloadPart"]["Bytes"] == b"second"
    assert live.settled("UpdatedStream")["EndpointStatus"] == "InService"


def test_the_time_to_the_first_part_is_a_metric(live: LiveEndpoint, stream: Stream) -> None:
    with pytest.raises(EventStreamError):
        parts(stream("broken"))
    names = {"FirstChunkLatency", "FirstChunkModelLatency", "FirstChunkOverheadLatency", "MidStreamErrors"}

    def listed() -> set[str]:
        found = live.cloudwatch.list_metrics(Dimensions=[{"Name": "EndpointName", "Value": "Streaming"}])
        return {metric["MetricName"] for metric in found["Metrics"]}

    assert soon(lambda: names <= listed())
