"""What a DeploymentConfig may say: each refused one, with the member that its message names."""

from typing import Any

import pytest

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane, production, serverless
from torpor_account.aws.errors import AwsError
from torpor_account.aws.service_models import service_model
from torpor_account.aws.validation import violations
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.services.sagemaker.deployments.deployment_rules import check_deployment

Wire = dict[str, Any]
UPDATE = service_model("sagemaker").operation_model("UpdateEndpoint").input_shape


def percent(value: int) -> Wire:
    return {"Type": "CAPACITY_PERCENT", "Value": value}


def count(value: int) -> Wire:
    return {"Type": "INSTANCE_COUNT", "Value": value}


def blue_green(kind: str = "ALL_AT_ONCE", *, wait_s: int = 60, **members: Any) -> Wire:
    """`members` of the TrafficRoutingConfiguration end with Size, those of the policy do not."""
    sizes = {name: value for name, value in members.items() if name.endswith("Size")}
    policy = {name: value for name, value in members.items() if name not in sizes}
    routing = {"Type": kind, "WaitIntervalInSeconds": wait_s, **sizes}
    return {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing, **policy}}


def rolling(size: Wire, *, wait_s: int = 60, **members: Any) -> Wire:
    return {"RollingUpdatePolicy": {"MaximumBatchSize": size, "WaitIntervalInSeconds": wait_s, **members}}


