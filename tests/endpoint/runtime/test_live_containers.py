"""Several containers behind one endpoint, through boto3: an inference pipeline (Serial), and direct invocation."""

import os
import signal
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.endpoint_pages import forked, page
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, NotInService, Variant, many, one
from tests.endpoint.helpers.model_artifacts import put, script
from tests.helpers.waiting import until

MIB = 1024 * 1024
TAGGED = """
import os, time

def model_fn(folder):
    return {name!r}

def transform_fn(model, body, content_type, accept, context):
    text = body if isinstance(body, str) else body.decode()
    if text.startswith("fail at " + model):
        raise ValueError(model + " fails")
    if text.startswith("die at " + model):
        os._exit(7)
    attributes = context.get_request_header(0, "X-Amzn-SageMaker-Custom-Attributes")
    if attributes:
        context.set_response_header(0, "X-Amzn-SageMaker-Custom-Attributes", attributes + "," + model)
    return text + " " + model + "(" + content_type + ", " + str(accept) + ")", "text/x-" + model
"""


def tagged(name: str) -> bytes:
    """A model that adds its name and the content type that it got to the body. It fails for a body that says so."""
    return script(TAGGED.format(name=name))


@pytest.fixture(scope="module")
def bucket(live: LiveEndpoint) -> Path:
    folder = live.folder("containers")
    put(folder, {f"{name}.tar.gz": tagged(name) for name in ("first", "second", "third")})
    put(folder, {"echo.tar.gz": script(ECHO)})
    put(folder, {f"many/{name}.tar.gz": tagged(name) for name in ("left", "right")})
    return folder


def hosted(key: str, hostname: str, **members: Any) -> dict[str, Any]:
    return one(f"containers/{key}.tar.gz", ContainerHostname=hostname, **members)


@pytest.fixture(scope="module")
def direct(live: LiveEndpoint, bucket: Path) -> str:
    containers = (hosted("first", "one"), hosted("second", "two"))
    return live.deploy("Direct", Variant(containers, mode="Direct"))


@pytest.fixture(scope="module")
def pipeline(live: LiveEndpoint, bucket: Path) -> str:
    containers = (one("containers/first.tar.gz"), many("containers/many"), one("containers/third.tar.gz"))
    return live.deploy("Pipeline", Variant(containers))


ECHO = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    return body
"""

PARTS = """
def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    for _ in range(3):
        yield body
