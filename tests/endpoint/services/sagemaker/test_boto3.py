"""The control plane as boto3 sees it: real requests, real answers, and only the socket between them left out."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, WaiterError

from tests.endpoint.services.helpers.in_memory_control_plane import (
    ARN,
    MULTI_MODEL,
    InMemoryControlPlane,
    production,
    serverless,
)
from torpor_account.aws import in_process
from torpor_endpoint.core.lifecycle import EndpointEvent
from torpor_endpoint.services.sagemaker.service import service


@pytest.fixture
def client(control_plane: InMemoryControlPlane) -> Any:
    return in_process.client(service(control_plane.control, account="123456789012"))


def members(answer: Any) -> Iterator[Any]:
    for value in answer.values() if isinstance(answer, dict) else answer:
        yield value
        if isinstance(value, dict | list):
            yield from members(value)


def test_an_endpoint_from_its_model_to_its_end(control_plane: InMemoryControlPlane, client: Any) -> None:
    container = {**MULTI_MODEL, "Environment": {}}
    client.create_model(ModelName="Houses", PrimaryContainer=container)
    client.create_endpoint_config(EndpointConfigName="Houses", ProductionVariants=[production(ModelName="Houses")])
    created = client.create_endpoint(EndpointName="Houses", EndpointConfigName="Houses", Tags=[])
    assert created["EndpointArn"] == f"{ARN}:endpoint/houses"
    control_plane.settle("Houses")
    client.get_waiter("endpoint_in_service").wait(EndpointName="Houses")
    client.update_endpoint_weights_and_capacities(
        EndpointName="Houses", DesiredWeightsAndCapacities=[{"VariantName": "AllTraffic", "DesiredInstanceCount": 2}]
    )
    control_plane.settle("Houses")
    client.delete_endpoint_config(EndpointConfigName="Houses")
    client.delete_endpoint(EndpointName="Houses")
    control_plane.store.remove_endpoint("Houses")
    client.get_waiter("endpoint_deleted").wait(EndpointName="Houses")


def test_no_answer_has_an_empty_optional_member(control_plane: InMemoryControlPlane, client: Any) -> None:
    control_plane.create(ServerlessConfig=serverless())
    control_plane.create("plain")
    answers = [
        client.describe_model(ModelName="ep"),
        client.describe_endpoint_config(EndpointConfigName="ep"),
        client.describe_endpoint(EndpointName="ep"),
        client.describe_endpoint(EndpointName="plain"),
        client.list_endpoints(),
    ]
    for answer in answers:
        del answer["ResponseMetadata"]
        assert not [value for value in members(answer) if value in ("", [], {}) or value is None]


def test_a_list_of_no_tags_is_an_empty_list(control_plane: InMemoryControlPlane, client: Any) -> None:
    control_plane.create("ep")
    assert client.list_tags(ResourceArn=f"{ARN}:endpoint-config/ep")["Tags"] == []


def test_a_paginator_walks_all_pages(control_plane: InMemoryControlPlane, client: Any) -> None:
    for number in range(7):
        control_plane("CreateModel", ModelName=f"m{number}", PrimaryContainer=MULTI_MODEL)
    pages = client.get_paginator("list_models").paginate(SortBy="Name", SortOrder="Ascending", MaxResults=3)
    names = [[model["ModelName"] for model in page["Models"]] for page in pages]
    assert names == [["m0", "m1", "m2"], ["m3", "m4", "m5"], ["m6"]]


def test_a_page_token_leads_on_in_its_own_operation_alone(control_plane: InMemoryControlPlane, client: Any) -> None:
    for name in ("a", "b"):
        control_plane.create(name)
    token = client.list_models(MaxResults=1)["NextToken"]
    with pytest.raises(ClientError, match="NextToken is not one"):
        client.list_endpoints(MaxResults=1, NextToken=token)
    assert [model["ModelName"] for model in client.list_models(NextToken=token)["Models"]] == ["a"]


def test_an_error_is_boto3s_client_error_with_the_text(client: Any) -> None:
    with pytest.raises(ClientError, match='Could not find endpoint "arn:aws:sagemaker:us-east-1:') as raised:
        client.describe_endpoint(EndpointName="Nowhere")
    assert raised.value.response["Error"]["Code"] == "ValidationException"


def test_a_time_filter_reaches_the_records(control_plane: InMemoryControlPlane, client: Any) -> None:
    control_plane.create()
    assert client.list_endpoints(CreationTimeAfter=1000.0)["Endpoints"][0]["EndpointName"] == "ep"
    assert client.list_endpoints(CreationTimeAfter=1001.0)["Endpoints"] == []


def test_the_waiter_fails_on_a_failed_endpoint(control_plane: InMemoryControlPlane, client: Any) -> None:
    control_plane.create()
    control_plane.settle("ep", EndpointEvent.FAILED, "no such image")
    with pytest.raises(WaiterError, match="terminal failure state"):
        client.get_waiter("endpoint_in_service").wait(EndpointName="ep")
    assert client.describe_endpoint(EndpointName="ep")["FailureReason"] == "no such image"