def alarmed(*names: str) -> Wire:
    return {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": name} for name in names]}}


@pytest.fixture
def four(control_plane: InMemoryControlPlane) -> InMemoryControlPlane:
    """An endpoint of four instances, and a configuration for its update."""
    control_plane.create(InitialInstanceCount=4)
    control_plane.settle("ep")
    control_plane.configure("new", production(InitialInstanceCount=4))
    control_plane.alarms.add("errors")
    return control_plane


def refused(plane: InMemoryControlPlane, deployment: Wire, **params: Any) -> str:
    call = {"EndpointName": "ep", "EndpointConfigName": "new", "DeploymentConfig": deployment, **params}
    assert list(violations(call, UPDATE)) == []  # AWS's model takes it
    code, status, message = plane.refusal("UpdateEndpoint", **call)
    assert (code, status) == ("ValidationException", 400)
    endpoint = plane.store.endpoint("ep")
    assert endpoint is not None
    assert endpoint.pending_config_name is None
    return message


BAD: dict[str, tuple[Wire, str]] = {
    "two policies": ({**blue_green(), **rolling(count(1))}, "only one update policy"),
    "canary without its size": (blue_green("CANARY"), "CANARY needs CanarySize"),
    "linear without its size": (blue_green("LINEAR"), "LINEAR needs LinearStepSize"),
    "the size of another type": (blue_green("LINEAR", CanarySize=count(1), LinearStepSize=count(1)), "CanarySize belo"),
    "a step of a canary": (blue_green("CANARY", CanarySize=count(1), LinearStepSize=count(1)), "LinearStepSize belo"),
    "a size all at once": (blue_green(CanarySize=count(1)), "CanarySize belongs"),
    "canary above half": (blue_green("CANARY", CanarySize=percent(51)), "CanarySize must be at most 50 %"),
    "three of four instances": (blue_green("CANARY", CanarySize=count(3)), "3 instance(s) are not, of the 4"),
    "too small steps": (blue_green("LINEAR", LinearStepSize=percent(9)), "LinearStepSize must be 10 to 50 %"),
    "too large steps": (blue_green("LINEAR", LinearStepSize=percent(60)), "LinearStepSize must be 10 to 50 %"),
    "a large batch": (rolling(percent(51)), "MaximumBatchSize must be 5 to 50 %"),
    "a small batch": (rolling(percent(4)), "MaximumBatchSize must be 5 to 50 %"),
    "a batch of three": (rolling(count(3)), "MaximumBatchSize must be 5 to 50 %"),
    "a rollback beyond all": (rolling(count(1), RollbackMaximumBatchSize=percent(101)), "RollbackMaximumBatchSize"),
    "a rollback of five of four": (rolling(count(1), RollbackMaximumBatchSize=count(5)), "RollbackMaximumBatchSize"),
    "an alarm without a name": ({"AutoRollbackConfiguration": {"Alarms": [{}]}}, "needs an AlarmName"),
    "an alarm twice": (alarmed("errors", "errors"), "more than once"),
    "an alarm that is not there": (alarmed("errors", "gone"), 'alarms that do not exist in CloudWatch: "gone"'),
    "no time for the canary": (
        blue_green("CANARY", CanarySize=count(1), wait_s=300, TerminationWaitInSeconds=300,
                   MaximumExecutionTimeoutInSeconds=600),
        "take 600 seconds in its 2 step(s)",
    ),
    "no time for ten steps": (
        blue_green("LINEAR", LinearStepSize=percent(10), wait_s=180, MaximumExecutionTimeoutInSeconds=1620),
        "take 1620 seconds in its 10 step(s)",
    ),
    "no time for four batches": (rolling(count(1), wait_s=180, MaximumExecutionTimeoutInSeconds=720), "take 720"),
    "no time to end": (
        blue_green(TerminationWaitInSeconds=600, MaximumExecutionTimeoutInSeconds=600), "must be larger",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("deployment", "says"), BAD.values(), ids=list(BAD))
def test_a_deployment_that_cannot_be_is_refused(four: InMemoryControlPlane, deployment: Wire, says: str) -> None:
    assert says in refused(four, deployment)


def test_the_size_of_a_rollback_is_of_the_old_fleet(four: InMemoryControlPlane) -> None:
    four.configure("two", production(InitialInstanceCount=2))
    of_four = rolling(count(1), RollbackMaximumBatchSize=count(4))
    four.configure("six", production(InitialInstanceCount=6))
    of_six = rolling(count(1), RollbackMaximumBatchSize=count(6))
    assert "6 instance(s) are not, of the 4" in refused(four, of_six, EndpointConfigName="six")
    four("UpdateEndpoint", EndpointName="ep", EndpointConfigName="two", DeploymentConfig=of_four)


def test_a_number_of_instances_is_refused_where_a_variant_has_none() -> None:
    one = rolling(count(1))
    none, four = (Variant("v", "m", (Container("torpor"),), instance_count=size) for size in (0, 4))
    with pytest.raises(AwsError, match=r'MaximumBatchSize counts instances, and production variant "v" has none'):
        check_deployment(one, [four], [none], strict=False)
    with pytest.raises(AwsError, match="RollbackMaximumBatchSize counts instances"):
        check_deployment({**rolling(percent(50), RollbackMaximumBatchSize=count(1))}, [none], [four], strict=False)
    check_deployment(rolling(percent(50)), [none], [none], strict=False)


GOOD: dict[str, Wire] = {
    "all at once": blue_green(),
    "alarms alone": alarmed("errors"),
    "a canary": blue_green("CANARY", CanarySize=count(2), MaximumExecutionTimeoutInSeconds=600),
    "ten steps": blue_green("LINEAR", LinearStepSize=percent(10), wait_s=180, MaximumExecutionTimeoutInSeconds=1621),
    "batches": {**rolling(count(2), RollbackMaximumBatchSize=count(4)), **alarmed("errors")},
}


@pytest.mark.parametrize("deployment", GOOD.values(), ids=list(GOOD))
def test_a_deployment_that_can_be_is_taken_and_shown(four: InMemoryControlPlane, deployment: Wire) -> None:
    four("UpdateEndpoint", EndpointName="ep", EndpointConfigName="new", DeploymentConfig=deployment)
    assert four.describe()["LastDeploymentConfig"] == deployment
    record = four.store.endpoint("ep")
    assert record is not None
    told = {one.deployed_by for one in record.variants}, {one.deployed_by for one in record.pending_variants or ()}
    assert told == ({record.config_name}, {"new"})  # the metrics of either fleet name its configuration


def test_variants_of_other_names_exclude_a_deployment_config(four: InMemoryControlPlane) -> None:
    four.configure("renamed", production(VariantName="Other", InitialInstanceCount=4))
    assert 'has "AllTraffic", and the new endpoint configuration "Other"' in refused(
        four, blue_green(), EndpointConfigName="renamed"
    )


def test_a_deployment_config_neither_brings_nor_removes_shadow_variants(four: InMemoryControlPlane) -> None:
    shadows = [production(VariantName="Shadow", InitialInstanceCount=4)]
    variants = [production(InitialInstanceCount=4)]
    four(
        "CreateEndpointConfig",
        EndpointConfigName="shadowed",
        ProductionVariants=variants,
        ShadowProductionVariants=shadows,
    )
    assert "neither brings nor removes shadow" in refused(four, blue_green(), EndpointConfigName="shadowed")
    four("UpdateEndpoint", EndpointName="ep", EndpointConfigName="shadowed")
    four.settle("ep")
    assert "neither brings nor removes shadow" in refused(four, blue_green())
    four("UpdateEndpoint", EndpointName="ep", EndpointConfigName="shadowed", DeploymentConfig=blue_green())


def test_several_variants_exclude_batches_alone(four: InMemoryControlPlane) -> None:
    two = [production(VariantName=name, InitialInstanceCount=2) for name in ("AllTraffic", "Other")]
    four.configure("two", *two)
    four("UpdateEndpoint", EndpointName="ep", EndpointConfigName="two")
    four.settle("ep")
    assert "several production variants" in refused(four, rolling(count(1)), EndpointConfigName="two")
    canary = blue_green("CANARY", CanarySize=count(1))
    four("UpdateEndpoint", EndpointName="ep", EndpointConfigName="two", DeploymentConfig=canary)


def test_serverless_has_shares_of_traffic_and_no_instances(control_plane: InMemoryControlPlane) -> None:
    control_plane.create(ServerlessConfig=serverless())
    control_plane.settle("ep")
    control_plane.configure("new", production(ServerlessConfig=serverless()))
    assert "not supported for serverless endpoints" in refused(control_plane, rolling(percent(50)))
    assert "CanarySize counts instances" in refused(control_plane, blue_green("CANARY", CanarySize=count(1)))
    canary = blue_green("CANARY", CanarySize=percent(10))
    control_plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="new", DeploymentConfig=canary)


def test_strict_mode_refuses_a_deployment_config_for_serverless(strict_control_plane: InMemoryControlPlane) -> None:
    plane = strict_control_plane
    plane("CreateModel", ModelName="ep", PrimaryContainer={"Image": "torpor", "ModelDataUrl": "s3://bucket/m.tar.gz"})
    plane.configure("new", production(ServerlessConfig=serverless()))
    plane("CreateEndpoint", EndpointName="ep", EndpointConfigName="new")
    plane.settle("ep")
    assert "deployment guardrails are for" in refused(plane, blue_green("CANARY", CanarySize=percent(10)))


def test_a_creation_keeps_a_config_and_refuses_one_that_contradicts_itself(control_plane: InMemoryControlPlane) -> None:
    control_plane("CreateModel", ModelName="ep", PrimaryContainer={"Image": "torpor"})
    control_plane.configure("ep", production())
    named = {"EndpointName": "ep", "EndpointConfigName": "ep"}
    message = control_plane.refusal("CreateEndpoint", **named, DeploymentConfig=blue_green("CANARY"))[2]
    assert message == "TrafficRoutingConfiguration of Type CANARY needs CanarySize."
    later = {**blue_green("CANARY", CanarySize=count(1)), **alarmed("not-yet")}
    control_plane("CreateEndpoint", **named, DeploymentConfig=later)  # an update may have more instances
    control_plane.settle("ep")
    again = control_plane.refusal("UpdateEndpoint", **named, RetainDeploymentConfig=True)[2]
    assert "1 instance(s) are not, of the 1 of" in again
    control_plane.configure("four", production(InitialInstanceCount=4))
    again = control_plane.refusal(
        "UpdateEndpoint", EndpointName="ep", EndpointConfigName="four", RetainDeploymentConfig=True
    )[2]
    assert again == 'AutoRollbackConfiguration names alarms that do not exist in CloudWatch: "not-yet".'
