"""The error table, row by row, with the texts that clients match on."""

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import ARN, MULTI_MODEL, InMemoryControlPlane, production
from torpor_account.aws.errors import error_kinds
from torpor_endpoint.core.lifecycle import EndpointEvent
from torpor_endpoint.services.sagemaker import errors

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
def test_a_missing_resource_cannot_be_found(
    control_plane: InMemoryControlPlane, operation: str, params: dict[str, object], noun: str, arn: str
) -> None:
    refusal = control_plane.refusal(operation, **params)
    assert refusal == ("ValidationException", 400, f'Could not find {noun} "{arn}".')


def test_nothing_is_created_twice_whatever_its_case(control_plane: InMemoryControlPlane) -> None:
    control_plane.create("ep")
    config = {"EndpointConfigName": "EP", "ProductionVariants": [production()]}
    refusals = [
        control_plane.refusal("CreateModel", ModelName="EP", PrimaryContainer=MULTI_MODEL),
        control_plane.refusal("CreateEndpointConfig", **config),
        control_plane.refusal("CreateEndpoint", EndpointName="EP", EndpointConfigName="ep"),
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
    control_plane: InMemoryControlPlane, status: str, operation: str, params: dict[str, object]
) -> None:
    bring(control_plane, status)
    assert control_plane.describe()["EndpointStatus"] == status
    refusal = control_plane.refusal(operation, **params)
    assert refusal == ("ValidationException", 400, f'Cannot update in-progress endpoint "{ARN}:endpoint/ep".')
    assert control_plane.describe()["EndpointStatus"] == status


def test_a_failed_endpoint_can_only_be_deleted(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep", EndpointEvent.FAILED, "no such image")
    for operation, params in CHANGES[:2]:
        assert "can only be deleted" in control_plane.refusal(operation, **params)[2]
    control_plane("DeleteEndpoint", EndpointName="ep")
    assert control_plane.describe()["EndpointStatus"] == "Deleting"


def test_too_many_tags_are_a_quota(control_plane: InMemoryControlPlane) -> None:
    tags = [{"Key": str(number), "Value": ""} for number in range(51)]
    code, status, _ = control_plane.refusal("CreateModel", ModelName="m", PrimaryContainer=MULTI_MODEL, Tags=tags)
    assert (code, status) == ("ResourceLimitExceeded", 400)
    assert "Could not find" in control_plane.refusal("DescribeModel", ModelName="m")[2]


def test_the_waiter_for_a_deleted_endpoint_ends_on_the_code_of_not_found() -> None:
    assert {kind.status for kind in error_kinds(errors)} == {400}
    codes = {kind.code for kind in error_kinds(errors) if kind is not errors.NO_ENTITY}
    assert codes == {"ValidationException", "ResourceLimitExceeded", "ConflictException"}
    assert errors.NO_ENTITY.code == "ResourceNotFound"  # botocore's model declares it for lineage, which has no waiter


def bring(control_plane: InMemoryControlPlane, status: str) -> None:
    """An endpoint `ep` in this status."""
    control_plane.create()
    if status == "Creating":
        return
    control_plane.settle("ep")
    if status == "Deleting":
        control_plane("DeleteEndpoint", EndpointName="ep")
    else:
        control_plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="ep")
    if status == "RollingBack":
        control_plane.settle("ep", EndpointEvent.FAILED)