"""


def timing(answer: Any) -> bytes:
    return str(answer["ResponseMetadata"]["HTTPHeaders"]["server-timing"]).encode()


def statistic(live: LiveEndpoint, metric: str, name: str, **dimensions: str) -> float:
    """A statistic of the last hour."""
    now = datetime.now(UTC)
    found = live.cloudwatch.get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=metric,
        Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(minutes=1),
        Period=7200,
        Statistics=[name],
    )["Datapoints"]
    return float(sum(point[name] for point in found))


def refusal(live: LiveEndpoint, endpoint: str, **members: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        live.invoke(endpoint, members.pop("body", b"x"), **members)
    return refused.value.response["Error"]["Code"], refused.value.response["Error"]["Message"]


def test_a_direct_request_goes_to_the_container_that_it_names(live: LiveEndpoint, direct: str) -> None:
    for host, model in (("one", "first"), ("two", "second"), ("one", "first")):
        answer = live.invoke(direct, b"x", TargetContainerHostname=host)
        assert answer["Body"] == f"x {model}(text/csv, application/json)".encode()
        assert answer["ContentType"] == f"text/x-{model}"


def test_each_mistake_with_a_container_s_hostname_has_its_error(live: LiveEndpoint, direct: str, pipeline: str) -> None:
    assert refusal(live, direct) == (
        "ValidationError",
        "Endpoint Direct needs TargetContainerHostname, one of one, two.",
    )
    assert refusal(live, direct, TargetContainerHostname="three") == (
        "ValidationError",
        "Endpoint Direct has no container three: TargetContainerHostname must be one of one, two.",
    )
    assert refusal(live, pipeline, TargetModel="left.tar.gz", TargetContainerHostname="one") == (
        "ValidationError",
        "Endpoint Pipeline takes no TargetContainerHostname: its requests pass all containers.",
    )


def test_in_a_pipeline_each_answer_is_the_next_container_s_request(live: LiveEndpoint, pipeline: str) -> None:
    """The content type and the custom attributes of each answer are the next request's; the caller's Accept is for the
    last container."""
    for model in ("left", "right"):
        members = {"TargetModel": f"{model}.tar.gz", "Accept": "text/plain", "CustomAttributes": "a"}
        answer = live.invoke(pipeline, b"x", **members)
        passed = f"x first(text/csv, application/json) {model}(text/x-first, application/json)"
        assert answer["Body"] == f"{passed} third(text/x-{model}, text/plain)".encode()
        assert (answer["ContentType"], answer["CustomAttributes"]) == ("text/x-third", f"a,first,{model},third")


def test_the_target_model_of_a_pipeline_is_needed_and_is_its_multi_model_container_s(
    live: LiveEndpoint, pipeline: str, direct: str
) -> None:
    assert refusal(live, pipeline)[1].count("is missing a target model header")
    assert "support target model header" in refusal(live, direct, TargetContainerHostname="one", TargetModel="m")[1]
    assert "key: many/none.tar.gz" in refusal(live, pipeline, TargetModel="none.tar.gz")[1]


@pytest.mark.parametrize(("model", "name"), [("first", "container-1"), ("third", "container-3")])
def test_an_error_names_the_container_that_failed(live: LiveEndpoint, bucket: Path, model: str, name: str) -> None:
    containers = [one(f"containers/{model}.tar.gz")] if model == "first" else [one("containers/echo.tar.gz")] * 2
    endpoint = live.deploy(f"Failing{model}", Variant([*containers, one("containers/third.tar.gz")]))
    code, message = refusal(live, endpoint, body=f"fail at {model}".encode())
    assert code == "ModelError"
    assert f'Received server error (500) from {name} with message "{model} fails' in message


def test_a_container_that_dies_is_replaced_and_the_others_keep_their_models(live: LiveEndpoint, bucket: Path) -> None:
    containers = [many("containers/many", ContainerHostname="models"), hosted("third", "last")]
    others = set(forked(live))
    endpoint = live.deploy("Mortal", Variant(containers))
    second = sorted(set(forked(live)) - others)[1]  # the processes of scripts are younger
    live.invoke(endpoint, b"x", TargetModel="left.tar.gz")
    [instance] = live.shown(endpoint)[0]["instances"]
    os.kill(second, signal.SIGKILL)
    with suppress(ClientError):  # what reaches a container that has just died is not sent again
        live.invoke(endpoint, b"x", TargetModel="left.tar.gz")
    answers = [live.invoke(endpoint, b"x", TargetModel="left.tar.gz") for _ in range(2)]
    assert {answer["Body"] for answer in answers} == {
        b"x left(text/csv, application/json) third(text/x-left, application/json)"
    }
    assert all(b"wake" not in timing(answer) for answer in answers)
    [again] = live.shown(endpoint)[0]["instances"]
    assert again["id"] == instance["id"]
    assert second not in forked(live)
    [left] = again["containers"][0]["models"]
    assert left["name"] == "left.tar.gz"
    assert left["hits"] >= 2  # the same copy as before


HOLDS = """
held = []

def model_fn(folder):
    return b"x" * ({mib} << 20)

def transform_fn(model, body, content_type, accept):
    text = body if isinstance(body, str) else body.decode()
    if text == "grow" and not held:
        held.append(b"x" * ({grows_mib} << 20))
    return text, "text/csv"
