"""CreateEndpoint and its family: what is written for the controller, and what is told while it works."""

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
from torpor_endpoint.storage.records import EndpointRecord, EndpointStatus, Variant


def stored(desk: InMemoryControlPlane, name: str = "ep") -> EndpointRecord:
    endpoint = desk.store.endpoint(name)
    assert endpoint is not None
    return endpoint


def pending(desk: InMemoryControlPlane) -> tuple[Variant, ...]:
    variants = stored(desk).pending_variants
    assert variants is not None
    return variants


def summary(desk: InMemoryControlPlane) -> dict[str, Any]:
    (variant,) = desk.describe()["ProductionVariants"]
    assert isinstance(variant, dict)
    return variant


def update(desk: InMemoryControlPlane, config: str, **params: Any) -> dict[str, Any]:
    return desk("UpdateEndpoint", EndpointName="ep", EndpointConfigName=config, **params)


def rescale(desk: InMemoryControlPlane, **desired: Any) -> dict[str, Any]:
    return desk("UpdateEndpointWeightsAndCapacities", EndpointName="ep", DesiredWeightsAndCapacities=[desired])


def test_an_endpoint_is_created_with_its_models_resolved(desk: InMemoryControlPlane) -> None:
    desk.create("Houses", InitialVariantWeight=2, ContainerStartupHealthCheckTimeoutInSeconds=90)
    endpoint = stored(desk, "Houses")
    assert (endpoint.status, endpoint.arn) == (EndpointStatus.CREATING, f"{ARN}:endpoint/houses")
    (variant,) = endpoint.variants
    assert (variant.container.model_data_url, variant.weight, variant.startup_timeout_s) == (
        "s3://bucket/models",
        2,
        90,
    )
    assert (variant.instance_type, variant.instance_count) == ("ml.m5.large", 1)
    assert desk.changes == ["Houses"]


