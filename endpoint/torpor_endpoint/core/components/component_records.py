"""The record of an inference component: what its caller asked for, what is current, and what an update will make it.

A component belongs to a variant whose endpoint configuration names no model. It wants copies: each runs the containers
of its specification, in memory, cores and accelerators that are its own.
"""

from dataclasses import field
from enum import StrEnum
from typing import Any

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.core.rollouts.rollout import Rollout


class ComponentStatus(StrEnum):
    """The values of InferenceComponentStatus in DescribeInferenceComponent."""

    CREATING = "Creating"
    IN_SERVICE = "InService"
    UPDATING = "Updating"
    FAILED = "Failed"
    DELETING = "Deleting"


class PlacementStrategy(StrEnum):
    """SchedulingConfig.PlacementStrategy: where the next copy goes."""

    SPREAD = "SPREAD"  # to the instance with the fewest copies of the component
    BINPACK = "BINPACK"  # to the fullest instance that has room


@frozen
class CopyResources:
    """ComputeResourceRequirements: what each copy has to itself."""

    min_memory_mib: int
    max_memory_mib: int | None = None  # the bound of its memory; None: the memory that is set aside
    cores: float = 0.0  # of a processor; 0: none are set aside
    accelerators: float = 0.0


@frozen
class ComponentSpecification:
    """One InferenceComponentSpecification, with the containers that it had when it was sent."""

    containers: tuple[Container, ...] = ()  # empty for an adapter
    model_name: str | None = None  # None if it gives a container
    instance_type: str | None = None  # the only type that it is for; None: for all
    base_name: str | None = None  # the component whose copies serve this adapter
    adapter_url: str | None = None  # s3://bucket/key of the adapter
    resources: CopyResources | None = None  # None for an adapter: it is served within its base's
    startup_timeout_s: float = 480.0  # ContainerStartupHealthCheckTimeoutInSeconds
    strategy: PlacementStrategy = PlacementStrategy.SPREAD
    resolved_s: float = 0.0  # when its images were resolved, in epoch seconds
    request: dict[str, Any] = field(default_factory=dict)  # as sent, for DescribeInferenceComponent


@frozen
class ComponentRecord:
    """A component: its current specifications and copies, and those of an update (`pending_*`)."""

    name: str
    arn: str
    created_s: float
    modified_s: float
    status: ComponentStatus
    endpoint_name: str
    endpoint_arn: str
    endpoint_created_s: float  # an endpoint that is created again with this name has none of these components
    variant_name: str
    specifications: tuple[ComponentSpecification, ...]  # one, or one for each of several instance types
    copies: int
    by_instance_type: bool = False  # the caller gave Specifications, and not Specification
    pending_specifications: tuple[ComponentSpecification, ...] | None = None
    pending_by_instance_type: bool = False
    pending_copies: int | None = None
    pending_deployment: dict[str, Any] | None = None  # the DeploymentConfig of the update, as sent
    deployment: dict[str, Any] | None = None  # the last DeploymentConfig as sent
    rollout: Rollout | None = None  # of an update by batches
    generation: int = 0  # which of the two variants of copies is current: an update by batches changes it
    failure_reason: str | None = None  # why it is Failed, or why its last update was rolled back
    request: dict[str, Any] = field(default_factory=dict)  # CreateInferenceComponent's members as sent

    @property
    def desired_copies(self) -> int:
        """The copies that the last call asked for."""
        return self.copies if self.pending_copies is None else self.pending_copies

    @property
    def base_name(self) -> str | None:
        """The component that this one is an adapter of; None if it is none."""
        return self.specifications[0].base_name

    def specification_on(self, instance_type: str | None) -> ComponentSpecification | None:
        """The specification of its copies on instances of this type; None if it has none for them."""
        return specification_on(self.specifications, instance_type)


def specification_on(
    specifications: tuple[ComponentSpecification, ...], instance_type: str | None
) -> ComponentSpecification | None:
    """The one of these that is for instances of this type; None if there is none."""
    return next((one for one in specifications if one.instance_type in (None, instance_type)), None)
