"""CreateEndpoint and its family: the records for the controller, and the answers while it works."""

from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import (
    ARN,
    MULTI_MODEL,
    InMemoryControlPlane,
    production,
    serverless,
)
from torpor_endpoint.core.lifecycle import EndpointEvent
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus, Variant


def stored(control_plane: InMemoryControlPlane, name: str = "ep") -> EndpointRecord:
    endpoint = control_plane.store.endpoint(name)
    assert endpoint is not None
    return endpoint


def pending(control_plane: InMemoryControlPlane) -> tuple[Variant, ...]:
    variants = stored(control_plane).pending_variants
    assert variants is not None
    return variants


def summary(control_plane: InMemoryControlPlane) -> dict[str, Any]:
    (variant,) = control_plane.describe()["ProductionVariants"]
    assert isinstance(variant, dict)
    return variant


def update(control_plane: InMemoryControlPlane, config: str, **params: Any) -> dict[str, Any]:
    return control_plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName=config, **params)


def rescale(control_plane: InMemoryControlPlane, **desired: Any) -> dict[str, Any]:
    return control_plane("UpdateEndpointWeightsAndCapacities", EndpointName="ep", DesiredWeightsAndCapacities=[desired])


def test_an_endpoint_is_created_with_its_models_resolved(control_plane: InMemoryControlPlane) -> None:
    control_plane.create("Houses", InitialVariantWeight=2, ContainerStartupHealthCheckTimeoutInSeconds=90)
    endpoint = stored(control_plane, "Houses")
    assert (endpoint.status, endpoint.arn) == (EndpointStatus.CREATING, f"{ARN}:endpoint/houses")
    (variant,) = endpoint.variants
    assert (variant.containers[0].model_data_url, variant.weight, variant.startup_timeout_s) == (
        "s3://bucket/models",
        2,
        90,
    )
    assert (variant.instance_type, variant.instance_count) == ("ml.m5.large", 1)
    assert control_plane.changes == ["Houses"]


