"""Bad input of the operations on inference components: each is refused with the member's name, and nothing is left."""

from typing import Any

import pytest

from tests.endpoint.services.helpers.components_plane import (
    COMPUTE,
    CONTAINER,
    ROLE,
    ComponentsPlane,
    capacity,
    specification,
)
from torpor_account.aws.service_models import service_model
from torpor_account.aws.validation import violations

BASE = {"BaseInferenceComponentName": "ic", "Container": {"ArtifactUrl": "s3://b/a.tar.gz"}}
MODEL = service_model("sagemaker")


def container(**members: Any) -> dict[str, Any]:
    return specification(Container={**CONTAINER, **members})


SPECIFICATIONS: list[tuple[dict[str, Any], str]] = [
    (specification(ModelName="one"), "Exactly one of ModelName and Container"),
    (specification(Container=None), "Exactly one of ModelName and Container"),
    (specification(ComputeResourceRequirements=None), "ComputeResourceRequirements must be given"),
    (
        specification(ComputeResourceRequirements={**COMPUTE, "MaxMemoryRequiredInMb": 512}),
        "MaxMemoryRequiredInMb must not be smaller",
    ),
    (
        specification(ComputeResourceRequirements={**COMPUTE, "AcceleratorPartitionType": "mig-3g.40gb"}),
        "AcceleratorPartitionType is not supported",
    ),
    (specification(Container={"ArtifactUrl": "s3://b/m.tar.gz"}), "Container must have an Image"),
    (container(ArtifactUrl="s3://b/prefix/"), "Container.ArtifactUrl must be s3://bucket/key of one archive"),
    (container(ArtifactUrl="https://b/m.tar.gz"), "Container.ArtifactUrl must be s3://bucket/key of one archive"),
    (container(Environment={f"K{n}": "v" for n in range(17)}), "must not have more than 16 entries"),
    (container(Environment={"TORPOR_POLICY": "none-such"}), "Container.Environment.TORPOR_POLICY"),
    ({**BASE, "ComputeResourceRequirements": COMPUTE}, "an adapter uses the compute resources of its base"),
    ({**BASE, "SchedulingConfig": {"PlacementStrategy": "SPREAD"}}, "an adapter is where its base is"),
    ({**BASE, "Container": {**CONTAINER}}, "ArtifactUrl alone"),
    ({"BaseInferenceComponentName": "ic", "ModelName": "one"}, "ArtifactUrl alone"),
    ({"ModelName": "lost", "ComputeResourceRequirements": COMPUTE}, 'Could not find model "'),
    (specification(InstanceType="ml.g5.xlarge"), "has instances of ml.m5.large"),
]


@pytest.mark.parametrize(("sent", "text"), SPECIFICATIONS)
def test_a_specification_that_no_copy_could_have_is_refused(
    plane: ComponentsPlane, sent: dict[str, Any], text: str
) -> None:
    created = plane.wanted(Specification=sent, RuntimeConfig=None)
    shape = MODEL.operation_model("CreateInferenceComponent").input_shape
    assert list(violations(created, shape)) == []  # what AWS's model takes
    assert text in plane.refusal("CreateInferenceComponent", **created)[2]
    assert plane.store.components() == ()
    plane.component()
    assert text in plane.refused("UpdateInferenceComponent", Specification=sent)
    assert plane.shown()["InferenceComponentStatus"] == "InService"


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"Specifications": [specification(InstanceType="ml.m5.large")]}, "Only one of Specification and"),
        ({"Specification": None}, "One of Specification and Specifications must be given"),
        ({"Specification": None, "Specifications": [specification()]}, "must have an InstanceType"),
        (
            {"Specification": None, "Specifications": [specification(InstanceType="ml.m5.large")] * 2},
            "must not have the same InstanceType twice",
        ),
        (
            {"Specification": None, "Specifications": [{**BASE, "InstanceType": "ml.m5.large"}], "RuntimeConfig": None},
            "BaseInferenceComponentName needs Specification",
        ),
        (
            {
                "Specification": None,
                "Specifications": [{**specification(ModelName="one"), "InstanceType": "ml.m5.large"}],
            },
            "Specification 1 of Specifications: Exactly one of",
        ),
        ({"Specification": BASE}, "RuntimeConfig cannot be given with BaseInferenceComponentName"),
        ({"Newest": 1}, "Torpor does not know Newest"),
        ({"Specification": specification(Newest=1)}, "Torpor does not know Newest"),
    ],
)
def test_a_request_that_contradicts_itself_is_refused(
    plane: ComponentsPlane, members: dict[str, Any], text: str
) -> None:
    assert text in plane.refusal("CreateInferenceComponent", **plane.wanted(**members))[2]
    assert plane.store.components() == ()


