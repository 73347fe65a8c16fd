"""Inference components on one endpoint, through boto3: invoked, scaled to none and back, updated and deleted."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.waiting import until

ROLE = "arn:aws:iam::123456789012:role/service-role/role"
ENDPOINT = "Shelf"
SCALING = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 3}
TYPES = ("ml.m5.large", "ml.m5.4xlarge")  # 8 and 64 GiB
GROUP = "/aws/sagemaker/InferenceComponents/{}"


def specification(number: int, memory_mib: int = 512, **container: Any) -> dict[str, Any]:
    return {
        "Container": {"Image": "torpor", "ArtifactUrl": f"s3://shelf/{number}.tar.gz", **container},
        "ComputeResourceRequirements": {"MinMemoryRequiredInMb": memory_mib, "NumberOfCpuCoresRequired": 1},
    }


def settled(live: LiveEndpoint, name: str) -> Any:
    """The component's description, once nothing of it is under way."""

    def shown() -> Any:
        found = live.sagemaker.describe_inference_component(InferenceComponentName=name)
        return None if found["InferenceComponentStatus"] in ("Creating", "Updating") else found

    return until(shown, 180.0, 0.05)


def copies(live: LiveEndpoint, name: str) -> tuple[str, int, int]:
    found = settled(live, name)
    runtime = found["RuntimeConfig"]
    return found["InferenceComponentStatus"], runtime["DesiredCopyCount"], runtime["CurrentCopyCount"]


def answer(live: LiveEndpoint, component: str, **members: Any) -> float:
    return number_of(live.invoke(ENDPOINT, b"1", InferenceComponentName=component, **members))


@pytest.fixture(scope="module")
def shelf(live: LiveEndpoint) -> LiveEndpoint:
    """An endpoint with the components `one` and `two`."""
    put(live.folder("shelf"), {f"{number}.tar.gz": constant(number) for number in (1, 2, 3)})
    put(live.folder("shelf"), {f"many/{number}.tar.gz": constant(number) for number in (7, 8)})
    pools = [{"InstanceType": kind, "Priority": number} for number, kind in enumerate(TYPES, start=1)]
    variant = {"VariantName": "AllTraffic", "InstancePools": pools, "InitialInstanceCount": 1}
    live.sagemaker.create_endpoint_config(
        EndpointConfigName=ENDPOINT,
        ExecutionRoleArn=ROLE,
        ProductionVariants=[{**variant, "ManagedInstanceScaling": SCALING}],
    )
    live.sagemaker.create_endpoint(EndpointName=ENDPOINT, EndpointConfigName=ENDPOINT)
    assert live.settled(ENDPOINT)["EndpointStatus"] == "InService"
    for number, name in ((1, "one"), (2, "two")):
        live.sagemaker.create_inference_component(
            InferenceComponentName=name,
            EndpointName=ENDPOINT,
            VariantName="AllTraffic",
            Specification=specification(number),
            RuntimeConfig={"CopyCount": 1},
        )
    assert {name: copies(live, name) for name in ("one", "two")} == dict.fromkeys(("one", "two"), ("InService", 1, 1))
    return live


def test_each_component_answers_its_own_requests(shelf: LiveEndpoint) -> None:
    assert (answer(shelf, "one"), answer(shelf, "two")) == (1.0, 2.0)
    told = shelf.invoke(ENDPOINT, b"1", InferenceComponentName="one")
    assert told["InvokedProductionVariant"] == "AllTraffic"
    streamed = shelf.runtime.invoke_endpoint_with_response_stream(
        EndpointName=ENDPOINT, Body=b"1", ContentType="text/csv", InferenceComponentName="two"
    )
    parts = b"".join(event["PayloadPart"]["Bytes"] for event in streamed["Body"])
    assert float(parts.decode().strip().strip("[]")) == 2.0
    with pytest.raises(ClientError, match="Inference Component Name header is required for endpoints"):
        shelf.invoke(ENDPOINT, b"1")


def test_its_metrics_and_logs_are_the_components(shelf: LiveEndpoint) -> None:
    answer(shelf, "one")
    named = [{"Name": "InferenceComponentName", "Value": "one"}]
    listed = shelf.cloudwatch.list_metrics(Namespace="AWS/SageMaker", Dimensions=named)["Metrics"]
    names = {one["MetricName"] for one in listed if len(one["Dimensions"]) == 1}
    assert {"Invocations", "InvocationsPerCopy", "ModelLatency", "ConcurrentRequestsPerCopy"} <= names
    used = shelf.cloudwatch.list_metrics(Namespace="/aws/sagemaker/InferenceComponents")["Metrics"]
    assert {one["MetricName"] for one in used} >= {"MemoryUtilizationNormalized"}
    streams = shelf.client("logs").describe_log_streams(logGroupName=GROUP.format("one"))["logStreams"]
    assert all(stream["logStreamName"].startswith("AllTraffic/i-") for stream in streams)


