"""Adapters of a foreign container's model, through boto3: called in each of the three ways, kept by updates."""

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import packed, put
from tests.endpoint.runtime.test_live_handovers import moves
from tests.helpers.waiting import until
from torpor.simulator.components.component_ledger import recorded_endpoint
from torpor.simulator.components.components_run import run_components

ROLE = "arn:aws:iam::123456789012:role/service-role/role"
CONTAINER = Path(__file__).parents[3] / "container" / "helpers" / "foreign_container.py"
VARIANT = {"VariantName": "AllTraffic", "InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
COMPUTE = {"MinMemoryRequiredInMb": 256}


def base(**environment: str) -> dict[str, Any]:
    container = {"Image": "foreign:1", "ArtifactUrl": "s3://shelf/model.tar.gz", "Environment": environment}
    return {"Container": container, "ComputeResourceRequirements": COMPUTE}


def adapter(name: str, of: str) -> dict[str, Any]:
    return {"BaseInferenceComponentName": of, "Container": {"ArtifactUrl": f"s3://shelf/{name}.tar.gz"}}


def settled(live: LiveEndpoint, name: str) -> str:
    def status() -> Any:
        found = live.sagemaker.describe_inference_component(InferenceComponentName=name)["InferenceComponentStatus"]
        return None if found in ("Creating", "Updating") else found

    return str(until(status, 180.0, 0.05))


def deployed(live: LiveEndpoint, endpoint: str, name: str, specification: dict[str, Any]) -> None:
    count = {} if "BaseInferenceComponentName" in specification else {"RuntimeConfig": {"CopyCount": 1}}
    live.sagemaker.create_inference_component(
        InferenceComponentName=name, EndpointName=endpoint, Specification=specification, **count
    )
    assert settled(live, name) == "InService", live.sagemaker.describe_inference_component(InferenceComponentName=name)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    """Endpoints `now` and `later`, each with a base and two adapters."""
    folder = tmp_path_factory.mktemp("adapters")
    images = folder / "images.toml"
    command = [sys.executable, str(CONTAINER), "{port}", "10"]
    images.write_text(
        f'[[image]]\nmatch = "foreign*"\ncommand = {command!r}\nenvironment = {{ MODEL_DIR = "{{model_dir}}" }}\n'
    )
    with LiveEndpoint(folder, "--images", str(images)) as endpoint:
        put(endpoint.folder("shelf"), {f"{one}.tar.gz": packed({"weights": one}) for one in ("model", "red", "blue")})
        for name, more in (("now", {}), ("later", {"OutputConfig": {"S3OutputPath": "s3://shelf/out"}})):
            asynchronous = {"AsyncInferenceConfig": more} if more else {}
            endpoint.sagemaker.create_endpoint_config(
                EndpointConfigName=name, ExecutionRoleArn=ROLE, ProductionVariants=[VARIANT], **asynchronous
            )
            endpoint.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
            assert endpoint.settled(name)["EndpointStatus"] == "InService"
            deployed(endpoint, name, f"{name}-base", base())
            for colour in ("red", "blue"):
                deployed(endpoint, name, f"{name}-{colour}", adapter(colour, f"{name}-base"))
        yield endpoint


def answered(live: LiveEndpoint, component: str) -> Any:
    """The weights of the adapter by which the container has answered."""
    return json.loads(live.invoke("now", b"1", InferenceComponentName=component)["Body"])["adapter"]


def later(live: LiveEndpoint, component: str, name: str) -> str:
    """The key of the result of an asynchronous request. boto3 has no member for the header."""
    put(live.folder("shelf"), {"in/one": b"1"})
    runtime, event = live.runtime, "before-call.sagemaker-runtime.InvokeEndpointAsync"

    def named(params: dict[str, Any], **_: Any) -> None:
        params["headers"]["X-Amzn-SageMaker-Inference-Component"] = component

    runtime.meta.events.register_last(event, named)
    try:
        location = runtime.invoke_endpoint_async(
            EndpointName="later", InputLocation="s3://shelf/in/one", ContentType="text/csv", Filename=name
        )["OutputLocation"]
    finally:
        runtime.meta.events.unregister(event, named)
    return str(location).removeprefix("s3://shelf/")


def test_requests_and_streams_are_answered_by_the_adapter_that_they_name(live: LiveEndpoint) -> None:
    assert [answered(live, f"now-{one}") for one in ("red", "blue", "base")] == ["red", "blue", None]
    streamed = live.runtime.invoke_endpoint_with_response_stream(
        EndpointName="now", Body=b"1", ContentType="text/csv", InferenceComponentName="now-blue"
    )
    body = b"".join(event["PayloadPart"]["Bytes"] for event in streamed["Body"])
    assert json.loads(body)["adapter"] == "blue"


def test_the_ledger_has_the_adapters_and_is_played_again_with_the_same_loads(live: LiveEndpoint) -> None:
    ledger = live.data_dir / "ledger.sqlite"

    def counted() -> dict[str, tuple[int, int]] | None:
        rows = (
            "SELECT model, sum(requests), sum(cold) FROM minutes WHERE endpoint = 'now' AND variant LIKE 'component.%'"
        )
        with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as opened:
            found = {model: (requests, cold) for model, requests, cold in opened.execute(f"{rows} GROUP BY model")}
        return found if sum(requests for requests, _ in found.values()) == 4 else None

    assert until(counted, 60.0) == {"": (1, 0), "now-red": (1, 1), "now-blue": (2, 1)}
    (cold,) = json.loads(live.page("cold-starts?endpoint=now&model=now-red"))["cold_starts"]
    assert (cold["model"], cold["variant"]) == ("now-red", "component.now-base")
    costs = json.loads(live.page("costs?endpoint=now"))["variants"]
    assert {model["model"] for one in costs for model in one["models"]} == {"", "now-red", "now-blue"}
    recorded = recorded_endpoint(ledger, "now", so_far=False)
    again = run_components(recorded.inputs, recorded.scenario)
    assert (again.requests, again.cold, again.failed, again.components[0].loads) == (4, 2, 0, 2)


def test_asynchronous_requests_are_answered_by_the_adapter_that_they_name(live: LiveEndpoint) -> None:
    for colour in ("red", "blue"):
        result = live.folder("shelf") / later(live, f"later-{colour}", colour)
        until(result.exists, 60.0)
        assert json.loads(result.read_bytes())["adapter"] == colour


def test_an_asynchronous_request_whose_adapter_is_deleted_is_not_answered_by_the_base(live: LiveEndpoint) -> None:
    def copies(count: int) -> None:
        live.sagemaker.update_inference_component_runtime_config(
            InferenceComponentName="later-base", DesiredRuntimeConfig={"CopyCount": count}
        )
        assert settled(live, "later-base") == "InService"

    deployed(live, "later", "later-green", adapter("red", "later-base"))
    copies(0)
    result = live.folder("shelf") / later(live, "later-green", "green")
    live.sagemaker.delete_inference_component(InferenceComponentName="later-green")
    copies(1)
    until((live.folder("shelf") / later(live, "later-red", "after")).exists, 60.0)  # its turn came later
    assert not result.exists()


def test_an_adapter_is_answered_where_it_is_until_a_copy_that_comes_has_it(live: LiveEndpoint) -> None:
    moving = next(name for number in range(20) if moves(name := f"now-m{number}"))
    deployed(live, "now", moving, adapter("red", "now-base"))

    def called() -> tuple[Any, bool]:
        """The folder of the copy that answers, and whether the call waited for the adapter."""
        answer = live.invoke("now", b"1", InferenceComponentName=moving)
        body, told = json.loads(answer["Body"]), answer["ResponseMetadata"]["HTTPHeaders"]
        assert body["adapter"] == "red"
        return body["model"], "load;dur" in told["server-timing"]

    first, waited = called()
    assert waited
    live.sagemaker.update_inference_component_runtime_config(
        InferenceComponentName="now-base", DesiredRuntimeConfig={"CopyCount": 2}
    )
    assert settled(live, "now-base") == "InService"
    seen: set[tuple[Any, bool]] = set()

    def moved() -> bool:
        seen.add(called())
        return len(seen) == 2

    until(moved, 60.0)
    assert ({waited for _, waited in seen}, (first, False) in seen) == ({False}, True)
    live.sagemaker.update_inference_component_runtime_config(
        InferenceComponentName="now-base", DesiredRuntimeConfig={"CopyCount": 1}
    )
    assert settled(live, "now-base") == "InService"
    live.sagemaker.delete_inference_component(InferenceComponentName=moving)


def test_an_update_of_a_base_keeps_its_adapters_and_a_base_is_deleted_after_them(live: LiveEndpoint) -> None:
    live.sagemaker.update_inference_component(InferenceComponentName="now-base", Specification=base(NEW="1"))
    assert settled(live, "now-base") == "InService"
    assert [answered(live, f"now-{one}") for one in ("red", "base")] == ["red", None]
    live.sagemaker.update_inference_component(
        InferenceComponentName="now-red", Specification=adapter("blue", "now-base")
    )
    assert settled(live, "now-red") == "InService"
    assert answered(live, "now-red") == "blue"
    with pytest.raises(ClientError, match=r'it is the base of "now-blue", "now-red"\. Delete these'):
        live.sagemaker.delete_inference_component(InferenceComponentName="now-base")
    for one in ("red", "blue", "base"):
        live.sagemaker.delete_inference_component(InferenceComponentName=f"now-{one}")

        def gone(name: str = f"now-{one}") -> bool:
            found = live.sagemaker.list_inference_components(EndpointNameEquals="now")["InferenceComponents"]
            return name not in [each["InferenceComponentName"] for each in found]

        until(gone, 60.0)
    with pytest.raises(ClientError, match="Inference Component now-red of endpoint now"):
        answered(live, "now-red")