def test_a_running_endpoint_outlives_its_config_and_its_model(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    before = control_plane.describe()
    control_plane("DeleteEndpointConfig", EndpointConfigName="ep")
    control_plane("DeleteModel", ModelName="ep")
    assert control_plane.describe() == before
    rescale(control_plane, VariantName="AllTraffic", DesiredInstanceCount=2)
    control_plane.settle("ep")
    control_plane("DeleteEndpoint", EndpointName="ep")


def test_a_config_whose_model_is_gone_makes_no_endpoint(control_plane: InMemoryControlPlane) -> None:
    control_plane("CreateModel", ModelName="ep", PrimaryContainer=MULTI_MODEL)
    control_plane.configure("ep", production())
    control_plane("DeleteModel", ModelName="ep")
    refusal = control_plane.refusal("CreateEndpoint", EndpointName="ep", EndpointConfigName="ep")
    assert refusal[2] == f'Could not find model "{ARN}:model/ep".'
    assert control_plane.changes == []


def test_describe_endpoint_shows_the_current_and_the_desired_variant(control_plane: InMemoryControlPlane) -> None:
    control_plane.create(InitialInstanceCount=3, RoutingConfig={"RoutingStrategy": "RANDOM"})
    creating = summary(control_plane)
    assert creating["VariantStatus"] == [{"Status": "Creating", "StartTime": 1000.0}]
    assert (creating["CurrentInstanceCount"], creating["DesiredInstanceCount"]) == (0, 3)
    control_plane.now_s, control_plane.ready = 1010.0, {"AllTraffic": 3}
    control_plane.settle("ep")
    assert control_plane.describe()["LastModifiedTime"] == 1010.0
    assert summary(control_plane) == {
        "VariantName": "AllTraffic",
        "DeployedImages": [{"SpecifiedImage": "torpor", "ResolvedImage": "torpor", "ResolutionTime": 1000.0}],
        "CurrentWeight": 1.0,
        "DesiredWeight": 1.0,
        "CurrentInstanceCount": 3,
        "DesiredInstanceCount": 3,
        "VariantStatus": [],
        "ManagedInstanceScaling": None,
        "RoutingConfig": {"RoutingStrategy": "RANDOM"},
        "InstancePools": [],
    }


def test_the_reason_of_a_failed_endpoint_is_cut_to_its_limit(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep", EndpointEvent.FAILED, "x" * 2000)
    described = control_plane.describe()
    assert (described["EndpointStatus"], described["FailureReason"]) == ("Failed", "x" * 1024)


def test_weights_and_counts_change_once_the_controller_is_done(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    control_plane.changes.clear()
    rescale(control_plane, VariantName="AllTraffic", DesiredWeight=0.5, DesiredInstanceCount=2)
    assert control_plane.changes == ["ep"]
    assert control_plane.describe()["PendingDeploymentSummary"] is None
    updating = summary(control_plane)
    assert updating["VariantStatus"][0]["Status"] == "Updating"
    assert (updating["CurrentWeight"], updating["DesiredWeight"], updating["DesiredInstanceCount"]) == (1.0, 0.5, 2)
    control_plane.settle("ep")
    assert summary(control_plane)["CurrentWeight"] == 0.5
    assert stored(control_plane).variants[0].instance_count == 2


def test_a_rescale_that_fails_leaves_the_old_weights(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    rescale(control_plane, VariantName="AllTraffic", DesiredWeight=0.5)
    control_plane.settle("ep", EndpointEvent.FAILED, "no room")
    assert control_plane.describe()["EndpointStatus"] == "RollingBack"
    control_plane.settle("ep", EndpointEvent.ROLLED_BACK)
    assert (summary(control_plane)["CurrentWeight"], summary(control_plane)["DesiredWeight"]) == (1.0, 1.0)


def test_serverless_concurrency_can_change(control_plane: InMemoryControlPlane) -> None:
    control_plane.create(ServerlessConfig=serverless(2048, 5, ProvisionedConcurrency=1))
    control_plane.settle("ep")
    rescale(control_plane, VariantName="AllTraffic", ServerlessUpdateConfig={"MaxConcurrency": 9})
    updating = summary(control_plane)
    assert "DesiredInstanceCount" not in updating
    assert updating["CurrentServerlessConfig"] == serverless(2048, 5, ProvisionedConcurrency=1)
    assert updating["DesiredServerlessConfig"] == serverless(2048, 9, ProvisionedConcurrency=1)
    control_plane.settle("ep")
    assert summary(control_plane)["CurrentServerlessConfig"] == serverless(2048, 9, ProvisionedConcurrency=1)
    assert "DesiredServerlessConfig" not in summary(control_plane)


@pytest.mark.parametrize(
    ("variant", "desired", "text"),
    [
        ({}, [{"VariantName": "other"}], 'no production variant "other"'),
        ({}, [{"VariantName": "AllTraffic"}] * 2, "more than once"),
        ({}, [{"VariantName": "AllTraffic", "ServerlessUpdateConfig": {}}], "is not serverless"),
        ({}, [{"VariantName": "AllTraffic", "DesiredInstanceCount": 0}], "unless its MinInstanceCount is 0"),
        (
            {"ManagedInstanceScaling": {"MinInstanceCount": 1, "MaxInstanceCount": 2}},
            [{"VariantName": "AllTraffic", "DesiredInstanceCount": 3}],
            "must lie within",
        ),
        (
            {"ServerlessConfig": serverless()},
            [{"VariantName": "AllTraffic", "DesiredInstanceCount": 1}],
            "is serverless",
        ),
        (
            {"ServerlessConfig": serverless(2048, 5)},
            [{"VariantName": "AllTraffic", "ServerlessUpdateConfig": {"ProvisionedConcurrency": 6}}],
            "ProvisionedConcurrency must not be",
        ),
    ],
)
def test_a_rescale_that_makes_no_sense_is_refused(
    control_plane: InMemoryControlPlane, variant: dict[str, Any], desired: list[dict[str, Any]], text: str
) -> None:
    control_plane.create(**variant)
    control_plane.settle("ep")
    params = {"EndpointName": "ep", "DesiredWeightsAndCapacities": desired}
    code, _, message = control_plane.refusal("UpdateEndpointWeightsAndCapacities", **params)
    assert (code, text in message) == ("ValidationException", True)
    assert control_plane.describe()["EndpointStatus"] == "InService"


def test_a_variant_that_may_scale_to_zero_can_be_set_to_zero(control_plane: InMemoryControlPlane) -> None:
    control_plane.create(ManagedInstanceScaling={"MinInstanceCount": 0, "MaxInstanceCount": 2})
    control_plane.settle("ep")
    rescale(control_plane, VariantName="AllTraffic", DesiredInstanceCount=0)
    assert pending(control_plane)[0].instance_count == 0


def test_a_count_that_is_asked_for_is_remembered_until_it_is_so_even_if_it_is_the_recorded_one(
    control_plane: InMemoryControlPlane,
) -> None:
    control_plane.create()
    control_plane.settle("ep")
    rescale(control_plane, VariantName="AllTraffic", DesiredInstanceCount=1)
    assert stored(control_plane).pending_told == ("AllTraffic",)
    control_plane.settle("ep")
    assert stored(control_plane).pending_told == ()
    rescale(control_plane, VariantName="AllTraffic", DesiredWeight=0.5)
    assert stored(control_plane).pending_told == ()


def test_an_update_shows_the_pending_deployment_beside_the_current_one(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    control_plane.configure("bigger", production(InstanceType="ml.m5.xlarge", InitialInstanceCount=2))
    control_plane.now_s = 1020.0
    assert update(control_plane, "bigger") == {"EndpointArn": f"{ARN}:endpoint/ep"}
    described = control_plane.describe()
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("Updating", "ep")
    coming = described["PendingDeploymentSummary"]
    assert (coming["EndpointConfigName"], coming["StartTime"]) == ("bigger", 1020.0)
    assert coming["ProductionVariants"][0]["InstanceType"] == "ml.m5.xlarge"
    assert summary(control_plane)["DesiredInstanceCount"] == 1
    control_plane.settle("ep")
    described = control_plane.describe()
    assert (described["EndpointConfigName"], described["PendingDeploymentSummary"]) == ("bigger", None)
    assert summary(control_plane)["DesiredInstanceCount"] == 2


@pytest.mark.parametrize(
    ("retain", "excluded", "kept"),
    [
        (False, [], (1.0, 1)),
        (False, ["DesiredWeight"], (1.0, 1)),
        (True, [], (0.5, 4)),
        (True, ["DesiredWeight"], (1.0, 4)),
        (True, ["DesiredInstanceCount"], (0.5, 1)),
        (True, ["DataCaptureConfig"], (0.5, 4)),
        (True, ["DesiredWeight", "DesiredInstanceCount"], (1.0, 1)),
    ],
)
def test_an_update_retains_the_named_variant_properties(
    control_plane: InMemoryControlPlane, retain: bool, excluded: list[str], kept: tuple[float, int]
) -> None:
    control_plane.create(InitialVariantWeight=0.5, InitialInstanceCount=4)
    control_plane.settle("ep")
    control_plane.configure("new", production(), production(VariantName="another"))
    properties = [{"VariantPropertyType": name} for name in excluded]
    update(control_plane, "new", RetainAllVariantProperties=retain, ExcludeRetainedVariantProperties=properties)
    same, another = pending(control_plane)
    assert (same.weight, same.instance_count) == kept
    assert (another.weight, another.instance_count) == (1.0, 1)


def test_data_capture_is_described_and_follows_the_configuration_through_updates(
    control_plane: InMemoryControlPlane,
) -> None:
    sent = {
        "InitialSamplingPercentage": 20,
        "DestinationS3Uri": "https://s3.us-east-1.amazonaws.com/bucket/captured",
        "CaptureOptions": [{"CaptureMode": "InputAndOutput"}],
        "CaptureContentTypeHeader": {"CsvContentTypes": ["text/csv"]},
    }
    shown = {
        "EnableCapture": True,
        "CaptureStatus": "Started",
        "CurrentSamplingPercentage": 20,
        "DestinationS3Uri": "s3://bucket/captured",
        "KmsKeyId": "",
    }
    control_plane.create()
    control_plane.settle("ep")
    assert control_plane.describe()["DataCaptureConfig"] is None
    off = {**sent, "EnableCapture": False}
    for name, members in (("on", {"DataCaptureConfig": sent}), ("off", {"DataCaptureConfig": off}), ("none", {})):
        control_plane("CreateEndpointConfig", EndpointConfigName=name, ProductionVariants=[production()], **members)
    stopped = {**shown, "EnableCapture": False, "CaptureStatus": "Stopped"}
    for name, expected in (("on", shown), ("off", stopped), ("on", shown), ("none", None)):
        update(control_plane, name, RetainAllVariantProperties=True)
        control_plane.settle("ep")
        assert control_plane.describe()["DataCaptureConfig"] == expected
        rescale(control_plane, VariantName="AllTraffic", DesiredWeight=0.5)
        control_plane.settle("ep")
        assert control_plane.describe()["DataCaptureConfig"] == expected


def test_a_retained_count_must_fit_the_new_range(control_plane: InMemoryControlPlane) -> None:
    control_plane.create(InitialInstanceCount=4)
    control_plane.settle("ep")
    control_plane.configure("new", production(ManagedInstanceScaling={"MinInstanceCount": 1, "MaxInstanceCount": 2}))
    params = {"EndpointName": "ep", "EndpointConfigName": "new", "RetainAllVariantProperties": True}
    assert "must lie within" in control_plane.refusal("UpdateEndpoint", **params)[2]


def test_instances_cannot_become_serverless(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    control_plane.configure("serverless", production(ServerlessConfig=serverless()))
    refusal = control_plane.refusal("UpdateEndpoint", EndpointName="ep", EndpointConfigName="serverless")
    assert refusal[0] == "ValidationException"
    assert "cannot be updated to a serverless one" in refusal[2]


def test_serverless_can_become_instances(control_plane: InMemoryControlPlane) -> None:
    control_plane.create(ServerlessConfig=serverless())
    control_plane.settle("ep")
    control_plane.configure("instances", production(InitialInstanceCount=2))
    update(control_plane, "instances", RetainAllVariantProperties=True)
    assert summary(control_plane)["CurrentServerlessConfig"] == serverless()
    assert pending(control_plane)[0].instance_count == 2


def test_a_serverless_endpoint_may_have_more_variants(control_plane: InMemoryControlPlane) -> None:
    control_plane.create(ServerlessConfig=serverless())
    control_plane.settle("ep")
    control_plane.configure(
        "two", *(production(VariantName=name, ServerlessConfig=serverless()) for name in ("a", "AllTraffic"))
    )
    update(control_plane, "two")
    assert [variant.name for variant in pending(control_plane)] == ["a", "AllTraffic"]


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        (production(VariantName="renamed"), "deregister it before you remove it"),
        (production(InstanceType="ml.c5.xlarge"), "deregister it before you change its instance type"),
    ],
)
def test_a_scalable_target_is_neither_removed_nor_changed_in_type(
    control_plane: InMemoryControlPlane, variant: dict[str, Any], text: str
) -> None:
    control_plane.create()
    control_plane.settle("ep")
    control_plane.configure("new", variant)
    control_plane.scaled = {"ep": {"AllTraffic"}}
    code, _, message = control_plane.refusal("UpdateEndpoint", EndpointName="ep", EndpointConfigName="new")
    assert (code, text in message) == ("ValidationException", True)
    assert control_plane.describe()["EndpointStatus"] == "InService"
    control_plane.scaled = {"another": {"AllTraffic"}}  # it has been deregistered
    update(control_plane, "new")
    assert pending(control_plane)[0].name == variant["VariantName"]


def test_a_scalable_target_can_have_another_model_and_other_numbers(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    control_plane("CreateModel", ModelName="better", PrimaryContainer=MULTI_MODEL)
    control_plane.configure(
        "new", production(ModelName="better", InitialInstanceCount=2), production(VariantName="another")
    )
    control_plane.scaled = {"ep": {"AllTraffic", "long-gone"}}
    update(control_plane, "new")
    assert [variant.name for variant in pending(control_plane)] == ["AllTraffic", "another"]


def test_a_deployment_config_is_kept_only_when_asked(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    routing = {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0}
    deployment = {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing}}
    update(control_plane, "ep", DeploymentConfig=deployment)
    control_plane.settle("ep")
    update(control_plane, "ep", RetainDeploymentConfig=True)
    control_plane.settle("ep")
    assert control_plane.describe()["LastDeploymentConfig"] == deployment
    update(control_plane, "ep")
    assert control_plane.describe()["LastDeploymentConfig"] is None


def test_a_deleted_endpoint_is_gone_when_the_controller_has_removed_it(control_plane: InMemoryControlPlane) -> None:
    control_plane.create()
    control_plane.settle("ep")
    control_plane("DeleteEndpoint", EndpointName="ep")
    assert summary(control_plane)["VariantStatus"][0]["Status"] == "Deleting"
    assert "already existing" in control_plane.refusal("CreateEndpoint", EndpointName="ep", EndpointConfigName="ep")[2]
    assert control_plane.store.remove_endpoint("ep")
    assert "Could not find" in control_plane.refusal("DescribeEndpoint", EndpointName="ep")[2]
    control_plane("CreateEndpoint", EndpointName="ep", EndpointConfigName="ep")
