"""The error table, row by row, with the texts that clients match on."""

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import ARN, MULTI_MODEL, InMemoryControlPlane, production
from torpor_endpoint.core.lifecycle import EndpointEvent
from torpor_endpoint.services.sagemaker.errors import ERRORS

NOWHERE = "Nowhere"


@pytest.mark.parametrize(
    ("operation", "params", "noun", "arn"),
    [
        ("DescribeModel", {"ModelName": NOWHERE}, "model", f"{ARN}:model/nowhere"),
        ("DeleteModel", {"ModelName": NOWHERE}, "model", f"{ARN}:model/nowhere"),
        (
            "CreateEndpointConfig",
            {"EndpointConfigName": "c", "ProductionVariants": [production(ModelName=NOWHERE)]},
            "model",
            f"{ARN}:model/nowhere",
        ),
        (
            "DescribeEndpointConfig",
            {"EndpointConfigName": NOWHERE},
            "endpoint configuration",
            f"{ARN}:endpoint-config/nowhere",
        ),
        (
            "DeleteEndpointConfig",
            {"EndpointConfigName": NOWHERE},
            "endpoint configuration",
            f"{ARN}:endpoint-config/nowhere",
        ),
        (
            "CreateEndpoint",
            {"EndpointName": "e", "EndpointConfigName": NOWHERE},
            "endpoint configuration",
            f"{ARN}:endpoint-config/nowhere",
        ),
        ("DescribeEndpoint", {"EndpointName": NOWHERE}, "endpoint", f"{ARN}:endpoint/nowhere"),
        ("DeleteEndpoint", {"EndpointName": NOWHERE}, "endpoint", f"{ARN}:endpoint/nowhere"),
        (
            "UpdateEndpoint",
            {"EndpointName": NOWHERE, "EndpointConfigName": "c"},
            "endpoint",
            f"{ARN}:endpoint/nowhere",
        ),
        (
            "UpdateEndpointWeightsAndCapacities",
            {"EndpointName": NOWHERE, "DesiredWeightsAndCapacities": []},
            "endpoint",
            f"{ARN}:endpoint/nowhere",
        ),
        ("ListTags", {"ResourceArn": f"{ARN}:model/nowhere"}, "resource", f"{ARN}:model/nowhere"),
    ],
)
def test_what_is_not_there_cannot_be_found(
    desk: InMemoryControlPlane, operation: str, params: dict[str, object], noun: str, arn: str
) -> None:
    refusal = desk.refusal(operation, **params)
    assert refusal == ("ValidationException", 400, f'Could not find {noun} "{arn}".')


def test_nothing_is_created_twice_whatever_its_case(desk: InMemoryControlPlane) -> None:
    desk.create("ep")
    config = {"EndpointConfigName": "EP", "ProductionVariants": [production()]}
    refusals = [
        desk.refusal("CreateModel", ModelName="EP", PrimaryContainer=MULTI_MODEL),
        desk.refusal("CreateEndpointConfig", **config),
        desk.refusal("CreateEndpoint", EndpointName="EP", EndpointConfigName="ep"),
    ]
    assert refusals == [
        ("ValidationException", 400, f'Cannot create already existing model "{ARN}:model/ep".'),
        (
            "ValidationException",
            400,
            f'Cannot create already existing endpoint configuration "{ARN}:endpoint-config/ep".',
        ),
        ("ValidationException", 400, f'Cannot create already existing endpoint "{ARN}:endpoint/ep".'),
    ]


CHANGES: list[tuple[str, dict[str, object]]] = [
    ("UpdateEndpoint", {"EndpointName": "ep", "EndpointConfigName": "ep"}),
    ("UpdateEndpointWeightsAndCapacities", {"EndpointName": "ep", "DesiredWeightsAndCapacities": []}),
    ("DeleteEndpoint", {"EndpointName": "ep"}),
]


@pytest.mark.parametrize("status", ["Creating", "Updating", "RollingBack", "Deleting"])
@pytest.mark.parametrize(("operation", "params"), CHANGES)
def test_an_endpoint_in_progress_cannot_be_changed(
    desk: InMemoryControlPlane, status: str, operation: str, params: dict[str, object]
) -> None:
    bring(desk, status)
    assert desk.describe()["EndpointStatus"] == status
    refusal = desk.refusal(operation, **params)
    assert refusal == ("ValidationException", 400, f'Cannot update in-progress endpoint "{ARN}:endpoint/ep".')
    assert desk.describe()["EndpointStatus"] == status


def test_a_failed_endpoint_can_only_be_deleted(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep", EndpointEvent.FAILED, "no such image")
    for operation, params in CHANGES[:2]:
        assert "can only be deleted" in desk.refusal(operation, **params)[2]
    desk("DeleteEndpoint", EndpointName="ep")
    assert desk.describe()["EndpointStatus"] == "Deleting"


def test_too_many_tags_are_a_quota(desk: InMemoryControlPlane) -> None:
    tags = [{"Key": str(number), "Value": ""} for number in range(51)]
    code, status, _ = desk.refusal("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=tags)
    assert (code, status) == ("ResourceLimitExceeded", 400)
    assert "Could not find" in desk.refusal("DescribeModel", ModelName="m")[2]


def test_the_waiter_for_a_deleted_endpoint_ends_on_the_code_of_not_found() -> None:
    assert {status for _, status, _ in ERRORS.values()} == {400}
    assert {code for code, _, _ in ERRORS.values()} == {"ValidationException", "ResourceLimitExceeded"}


def bring(desk: InMemoryControlPlane, status: str) -> None:
    """An endpoint `ep` in this status."""
    desk.create()
    if status == "Creating":
        return
    desk.settle("ep")
    if status == "Deleting":
        desk("DeleteEndpoint", EndpointName="ep")
    else:
        desk("UpdateEndpoint", EndpointName="ep", EndpointConfigName="ep")
    if status == "RollingBack":
        desk.settle("ep", EndpointEvent.FAILED)
