"""CreateInferenceComponent and its family, from creation to deletion, with AWS's texts."""

from dataclasses import replace
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
from tests.endpoint.services.helpers.in_memory_control_plane import ARN, MULTI_MODEL
from torpor_endpoint.core.components.component_lifecycle import ComponentEvent
from torpor_endpoint.core.components.component_records import ComponentSpecification
from torpor_endpoint.core.lifecycle import EndpointEvent
from torpor_endpoint.core.packing.copy_placement import NOT_ENOUGH
from torpor_endpoint.host.images import Image, Images

IC_ARN = f"{ARN}:inference-component/ic"


def test_a_component_is_described_as_it_was_asked_for(plane: ComponentsPlane) -> None:
    startup = {"ContainerStartupHealthCheckTimeoutInSeconds": 120, "ModelDataDownloadTimeoutInSeconds": 60}
    scheduling = {"PlacementStrategy": "BINPACK", "AvailabilityZoneBalance": {"EnforcementMode": "PERMISSIVE"}}
    more = {"StartupParameters": startup, "SchedulingConfig": scheduling, "DataCacheConfig": {"EnableCaching": True}}
    answer = plane("CreateInferenceComponent", **plane.wanted(Specification=specification(**more)))
    assert answer == {"InferenceComponentArn": IC_ARN}
    assert plane.shown()["InferenceComponentStatus"] == "Creating"
    plane.settle_component("ic")
    plane.copies["ic"] = {"ml.m5.large": 1}
    shown = plane.shown()
    image = {"SpecifiedImage": "torpor", "ResolvedImage": "torpor", "ResolutionTime": 1000.0}
    container = {name: value for name, value in CONTAINER.items() if name != "Image"}
    assert shown["Specification"] == {
        "Container": {"DeployedImage": image, **container},
        "ComputeResourceRequirements": COMPUTE,
        **more,
    }
    assert (shown["EndpointName"], shown["EndpointArn"]) == ("ep", f"{ARN}:endpoint/ep")
    assert (shown["VariantName"], shown["InferenceComponentStatus"]) == ("AllTraffic", "InService")
    assert shown["RuntimeConfig"] == {"DesiredCopyCount": 1, "CurrentCopyCount": 1, "PlacementStatus": None}
    assert plane.changes[-1] == "ic"


def test_what_the_fleet_reads_is_what_was_sent(plane: ComponentsPlane) -> None:
    compute = {"MinMemoryRequiredInMb": 512, "MaxMemoryRequiredInMb": 700, "NumberOfCpuCoresRequired": 0.5}
    plane.component(Specification=specification(ComputeResourceRequirements=compute), RuntimeConfig={"CopyCount": 3})
    record = plane.store.component("ic")
    assert record is not None
    one = record.specifications[0]
    assert one.resources is not None
    assert (one.resources.min_memory_mib, one.resources.max_memory_mib, one.resources.cores) == (512, 700, 0.5)
    assert (one.containers[0].model_data_url, record.copies) == ("s3://bucket/model.tar.gz", 3)
    assert one.containers[0].role.endswith("role/walk")


def test_a_model_brings_its_containers(plane: ComponentsPlane) -> None:
    plane.component(Specification={"ModelName": "one", "ComputeResourceRequirements": COMPUTE}, RuntimeConfig=None)
    record = plane.store.component("ic")
    assert record is not None
    assert [one.image for one in record.specifications[0].containers] == ["torpor"]
    assert record.copies == 1
    assert plane.shown()["Specification"] == {"ModelName": "one", "ComputeResourceRequirements": COMPUTE}


def test_models_of_many_models_are_taken_unless_strict(plane: ComponentsPlane, strict_plane: ComponentsPlane) -> None:
    for each in (plane, strict_plane):
        each("CreateModel", ModelName="many", PrimaryContainer=MULTI_MODEL)
    wanted = plane.wanted(Specification={"ModelName": "many", "ComputeResourceRequirements": COMPUTE})
    plane("CreateInferenceComponent", **wanted)
    assert "Mode MultiModel" in strict_plane.refusal("CreateInferenceComponent", **wanted)[2]