def test_a_running_endpoint_outlives_its_config_and_its_model(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep")
    before = desk.describe()
    desk("DeleteEndpointConfig", EndpointConfigName="ep")
    desk("DeleteModel", ModelName="ep")
    assert desk.describe() == before
    rescale(desk, VariantName="AllTraffic", DesiredInstanceCount=2)
    desk.settle("ep")
    desk("DeleteEndpoint", EndpointName="ep")


def test_a_config_whose_model_is_gone_makes_no_endpoint(desk: InMemoryControlPlane) -> None:
    desk("CreateModel", ModelName="ep", PrimaryContainer=MULTI_MODEL)
    desk.configure("ep", production())
    desk("DeleteModel", ModelName="ep")
    refusal = desk.refusal("CreateEndpoint", EndpointName="ep", EndpointConfigName="ep")
    assert refusal[2] == f'Could not find model "{ARN}:model/ep".'
    assert desk.changes == []


def test_describe_tells_what_runs_and_what_is_wanted(desk: InMemoryControlPlane) -> None:
    desk.create(InitialInstanceCount=3, RoutingConfig={"RoutingStrategy": "RANDOM"})
    creating = summary(desk)
    assert creating["VariantStatus"] == [{"Status": "Creating", "StartTime": 1000.0}]
    assert (creating["CurrentInstanceCount"], creating["DesiredInstanceCount"]) == (0, 3)
    desk.now_s, desk.ready = 1010.0, {"AllTraffic": 3}
    desk.settle("ep")
    assert desk.describe()["LastModifiedTime"] == 1010.0
    assert summary(desk) == {
        "VariantName": "AllTraffic",
        "DeployedImages": [{"SpecifiedImage": "torpor", "ResolvedImage": "torpor", "ResolutionTime": 1000.0}],
        "CurrentWeight": 1.0,
        "DesiredWeight": 1.0,
        "CurrentInstanceCount": 3,
        "DesiredInstanceCount": 3,
        "VariantStatus": [],
        "ManagedInstanceScaling": None,
        "RoutingConfig": {"RoutingStrategy": "RANDOM"},
    }


def test_a_failed_endpoint_says_why_and_not_at_length(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep", EndpointEvent.FAILED, "x" * 2000)
    described = desk.describe()
    assert (described["EndpointStatus"], described["FailureReason"]) == ("Failed", "x" * 1024)


def test_weights_and_counts_change_once_the_controller_is_done(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep")
    desk.changes.clear()
    rescale(desk, VariantName="AllTraffic", DesiredWeight=0.5, DesiredInstanceCount=2)
    assert desk.changes == ["ep"]
    assert desk.describe()["PendingDeploymentSummary"] is None
    updating = summary(desk)
    assert updating["VariantStatus"][0]["Status"] == "Updating"
    assert (updating["CurrentWeight"], updating["DesiredWeight"], updating["DesiredInstanceCount"]) == (1.0, 0.5, 2)
    desk.settle("ep")
    assert summary(desk)["CurrentWeight"] == 0.5
    assert stored(desk).variants[0].instance_count == 2


def test_a_rescale_that_fails_leaves_the_old_weights(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep")
    rescale(desk, VariantName="AllTraffic", DesiredWeight=0.5)
    desk.settle("ep", EndpointEvent.FAILED, "no room")
    assert desk.describe()["EndpointStatus"] == "RollingBack"
    desk.settle("ep", EndpointEvent.ROLLED_BACK)
    assert (summary(desk)["CurrentWeight"], summary(desk)["DesiredWeight"]) == (1.0, 1.0)


def test_serverless_concurrency_can_change(desk: InMemoryControlPlane) -> None:
    desk.create(ServerlessConfig=serverless(2048, 5, ProvisionedConcurrency=1))
    desk.settle("ep")
    rescale(desk, VariantName="AllTraffic", ServerlessUpdateConfig={"MaxConcurrency": 9})
    updating = summary(desk)
    assert "DesiredInstanceCount" not in updating
    assert updating["CurrentServerlessConfig"] == serverless(2048, 5, ProvisionedConcurrency=1)
    assert updating["DesiredServerlessConfig"] == serverless(2048, 9, ProvisionedConcurrency=1)
    desk.settle("ep")
    assert summary(desk)["CurrentServerlessConfig"] == serverless(2048, 9, ProvisionedConcurrency=1)
    assert "DesiredServerlessConfig" not in summary(desk)


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
    desk: InMemoryControlPlane, variant: dict[str, Any], desired: list[dict[str, Any]], text: str
) -> None:
    desk.create(**variant)
    desk.settle("ep")
    params = {"EndpointName": "ep", "DesiredWeightsAndCapacities": desired}
    code, _, message = desk.refusal("UpdateEndpointWeightsAndCapacities", **params)
    assert (code, text in message) == ("ValidationException", True)
    assert desk.describe()["EndpointStatus"] == "InService"


def test_a_variant_that_may_scale_to_zero_can_be_set_to_zero(desk: InMemoryControlPlane) -> None:
    desk.create(ManagedInstanceScaling={"MinInstanceCount": 0, "MaxInstanceCount": 2})
    desk.settle("ep")
    rescale(desk, VariantName="AllTraffic", DesiredInstanceCount=0)
    assert pending(desk)[0].instance_count == 0


def test_a_count_that_is_asked_for_is_remembered_until_it_is_so_even_if_it_is_the_recorded_one(
    desk: InMemoryControlPlane,
) -> None:
    desk.create()
    desk.settle("ep")
    rescale(desk, VariantName="AllTraffic", DesiredInstanceCount=1)
    assert stored(desk).pending_told == ("AllTraffic",)
    desk.settle("ep")
    assert stored(desk).pending_told == ()
    rescale(desk, VariantName="AllTraffic", DesiredWeight=0.5)
    assert stored(desk).pending_told == ()


def test_an_update_shows_what_is_coming_beside_what_is(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep")
    desk.configure("bigger", production(InstanceType="ml.m5.xlarge", InitialInstanceCount=2))
    desk.now_s = 1020.0
    assert update(desk, "bigger") == {"EndpointArn": f"{ARN}:endpoint/ep"}
    described = desk.describe()
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("Updating", "ep")
    coming = described["PendingDeploymentSummary"]
    assert (coming["EndpointConfigName"], coming["StartTime"]) == ("bigger", 1020.0)
    assert coming["ProductionVariants"][0]["InstanceType"] == "ml.m5.xlarge"
    assert summary(desk)["DesiredInstanceCount"] == 1
    desk.settle("ep")
    described = desk.describe()
    assert (described["EndpointConfigName"], described["PendingDeploymentSummary"]) == ("bigger", None)
    assert summary(desk)["DesiredInstanceCount"] == 2


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
def test_an_update_retains_what_it_is_told_to(
    desk: InMemoryControlPlane, retain: bool, excluded: list[str], kept: tuple[float, int]
) -> None:
    desk.create(InitialVariantWeight=0.5, InitialInstanceCount=4)
    desk.settle("ep")
    desk.configure("new", production(), production(VariantName="another"))
    properties = [{"VariantPropertyType": name} for name in excluded]
    update(desk, "new", RetainAllVariantProperties=retain, ExcludeRetainedVariantProperties=properties)
    same, another = pending(desk)
    assert (same.weight, same.instance_count) == kept
    assert (another.weight, another.instance_count) == (1.0, 1)


def test_a_retained_count_must_fit_the_new_range(desk: InMemoryControlPlane) -> None:
    desk.create(InitialInstanceCount=4)
    desk.settle("ep")
    desk.configure("new", production(ManagedInstanceScaling={"MinInstanceCount": 1, "MaxInstanceCount": 2}))
    params = {"EndpointName": "ep", "EndpointConfigName": "new", "RetainAllVariantProperties": True}
    assert "must lie within" in desk.refusal("UpdateEndpoint", **params)[2]


def test_instances_cannot_become_serverless(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep")
    desk.configure("serverless", production(ServerlessConfig=serverless()))
    refusal = desk.refusal("UpdateEndpoint", EndpointName="ep", EndpointConfigName="serverless")
    assert refusal[0] == "ValidationException"
    assert "cannot be updated to a serverless one" in refusal[2]


def test_serverless_can_become_instances(desk: InMemoryControlPlane) -> None:
    desk.create(ServerlessConfig=serverless())
    desk.settle("ep")
    desk.configure("instances", production(InitialInstanceCount=2))
    update(desk, "instances", RetainAllVariantProperties=True)
    assert summary(desk)["CurrentServerlessConfig"] == serverless()
    assert pending(desk)[0].instance_count == 2


def test_a_serverless_endpoint_may_have_more_variants(desk: InMemoryControlPlane) -> None:
    desk.create(ServerlessConfig=serverless())
    desk.settle("ep")
    desk.configure(
        "two", *(production(VariantName=name, ServerlessConfig=serverless()) for name in ("a", "AllTraffic"))
    )
    update(desk, "two")
    assert [variant.name for variant in pending(desk)] == ["a", "AllTraffic"]


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        (production(VariantName="renamed"), "deregister it before you remove it"),
        (production(InstanceType="ml.c5.xlarge"), "deregister it before you change its instance type"),
    ],
)
def test_a_scalable_target_is_neither_removed_nor_changed_in_type(
    desk: InMemoryControlPlane, variant: dict[str, Any], text: str
) -> None:
    desk.create()
    desk.settle("ep")
    desk.configure("new", variant)
    desk.scaled = {"ep": {"AllTraffic"}}
    code, _, message = desk.refusal("UpdateEndpoint", EndpointName="ep", EndpointConfigName="new")
    assert (code, text in message) == ("ValidationException", True)
    assert desk.describe()["EndpointStatus"] == "InService"
    desk.scaled = {"another": {"AllTraffic"}}  # it has been deregistered
    update(desk, "new")
    assert pending(desk)[0].name == variant["VariantName"]


def test_a_scalable_target_can_have_another_model_and_other_numbers(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep")
    desk("CreateModel", ModelName="better", PrimaryContainer=MULTI_MODEL)
    desk.configure("new", production(ModelName="better", InitialInstanceCount=2), production(VariantName="another"))
    desk.scaled = {"ep": {"AllTraffic", "long-gone"}}
    update(desk, "new")
    assert [variant.name for variant in pending(desk)] == ["AllTraffic", "another"]


def test_a_deployment_config_is_kept_only_when_asked(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep")
    deployment = {"RollingUpdatePolicy": {"WaitIntervalInSeconds": 1}}
    update(desk, "ep", DeploymentConfig=deployment)
    desk.settle("ep")
    update(desk, "ep", RetainDeploymentConfig=True)
    desk.settle("ep")
    assert desk.describe()["LastDeploymentConfig"] == deployment
    update(desk, "ep")
    assert desk.describe()["LastDeploymentConfig"] is None


def test_a_deleted_endpoint_is_gone_when_the_controller_has_removed_it(desk: InMemoryControlPlane) -> None:
    desk.create()
    desk.settle("ep")
    desk("DeleteEndpoint", EndpointName="ep")
    assert summary(desk)["VariantStatus"][0]["Status"] == "Deleting"
    assert "already existing" in desk.refusal("CreateEndpoint", EndpointName="ep", EndpointConfigName="ep")[2]
    assert desk.store.remove_endpoint("ep")
    assert "Could not find" in desk.refusal("DescribeEndpoint", EndpointName="ep")[2]
    desk("CreateEndpoint", EndpointName="ep", EndpointConfigName="ep")