"""


def budgets(live: LiveEndpoint, endpoint: str) -> list[int]:
    """The budget of each container, in MiB. Together they are within the instance, and so is what is used."""
    [instance] = live.shown(endpoint)[0]["instances"]
    containers = instance["containers"]
    assert sum(container["budget_bytes"] for container in containers) <= 1024 * MIB
    assert sum(container["used_bytes"] for container in containers) <= 1024 * MIB
    return [container["budget_bytes"] // MIB for container in containers]


@pytest.mark.thorough
def test_containers_share_the_memory_of_their_instance(live: LiveEndpoint, bucket: Path) -> None:
    """The last container has 256 MiB of 1 GiB as its own value; the others have 384 MiB each at first."""
    names = [f"held/{n}.tar.gz" for n in range(5)]
    put(bucket, {name: script(HOLDS.format(mib=80, grows_mib=0)) for name in names})
    put(bucket, {"small.tar.gz": script(HOLDS.format(mib=1, grows_mib=150))})
    own = one("containers/echo.tar.gz", {"TORPOR_MEMORY_MIB": "256"})
    containers = (one("containers/small.tar.gz"), many("containers/held"), own)
    serverless = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 5}}
    endpoint = live.deploy("Sharing", Variant(containers, members=serverless))

    def all_answer() -> bool:
        for name in names:
            live.invoke(endpoint, b"x", TargetModel=name.removeprefix("held/"))
        [instance] = live.shown(endpoint)[0]["instances"]
        return len(instance["containers"][1]["models"]) == len(names)

    assert budgets(live, endpoint) == [384, 384, 256]
    until(all_answer)
    small, models, fixed = budgets(live, endpoint)
    assert small < 384 < models
    assert fixed == 256
    live.invoke(endpoint, b"grow", TargetModel="0.tar.gz")
    until(lambda: budgets(live, endpoint)[0] > 350)
    assert budgets(live, endpoint)[1] <= 768 - 350
    [instance] = live.shown(endpoint)[0]["instances"]
    assert len(instance["containers"][1]["models"]) < len(names)


def test_metrics_logs_and_the_ledger_name_each_container(live: LiveEndpoint, bucket: Path) -> None:
    containers = [hosted("first", "one"), hosted("third", "two")]
    endpoint = live.deploy("Told", Variant(containers))
    for _ in range(3):
        live.invoke(endpoint, b"x")
    variant = {"EndpointName": endpoint, "VariantName": "AllTraffic"}
    until(lambda: statistic(live, "Invocations", "Sum", **variant) == 3)
    for host in ("one", "two"):
        named = {**variant, "ContainerName": host}
        assert statistic(live, "Invocations", "Sum", **named) == 3
        assert statistic(live, "ContainerLatency", "SampleCount", **named) == 3
    whole_us = statistic(live, "ModelLatency", "Sum", **variant)
    of_each_us = [statistic(live, "ContainerLatency", "Sum", **variant, ContainerName=host) for host in ("one", "two")]
    assert sum(of_each_us) / 2 < whole_us <= sum(of_each_us)  # without what they waited for their models
    [instance] = live.shown(endpoint)[0]["instances"]
    streams = live.client("logs").describe_log_streams(logGroupName=f"/aws/sagemaker/Endpoints/{endpoint}")
    names = [stream["logStreamName"] for stream in streams["logStreams"]]
    assert names == [f"AllTraffic/{instance['id']}/{host}" for host in ("one", "two")]


def test_the_ledger_has_the_time_in_each_container(live: LiveEndpoint, pipeline: str) -> None:
    put(live.folder("containers"), {"many/cold.tar.gz": tagged("cold")})
    live.invoke(pipeline, b"x", TargetModel="cold.tar.gz")

    def written() -> list[Any]:
        found = page(live, "cold-starts", endpoint=pipeline, model="cold.tar.gz")["cold_starts"]
        return list(found)

    [cold] = until(written)
    assert list(cold["container_s"]) == ["container-1", "container-2", "container-3"]
    loaded_s = sum(cold["steps"].get(step, 0.0) for step in ("download", "unpack", "load"))
    assert cold["container_s"]["container-2"] > loaded_s > 0.0
    assert sum(cold["container_s"].values()) < cold["total_s"]


def test_a_direct_container_has_metrics_of_its_own_requests(live: LiveEndpoint, direct: str) -> None:
    named = {"EndpointName": direct, "VariantName": "AllTraffic", "ContainerName": "two"}
    before = statistic(live, "Invocations", "Sum", **named)
    live.invoke(direct, b"x", TargetContainerHostname="two")
    until(lambda: statistic(live, "Invocations", "Sum", **named) == before + 1)
    assert statistic(live, "OverheadLatency", "SampleCount", **named) == before + 1


def test_the_last_container_of_a_pipeline_streams(live: LiveEndpoint, bucket: Path) -> None:
    put(bucket, {"parts.tar.gz": script(PARTS)})
    endpoint = live.deploy("Parts", Variant([one("containers/first.tar.gz"), one("containers/parts.tar.gz")]))
    answer = live.runtime.invoke_endpoint_with_response_stream(EndpointName=endpoint, Body=b"x", ContentType="text/csv")
    parts = [event["PayloadPart"]["Bytes"] for event in answer["Body"]]
    assert b"".join(parts) == b"x first(text/csv, application/json)" * 3
    with pytest.raises(ClientError, match="from container-1"):
        live.runtime.invoke_endpoint_with_response_stream(
            EndpointName=endpoint, Body=b"fail at first", ContentType="text/csv"
        )


def test_a_container_that_cannot_start_fails_the_endpoint_by_its_name(live: LiveEndpoint, bucket: Path) -> None:
    containers = [hosted("first", "one"), hosted("none", "two")]
    with pytest.raises(NotInService) as failed:
        live.deploy("Unstarted", Variant(containers))
    assert 'Failed to download model data for container "two" from URL: "s3://containers/none' in str(failed.value)