def test_each_instance_type_has_its_specification() -> None:
    pools = [{"InstanceType": "ml.m5.xlarge", "Priority": 2}, {"InstanceType": "ml.m5.large", "Priority": 1}]
    plane = ComponentsPlane(InstanceType=None, InstancePools=pools)
    large, xlarge = specification(InstanceType="ml.m5.large"), specification(InstanceType="ml.m5.xlarge")
    lacking = plane.wanted(Specification=None, Specifications=[large])
    assert "instances of ml.m5.xlarge" in plane.refusal("CreateInferenceComponent", **lacking)[2]
    plane.component(Specification=None, Specifications=[large, xlarge])
    plane.copies["ic"] = {"ml.m5.large": 2}
    shown = plane.shown()
    assert "Specification" not in shown
    assert [one["InstanceType"] for one in shown["Specifications"]] == ["ml.m5.large", "ml.m5.xlarge"]
    assert shown["RuntimeConfig"]["PlacementStatus"] == [{"InstanceType": "ml.m5.large", "CurrentCopyCount": 2}]
    plane.close()


def test_an_endpoint_whose_variant_has_a_model_takes_none(plane: ComponentsPlane) -> None:
    plane("CreateModel", ModelName="m", PrimaryContainer={"Image": "torpor"})
    plane.configure("m", {**capacity(), "ModelName": "m"})
    plane("CreateEndpoint", EndpointName="m", EndpointConfigName="m")
    plane.settle("m")
    assert plane.refusal("CreateInferenceComponent", **plane.wanted(EndpointName="m"))[2] == (
        "Invalid request provided: Inference Components are not supported in this Endpoint. Please make sure this "
        "endpoint can deploy inference components."
    )


def test_a_variant_is_named_where_there_are_several(plane: ComponentsPlane) -> None:
    plane.endpoint("two", capacity(VariantName="a"), capacity(VariantName="b"))
    unnamed = plane.wanted(EndpointName="two")
    assert "VariantName must be given" in plane.refusal("CreateInferenceComponent", **unnamed)[2]
    strange = plane.refusal("CreateInferenceComponent", **unnamed, VariantName="c")[2]
    assert 'no production variant "c". It has "a", "b"' in strange
    plane.component(EndpointName="two", VariantName="b")
    assert plane.shown()["VariantName"] == "b"


def test_an_endpoint_that_is_not_in_service_takes_none(plane: ComponentsPlane) -> None:
    lost = plane.refusal("CreateInferenceComponent", **plane.wanted(EndpointName="lost"))
    assert lost == ("ValidationException", 400, f'Could not find endpoint "{ARN}:endpoint/lost".')
    plane("CreateEndpoint", EndpointName="new", EndpointConfigName="ep")
    wanted = plane.wanted(EndpointName="new")
    assert "while its status is Creating" in plane.refusal("CreateInferenceComponent", **wanted)[2]


def test_a_name_is_taken_once_and_not_found_by_its_text(plane: ComponentsPlane) -> None:
    plane.component()
    again = plane.refusal("CreateInferenceComponent", **plane.wanted("IC"))[2]
    assert again == f'Cannot create already existing inference component "{IC_ARN}".'
    for operation in ("DescribeInferenceComponent", "DeleteInferenceComponent"):
        lost = f'Could not find inference component "{ARN}:inference-component/lost".'
        assert plane.refused(operation, "lost") == lost


@pytest.mark.parametrize(
    ("operation", "members", "state"),
    [
        (None, {}, "CREATE_IN_PROGRESS"),
        ("UpdateInferenceComponentRuntimeConfig", {"DesiredRuntimeConfig": {"CopyCount": 2}}, "UPDATE_RC_IN_PROGRESS"),
        ("UpdateInferenceComponent", {"Specification": specification()}, "UPDATE_IN_PROGRESS"),
        ("DeleteInferenceComponent", {}, "DELETE_IN_PROGRESS"),
    ],
)
def test_a_component_in_progress_is_left_alone(
    plane: ComponentsPlane, operation: str | None, members: dict[str, Any], state: str
) -> None:
    plane("CreateInferenceComponent", **plane.wanted())
    if operation is not None:
        plane.settle_component("ic")
        plane.of(operation, **members)
    told = f'inference component "{IC_ARN}" while it is in state {state}.'
    assert plane.refused("DeleteInferenceComponent") == f"Cannot delete {told}"
    rescaled = plane.refused("UpdateInferenceComponentRuntimeConfig", DesiredRuntimeConfig={"CopyCount": 2})
    assert rescaled == f"Cannot update {told}"
    assert plane.refused("UpdateInferenceComponent", Specification=specification()) == f"Cannot update {told}"