def test_the_pages_show_the_components_beside_their_instances(shelf: LiveEndpoint) -> None:
    answer(shelf, "two")
    state = json.loads(shelf.page("endpoints"))
    shown = next(one for one in state["endpoints"] if one["name"] == ENDPOINT)
    variants = {one["name"]: one for one in shown["variants"]}
    assert {"AllTraffic", "component.one", "component.two"} <= variants.keys()
    assert variants["component.two"]["traffic"]["requests"] > 0
    assert b"torpor_invocations_total" in shelf.page("metrics")
    costs = json.loads(shelf.page(f"costs?endpoint={ENDPOINT}"))
    assert {one["variant"] for one in costs["variants"]} >= {"AllTraffic", "component.two"}


def test_a_component_goes_to_no_copies_and_its_next_request_waits_for_one(shelf: LiveEndpoint) -> None:
    for count in (0, 2, 0):
        shelf.sagemaker.update_inference_component_runtime_config(
            InferenceComponentName="one", DesiredRuntimeConfig={"CopyCount": count}
        )
        assert copies(shelf, "one") == ("InService", count, count)
        assert answer(shelf, "two") == 2.0
    assert answer(shelf, "one") == 1.0
    assert copies(shelf, "one") == ("InService", 0, 1)  # it is awake while it is called
    shelf.sagemaker.update_inference_component_runtime_config(
        InferenceComponentName="one", DesiredRuntimeConfig={"CopyCount": 1}
    )
    assert copies(shelf, "one") == ("InService", 1, 1)


def test_an_update_puts_another_model_in_place_and_one_that_cannot_start_leaves_it(shelf: LiveEndpoint) -> None:
    shelf.sagemaker.update_inference_component(InferenceComponentName="two", Specification=specification(3))
    assert copies(shelf, "two") == ("InService", 1, 1)
    assert answer(shelf, "two") == 3.0
    shelf.sagemaker.update_inference_component(InferenceComponentName="two", Specification=specification(99))
    found = settled(shelf, "two")
    assert found["InferenceComponentStatus"] == "InService"
    assert "s3://shelf/99.tar.gz" in found["FailureReason"] or "99.tar.gz" in found["FailureReason"]
    assert found["Specification"]["Container"]["ArtifactUrl"] == "s3://shelf/3.tar.gz"
    assert answer(shelf, "two") == 3.0


def test_a_component_of_many_models_takes_a_target(shelf: LiveEndpoint) -> None:
    shelf.sagemaker.create_model(
        ModelName="shelf-many",
        ExecutionRoleArn=ROLE,
        PrimaryContainer={"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://shelf/many/"},
    )
    compute = {"MinMemoryRequiredInMb": 512}
    shelf.sagemaker.create_inference_component(
        InferenceComponentName="many",
        EndpointName=ENDPOINT,
        Specification={"ModelName": "shelf-many", "ComputeResourceRequirements": compute},
        RuntimeConfig={"CopyCount": 1},
    )
    assert copies(shelf, "many") == ("InService", 1, 1)
    assert [answer(shelf, "many", TargetModel=f"{number}.tar.gz") for number in (7, 8)] == [7.0, 8.0]


def test_a_copy_that_fits_on_the_type_of_a_later_pool_only_is_placed_there(shelf: LiveEndpoint) -> None:
    shelf.sagemaker.create_inference_component(
        InferenceComponentName="wide",
        EndpointName=ENDPOINT,
        Specification=specification(2, 9000),
        RuntimeConfig={"CopyCount": 1},
    )
    assert copies(shelf, "wide") == ("InService", 1, 1)
    placed = settled(shelf, "wide")["RuntimeConfig"]["PlacementStatus"]
    assert placed == [{"InstanceType": TYPES[1], "CurrentCopyCount": 1}]
    assert answer(shelf, "wide") == 2.0
    pools = shelf.settled(ENDPOINT)["ProductionVariants"][0]["InstancePools"]
    assert pools[1] == {"InstanceType": TYPES[1], "CurrentInstanceCount": 1}
    costs = json.loads(shelf.page(f"costs?endpoint={ENDPOINT}"))
    assert json.dumps(TYPES[1]) in json.dumps(costs)


def test_what_does_not_fit_fails_and_can_be_deleted(shelf: LiveEndpoint) -> None:
    shelf.sagemaker.create_inference_component(
        InferenceComponentName="huge",
        EndpointName=ENDPOINT,
        Specification=specification(1, 64_000),
        RuntimeConfig={"CopyCount": 1},
    )
    before, found = answer(shelf, "two"), settled(shelf, "huge")
    assert found["InferenceComponentStatus"] == "Failed"
    assert found["FailureReason"].startswith("There is not enough hardware resources on the instances for this")
    for name in ("huge", "one"):
        shelf.sagemaker.delete_inference_component(InferenceComponentName=name)
        until(lambda name=name: name not in listed(shelf), 60.0)  # type: ignore[misc]
    with pytest.raises(ClientError, match="Inference Component one of endpoint Shelf"):
        answer(shelf, "one")
    assert answer(shelf, "two") == before


def listed(live: LiveEndpoint) -> list[str]:
    found = live.sagemaker.list_inference_components(EndpointNameEquals=ENDPOINT)["InferenceComponents"]
    return [one["InferenceComponentName"] for one in found]