def rolling(kind: str, value: int, wait_s: int = 0, **members: Any) -> dict[str, Any]:
    size = {"Type": kind, "Value": value}
    return {"RollingUpdatePolicy": {"MaximumBatchSize": size, "WaitIntervalInSeconds": wait_s, **members}}


@pytest.mark.parametrize(
    ("deployment", "text"),
    [
        (rolling("CAPACITY_PERCENT", 4), "from 5 to 50"),
        (rolling("CAPACITY_PERCENT", 51), "from 5 to 50"),
        (rolling("COPY_COUNT", 3), "of 4, 2 at most"),
        (
            rolling("COPY_COUNT", 1, RollbackMaximumBatchSize={"Type": "COPY_COUNT", "Value": 5}),
            "not be more than the 4 present copies",
        ),
        (
            rolling("COPY_COUNT", 1, RollbackMaximumBatchSize={"Type": "CAPACITY_PERCENT", "Value": 101}),
            "not be more than 100",
        ),
        (
            rolling("COPY_COUNT", 1, wait_s=600, MaximumExecutionTimeoutInSeconds=2399),
            "4 batches wait 600 seconds each",
        ),
    ],
)
def test_batches_that_aws_excludes_are_refused(plane: ComponentsPlane, deployment: dict[str, Any], text: str) -> None:
    plane.component(RuntimeConfig={"CopyCount": 4})
    sent: dict[str, Any] = {"Specification": specification(), "DeploymentConfig": deployment}
    assert text in plane.refused("UpdateInferenceComponent", **sent)
    assert plane.shown()["InferenceComponentStatus"] == "InService"


def test_an_alarm_that_does_not_exist_is_refused(plane: ComponentsPlane) -> None:
    plane.component()
    back = {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "bell"}]}}
    sent: dict[str, Any] = {"Specification": specification(), "DeploymentConfig": {**rolling("COPY_COUNT", 1), **back}}
    assert 'alarms that do not exist in CloudWatch: "bell"' in plane.refused("UpdateInferenceComponent", **sent)
    plane.alarms.add("bell")
    plane.of("UpdateInferenceComponent", **sent)