def test_a_failed_component_says_why_and_can_only_be_deleted(plane: ComponentsPlane) -> None:
    plane("CreateInferenceComponent", **plane.wanted())
    plane.settle_component("ic", ComponentEvent.FAILED, "There is not enough hardware resources.")
    assert plane.shown()["FailureReason"] == "There is not enough hardware resources."
    assert "in state FAILED" in plane.refused("UpdateInferenceComponent", Specification=specification())
    plane.of("DeleteInferenceComponent")
    plane.gone()
    assert "Could not find" in plane.refused("DescribeInferenceComponent")


def test_copies_are_changed_to_none_and_back(plane: ComponentsPlane) -> None:
    plane.component()
    for copies in (0, 4):
        answer = plane.of("UpdateInferenceComponentRuntimeConfig", DesiredRuntimeConfig={"CopyCount": copies})
        assert answer == {"InferenceComponentArn": IC_ARN}
        assert plane.shown()["RuntimeConfig"]["DesiredCopyCount"] == copies
        plane.settle_component("ic")
    assert plane.of("UpdateInferenceComponent", RuntimeConfig={"CopyCount": 2}) == answer
    assert plane.shown()["RuntimeConfig"]["DesiredCopyCount"] == 2


def test_an_update_is_shown_once_it_is_done(plane: ComponentsPlane) -> None:
    plane.component(RuntimeConfig={"CopyCount": 2})
    rolling = {"MaximumBatchSize": {"Type": "COPY_COUNT", "Value": 1}, "WaitIntervalInSeconds": 10}
    deployment = {"RollingUpdatePolicy": rolling}
    model = {"ModelName": "one", "ComputeResourceRequirements": COMPUTE}
    plane.of("UpdateInferenceComponent", Specification=model, DeploymentConfig=deployment)
    assert "Container" in plane.shown()["Specification"]
    plane.settle_component("ic")
    assert plane.shown()["Specification"] == model
    assert plane.shown()["LastDeploymentConfig"] == deployment
    assert plane.shown()["RuntimeConfig"]["DesiredCopyCount"] == 2


def test_an_update_that_was_rolled_back_leaves_the_old_specification_and_its_reason(plane: ComponentsPlane) -> None:
    plane.component()
    plane.of("UpdateInferenceComponent", Specification={"ModelName": "one", "ComputeResourceRequirements": COMPUTE})
    plane.settle_component("ic", ComponentEvent.ROLLED_BACK, 'alarm "a" is in ALARM')
    shown = plane.shown()
    assert (shown["InferenceComponentStatus"], shown["FailureReason"]) == ("InService", 'alarm "a" is in ALARM')
    assert "Container" in shown["Specification"]


def test_components_are_listed_by_endpoint_variant_status_and_name(plane: ComponentsPlane) -> None:
    plane.endpoint("other", capacity(VariantName="v"))
    for number, endpoint in enumerate(("ep", "other", "ep")):
        plane.now_s += 1
        plane("CreateInferenceComponent", **plane.wanted(f"ic{number}", EndpointName=endpoint))
    plane.settle_component("ic0")

    def names(**params: Any) -> list[str]:
        listed = plane("ListInferenceComponents", **params)["InferenceComponents"]
        return [one["InferenceComponentName"] for one in listed]

    assert names() == ["ic2", "ic1", "ic0"]
    assert names(EndpointNameEquals="ep", SortBy="Name", SortOrder="Ascending") == ["ic0", "ic2"]
    assert names(VariantNameEquals="v") == ["ic1"]
    assert names(StatusEquals="InService") == ["ic0"]
    assert names(NameContains="c2") == ["ic2"]
    first = plane("ListInferenceComponents", MaxResults=2)
    assert names(MaxResults=2, NextToken=first["NextToken"]) == ["ic0"]


def test_a_component_has_tags(plane: ComponentsPlane) -> None:
    plane.component(Tags=[{"Key": "team", "Value": "blue"}])
    assert plane("ListTags", ResourceArn=IC_ARN) == {"Tags": [{"Key": "team", "Value": "blue"}]}
    plane("AddTags", ResourceArn=IC_ARN, Tags=[{"Key": "team", "Value": "red"}])
    assert plane("ListTags", ResourceArn=IC_ARN)["Tags"][0]["Value"] == "red"


