"""Turns the wire shapes of inference components into records and back. `component_rules` checks them."""

from collections.abc import Mapping
from typing import Any

from torpor_account.core.s3_address import s3_url
from torpor_endpoint.core.components.component_lifecycle import REASON_MAX
from torpor_endpoint.core.components.component_records import (
    ComponentRecord,
    ComponentSpecification,
    CopyResources,
    PlacementStrategy,
)
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.services.sagemaker.rules import Wire
from torpor_endpoint.storage.store import ComponentCard

COPIES = 1
"""The copies of a component whose request has no RuntimeConfig. AWS documents no default."""


# -- requests ----------------------------------------------------------------------------------------------------------
def component_container(sent: Wire, role: str) -> Container:
    """An InferenceComponentContainerSpecification with an Image."""
    url = sent.get("ArtifactUrl")
    return Container(
        image=sent["Image"],
        model_data_url=s3_url(url) if url else None,
        environment=dict(sent.get("Environment", {})),
        role=role,
    )


def component_specification(sent: Wire, containers: tuple[Container, ...], now_s: float) -> ComponentSpecification:
    """A checked InferenceComponentSpecification, whose copies run these containers."""
    startup, scheduling = sent.get("StartupParameters", {}), sent.get("SchedulingConfig", {})
    base, compute = sent.get("BaseInferenceComponentName"), sent.get("ComputeResourceRequirements")
    startup_s = startup.get("ContainerStartupHealthCheckTimeoutInSeconds", ComponentSpecification.startup_timeout_s)
    return ComponentSpecification(
        containers=containers,
        model_name=sent.get("ModelName"),
        instance_type=sent.get("InstanceType"),
        base_name=base,
        adapter_url=s3_url(sent["Container"]["ArtifactUrl"]) if base else None,
        resources=_resources(compute) if compute else None,
        startup_timeout_s=float(startup_s),
        strategy=PlacementStrategy(scheduling.get("PlacementStrategy", PlacementStrategy.SPREAD)),
        resolved_s=now_s,
        request=dict(sent),
    )


def _resources(compute: Wire) -> CopyResources:
    return CopyResources(
        min_memory_mib=compute["MinMemoryRequiredInMb"],
        max_memory_mib=compute.get("MaxMemoryRequiredInMb"),
        cores=float(compute.get("NumberOfCpuCoresRequired", 0)),
        accelerators=float(compute.get("NumberOfAcceleratorDevicesRequired", 0)),
    )


# -- answers: `aws.wire.pruning` removes members that are None or empty ------------------------------------------------
def component_summary(component: ComponentRecord) -> dict[str, Any]:
    return {
        "CreationTime": component.created_s,
        "InferenceComponentArn": component.arn,
        "InferenceComponentName": component.name,
        "EndpointArn": component.endpoint_arn,
        "EndpointName": component.endpoint_name,
        "VariantName": component.variant_name,
        "InferenceComponentStatus": component.status.value,
        "LastModifiedTime": component.modified_s,
    }


def component_description(component: ComponentRecord, present: Mapping[str, int], *, pooled: bool) -> dict[str, Any]:
    """`present` counts the copies in service by instance type. `pooled`: its variant has InstancePools."""
    shown = [_specification(one) for one in component.specifications]
    specified = {"Specifications": shown} if component.by_instance_type else {"Specification": shown[0]}
    return {
        **component_summary(component),
        "FailureReason": component.failure_reason and component.failure_reason[:REASON_MAX],
        **specified,
        "RuntimeConfig": None if component.base_name else _runtime(component, present, pooled=pooled),
        "LastDeploymentConfig": component.deployment,
    }


def _runtime(component: ComponentRecord, present: Mapping[str, int], *, pooled: bool) -> dict[str, Any]:
    placed = [{"InstanceType": name, "CurrentCopyCount": count} for name, count in sorted(present.items())]
    return {
        "DesiredCopyCount": component.desired_copies,
        "CurrentCopyCount": sum(present.values()),
        "PlacementStatus": placed if pooled else None,
    }


def _specification(one: ComponentSpecification) -> dict[str, Any]:
    """An InferenceComponentSpecificationSummary: as sent, with the image in its other shape."""
    shown = dict(one.request)
    if "Container" in shown:
        container = dict(shown["Container"])
        image = container.pop("Image", None)
        if image is not None:
            deployed = {"SpecifiedImage": image, "ResolvedImage": image, "ResolutionTime": one.resolved_s}
            container = {"DeployedImage": deployed, **container}
        shown["Container"] = container
    return shown


def chosen(cards: list[ComponentCard], params: Wire) -> list[ComponentCard]:
    """Those of the endpoint and of the variant that a List asks for."""
    endpoint, variant = params.get("EndpointNameEquals"), params.get("VariantNameEquals")
    return [card for card in cards if endpoint in (None, card.endpoint_name) and variant in (None, card.variant_name)]