@pytest.mark.parametrize("copies", [0, 1, 2, 4])
def test_batches_of_half_the_copies_or_of_one_are_taken(plane: ComponentsPlane, copies: int) -> None:
    plane.component(RuntimeConfig={"CopyCount": copies})
    largest = rolling("COPY_COUNT", max(1, copies // 2), wait_s=600, MaximumExecutionTimeoutInSeconds=2400)
    plane.of("UpdateInferenceComponent", Specification=specification(), DeploymentConfig=largest)


def test_an_update_says_what_it_changes(plane: ComponentsPlane) -> None:
    plane.component()
    assert "must have Specification, Specifications or RuntimeConfig" in plane.refused("UpdateInferenceComponent")
    alone: dict[str, Any] = {"RuntimeConfig": {"CopyCount": 2}, "DeploymentConfig": rolling("COPY_COUNT", 1)}
    assert "DeploymentConfig needs Specification" in plane.refused("UpdateInferenceComponent", **alone)


# -- the endpoint configuration ----------------------------------------------------------------------------------------
SCALING = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2}
POOL = {"InstanceType": "ml.m5.large", "Priority": 1}


@pytest.mark.parametrize(
    ("variants", "members", "text"),
    [
        ([capacity()], {"ExecutionRoleArn": None}, "ExecutionRoleArn must be given"),
        ([capacity(), capacity(VariantName="b", ModelName="one")], {}, "must all have a ModelName, or none"),
        (
            [{"VariantName": "v", "ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 1}}],
            {},
            "must have a ModelName with ServerlessConfig",
        ),
        ([capacity(ModelName="one", InstancePools=[POOL])], {}, "only one of InstanceType and InstancePools"),
        ([capacity(InstancePools=[POOL])], {}, "only one of InstanceType and InstancePools"),
        ([capacity(InstanceType=None)], {}, "needs either ServerlessConfig, or InstanceType"),
        ([capacity(InstanceType=None, InstancePools=[POOL, POOL])], {}, "the same InstanceType twice"),
        (
            [capacity(InstanceType=None, InstancePools=[POOL, {**POOL, "InstanceType": "ml.m5.xlarge"}])],
            {},
            "the same Priority twice",
        ),
        (
            [capacity(InstanceType=None, InstancePools=[{**POOL, "ModelNameOverride": "one"}])],
            {},
            "ModelNameOverride needs the ModelName",
        ),
        (
            [capacity(InstanceType=None, InstancePools=[{**POOL, "InstanceType": "ml.none.large"}])],
            {},
            "not in Torpor's catalogue",
        ),
        (
            [capacity(ManagedInstanceScaling={"Status": "DISABLED", "ScaleInPolicy": {"Strategy": "IDLE_RELEASE"}})],
            {},
            "ScaleInPolicy needs ManagedInstanceScaling",
        ),
        (
            [capacity()],
            {"ShadowProductionVariants": [capacity(VariantName="s", ModelName="one")]},
            "ShadowProductionVariants cannot be used with inference components",
        ),
        (
            [capacity(ModelName="one")],
            {"ShadowProductionVariants": [capacity(VariantName="s")]},
            "ShadowProductionVariants must have a ModelName",
        ),
    ],
)
def test_a_configuration_that_has_no_room_for_components_is_refused(
    plane: ComponentsPlane, variants: list[dict[str, Any]], members: dict[str, Any], text: str
) -> None:
    sent = {"EndpointConfigName": "c", "ProductionVariants": variants, "ExecutionRoleArn": ROLE, **members}
    sent = {name: value for name, value in sent.items() if value is not None}
    assert text in plane.refusal("CreateEndpointConfig", **sent)[2]
    assert plane.store.endpoint_config("c") is None


def test_instances_for_components_may_go_to_zero_in_strict_mode_too() -> None:
    plane = ComponentsPlane(strict=True, ManagedInstanceScaling=SCALING)
    policy = {"Strategy": "CONSOLIDATION", "MaximumStepSize": 2, "CooldownInMinutes": 5}
    plane.endpoint("more", capacity(ManagedInstanceScaling={**SCALING, "ScaleInPolicy": policy}))
    found = plane.store.endpoint("more")
    assert found is not None
    variant = found.variants[0]
    assert (variant.containers, variant.for_components, variant.managed) == ((), True, True)
    assert (variant.instances_min, variant.instances_max, variant.role) == (0, 2, ROLE)
    assert variant.scale_in is not None
    assert (variant.scale_in.strategy, variant.scale_in.step_max, variant.scale_in.cooldown_s) == (
        "CONSOLIDATION",
        2,
        300.0,
    )
    plane.close()


def test_an_endpoint_without_a_model_is_described_with_its_pools() -> None:
    pools = [{"InstanceType": "ml.m5.xlarge", "Priority": 2}, POOL]
    plane = ComponentsPlane(InstanceType=None, InstancePools=pools)
    plane.ready = {"AllTraffic": 3}
    plane.types = {"AllTraffic": {"ml.m5.large": 1, "ml.m5.xlarge": 2}}
    shown = plane.describe()["ProductionVariants"][0]
    assert (shown["DeployedImages"], shown["CurrentInstanceCount"], shown["DesiredInstanceCount"]) == ([], 3, 1)
    assert shown["InstancePools"] == [
        {"InstanceType": "ml.m5.large", "CurrentInstanceCount": 1},
        {"InstanceType": "ml.m5.xlarge", "CurrentInstanceCount": 2},
    ]
    plane.close()


def test_the_instances_that_follow_copies_take_no_number(plane: ComponentsPlane) -> None:
    scaling = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 3}
    plane.endpoint("managed", capacity(ManagedInstanceScaling=scaling))
    wanted = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 2}]
    operation = "UpdateEndpointWeightsAndCapacities"
    said = plane.refusal(operation, EndpointName="managed", DesiredWeightsAndCapacities=wanted)[2]
    assert "takes no DesiredInstanceCount" in said
    plane(operation, EndpointName="ep", DesiredWeightsAndCapacities=wanted)