# -- endpoints that have components ------------------------------------------------------------------------------------
def test_an_endpoint_is_deleted_and_leaves_its_components_behind(plane: ComponentsPlane) -> None:
    plane.component()
    plane("CreateInferenceComponent", **plane.wanted("starting"))
    plane("DeleteEndpoint", EndpointName="ep")
    for name in ("ic", "starting"):
        assert plane.shown(name)["InferenceComponentStatus"] == "Failed"
        assert "endpoint ep was deleted" in plane.shown(name)["FailureReason"]
    plane.store.remove_endpoint("ep")
    plane.now_s += 1
    plane("CreateEndpoint", EndpointName="ep", EndpointConfigName="ep")
    plane.settle("ep")
    assert plane.shown()["EndpointArn"] == f"{ARN}:endpoint/ep"
    assert "in state FAILED" in plane.refused("UpdateInferenceComponent", Specification=specification())
    plane.of("DeleteInferenceComponent")
    plane.gone()
    plane.component()


def test_an_update_of_the_endpoint_keeps_the_variants_that_have_components(plane: ComponentsPlane) -> None:
    plane.component()
    plane.configure("model", {**capacity(), "ModelName": "one"})
    refused = plane.refusal("UpdateEndpoint", EndpointName="ep", EndpointConfigName="model")
    assert 'variant "AllTraffic" has inference components' in refused[2]
    plane.of("DeleteInferenceComponent")
    plane.gone()
    plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="model")
    plane.settle("ep", EndpointEvent.READY)


def test_an_update_that_takes_the_pool_that_copies_need_is_refused() -> None:
    scaling = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}
    types = ("ml.m5.large", "ml.m5.xlarge", "ml.m5.4xlarge")
    first, second, third = ({"InstanceType": kind, "Priority": number + 1} for number, kind in enumerate(types))

    def pooled(*pools: dict[str, Any], **members: Any) -> dict[str, Any]:
        managed = {"ManagedInstanceScaling": scaling, **members}
        return capacity(InstanceType=None, InstancePools=list(pools), **managed)

    plane = ComponentsPlane(InstanceType=None, **pooled(first, second))
    for name, memory_mib in (("small", 3000), ("middle", 9000)):
        compute = {"MinMemoryRequiredInMb": memory_mib}
        plane.component(name, Specification=specification(ComputeResourceRequirements=compute))
    for name, variant in (
        ("one", pooled(first)),
        ("fewer", pooled(first, second, ManagedInstanceScaling=None)),
        ("third", pooled(first, third)),
        ("alone", pooled(second, ManagedInstanceScaling={**scaling, "MaxInstanceCount": 1})),
    ):
        plane("CreateEndpointConfig", EndpointConfigName=name, ProductionVariants=[variant], ExecutionRoleArn=ROLE)
    for name in ("one", "fewer"):
        refused = plane.refusal("UpdateEndpoint", EndpointName="ep", EndpointConfigName=name)
        assert refused[0] == "ValidationException"
        assert "has 2 copies of inference components" in refused[2]
    for name in ("third", "alone"):
        plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName=name)
        plane.settle("ep", EndpointEvent.READY)
    plane.close()


def test_an_update_to_less_than_the_copies_need_is_refused_with_the_reason_of_aws() -> None:
    plane = ComponentsPlane(InitialInstanceCount=2)
    plane.component(
        Specification=specification(ComputeResourceRequirements={"MinMemoryRequiredInMb": 3000}),
        RuntimeConfig={"CopyCount": 3},
    )
    small = {"InstanceType": "ml.t2.medium", "InitialInstanceCount": 2}
    for name, members in (("fewer", {}), ("small", small), ("large", {"InstanceType": "ml.m5.xlarge"})):
        variants = [capacity(**members)]
        plane("CreateEndpointConfig", EndpointConfigName=name, ProductionVariants=variants, ExecutionRoleArn=ROLE)
    for name in ("fewer", "small"):
        refused = plane.refusal("UpdateEndpoint", EndpointName="ep", EndpointConfigName=name)
        assert refused[0] == "ValidationException"
        assert "has 3 copies of inference components, and would have" in refused[2]
        assert NOT_ENOUGH in refused[2]
    wanted = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 1}]
    capacities = {"EndpointName": "ep", "DesiredWeightsAndCapacities": wanted}
    assert NOT_ENOUGH in plane.refusal("UpdateEndpointWeightsAndCapacities", **capacities)[2]
    assert plane.describe()["EndpointStatus"] == "InService"
    plane("UpdateEndpoint", EndpointName="ep", EndpointConfigName="large")
    plane.close()


# -- adapters ----------------------------------------------------------------------------------------------------------
def adapter(base: str = "ic") -> dict[str, Any]:
    container = {"ArtifactUrl": "s3://bucket/adapter.tar.gz"}
    return {
        "Specification": {"BaseInferenceComponentName": base, "Container": container},
        "RuntimeConfig": None,
    }


def stored_adapter(plane: ComponentsPlane) -> None:
    """An adapter `lora` of `ic`, as an earlier release has stored it."""
    base = plane.store.component("ic")
    assert base is not None
    one = ComponentSpecification(base_name="ic", adapter_url="s3://bucket/adapter.tar.gz")
    plane.store.add_component(replace(base, name="lora", specifications=(one,)), {})


def test_a_base_is_not_deleted_while_it_has_adapters(plane: ComponentsPlane) -> None:
    plane.component()
    stored_adapter(plane)
    assert "RuntimeConfig" not in {name for name, value in plane.shown("lora").items() if value is not None}
    refused = plane.refused("DeleteInferenceComponent")
    assert refused == (
        f'Cannot delete inference component "{IC_ARN}": it is the base of "lora". Delete these adapters first.'
    )
    rescaled = plane.refused("UpdateInferenceComponentRuntimeConfig", "lora", DesiredRuntimeConfig={"CopyCount": 2})
    assert "no copies of its own" in rescaled
    assert "cannot change" in plane.refused("UpdateInferenceComponent", "lora", Specification=specification())
    wanted = plane.wanted("l2", **adapter("lora"))
    assert "is an adapter itself" in plane.refusal("CreateInferenceComponent", **wanted)[2]
    plane.of("DeleteInferenceComponent", "lora")
    plane.gone("lora")
    plane.of("DeleteInferenceComponent")


def test_an_adapter_is_refused_at_its_creation_and_the_text_says_what_is_wrong(plane: ComponentsPlane) -> None:
    wanted = plane.wanted("lora", **adapter())
    assert '"ic" does not exist' in plane.refusal("CreateInferenceComponent", **wanted)[2]
    plane("CreateInferenceComponent", **plane.wanted())
    assert "is Creating. It must be InService" in plane.refusal("CreateInferenceComponent", **wanted)[2]
    plane.settle_component("ic")
    plane.endpoint("other", capacity())
    elsewhere = {**wanted, "EndpointName": "other"}
    assert 'is not on endpoint "other"' in plane.refusal("CreateInferenceComponent", **elsewhere)[2]
    code, status, message = plane.refusal("CreateInferenceComponent", **wanted)
    assert (code, status) == ("ValidationException", 400)
    assert message == (
        'BaseInferenceComponentName: the inference component "ic" runs Torpor\'s own container, which loads no '
        "adapters: give the adapted model an inference component of its own."
    )
    assert plane.store.component("lora") is None


def test_an_adapter_of_a_foreign_container_is_taken_and_one_of_many_models_is_refused(plane: ComponentsPlane) -> None:
    server = Image("my-server", command={"command": ["serve"]})
    plane.control = replace(plane.control, images=Images([server]))
    plane.component(Specification=specification(Container={"Image": "my-server"}))
    plane("CreateInferenceComponent", **plane.wanted("lora", **adapter()))
    record = plane.store.component("lora")
    assert record is not None
    assert record.specifications[0].adapter_url == "s3://bucket/adapter.tar.gz"
    for unable in (specification(), specification(Container={"Image": "a-strange-image"})):
        assert '"ic", which is the base of adapters,' in plane.refused("UpdateInferenceComponent", Specification=unable)
    plane("CreateModel", ModelName="many", PrimaryContainer={**MULTI_MODEL, "Image": "my-server"})
    many = {"ModelName": "many", "ComputeResourceRequirements": COMPUTE}
    plane.component("many", Specification=many)
    refused = plane.refusal("CreateInferenceComponent", **plane.wanted("l2", **adapter("many")))[2]
    assert "an adapter is of the one model of one container" in refused


def test_an_endpoint_of_components_takes_no_deployment_config(plane: ComponentsPlane) -> None:
    config = plane.describe()["EndpointConfigName"]
    policy = {"TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 60}}
    update = {"EndpointName": "ep", "EndpointConfigName": config}
    deployment = {"BlueGreenUpdatePolicy": policy}
    code, _, message = plane.refusal("UpdateEndpoint", **update, DeploymentConfig=deployment)
    assert code == "ValidationException"
    assert "give it to UpdateInferenceComponent" in message
    plane("UpdateEndpoint", **update)
