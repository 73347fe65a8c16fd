"""The records of SageMaker's resources as frozen values in snake_case: models, variants, endpoints.

They hold what a caller requested and what is current. They decide nothing and do nothing.
"""

from dataclasses import field
from enum import StrEnum
from typing import Any

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.rollouts.rollout import Rollout


class EndpointStatus(StrEnum):
    """The `EndpointStatus` values of DescribeEndpoint."""

    CREATING = "Creating"
    IN_SERVICE = "InService"
    UPDATING = "Updating"
    ROLLING_BACK = "RollingBack"
    DELETING = "Deleting"
    FAILED = "Failed"
    UPDATE_ROLLBACK_FAILED = "UpdateRollbackFailed"


@frozen
class Container:
    """One ContainerDefinition."""

    image: str
    model_data_url: str | None = None  # s3://bucket/key
    compressed: bool = True  # the URL names an archive; else one plain object, or all objects below a prefix
    multi_model: bool = False
    model_cache: bool = True  # MultiModelConfig.ModelCacheSetting
    environment: dict[str, str] = field(default_factory=dict)
    name: str = "primary"  # its ContainerHostname, or the name that AWS gives it in messages
    network_isolated: bool = False  # CreateModel's EnableNetworkIsolation
    role: str = ""  # the ARN of its model's ExecutionRoleArn; empty if it has none


@frozen
class ModelRecord:
    name: str
    arn: str
    created_s: float
    containers: tuple[Container, ...]
    request: dict[str, Any]  # CreateModel's members as sent, for DescribeModel
    direct: bool = False  # InferenceExecutionConfig.Mode: Direct, or Serial


@frozen
class Serverless:
    memory_mib: int
    max_concurrency: int
    provisioned_concurrency: int = 0


@frozen
class DataCapture:
    """A DataCaptureConfig: which requests and answers are captured, and where to."""

    destination: str  # s3://bucket/prefix
    sampling_percentage: int
    enabled: bool = True
    input: bool = True
    output: bool = True
    csv_types: tuple[str, ...] = ()
    json_types: tuple[str, ...] = ()
    kms_key_id: str = ""
    role: str = ""  # the ARN of the role that writes the data: the execution role of the variant's model


@frozen
class AsyncInference:
    """An AsyncInferenceConfig: where the answers of requests that wait go to, and which topics hear of them."""

    output: str  # s3://bucket/prefix
    failure: str | None = None  # s3://bucket/prefix
    success_topic: str | None = None  # the ARN of an SNS topic
    error_topic: str | None = None
    responses_in: tuple[str, ...] = ()  # IncludeInferenceResponseIn
    at_once: int | None = None  # MaxConcurrentInvocationsPerInstance; None leaves it to the variant's settings
    kms_key_id: str | None = None
    role: str = ""  # the ARN of the role that reads inputs and writes results: the execution role of the model

    def each(self, concurrency: int) -> int:
        """The requests that an instance has at most. `concurrency` is the setting of the variant."""
        return concurrency if self.at_once is None else self.at_once


@frozen
class CopyNeeds:
    """What the copies of an inference component need, each for itself, of the instances of a production variant.

    `memory_mib` is set aside for a copy, and `memory_max_mib` is the most that it may take; None is as much as is set
    aside. `cores` and `accelerators` are 0 where the component names none.
    """

    component: str  # its name
    placed_on: str  # the name of the production variant
    memory_mib: int
    memory_max_mib: int | None = None
    cores: float = 0.0
    accelerators: float = 0.0
    binpack: bool = False  # place them on the fullest instances; else spread them
    adapters: tuple[tuple[str, str], ...] = ()  # of the component's model: names, and where in S3 each is
    first_type: str = ""  # of InstancePools, where the copies are for instances of another one
    one_type: bool = False  # they may only be on instances of that type: those of others have other specifications

    @property
    def bound_mib(self) -> int:
        """The most memory that a copy may take."""
        return self.memory_mib if self.memory_max_mib is None else self.memory_max_mib


@frozen
class InstanceTypePool:
    """One of a variant's InstancePools. The lowest priority is tried first."""

    instance_type: str
    priority: int


class ScaleInStrategy(StrEnum):
    """ScaleInPolicy.Strategy: which instances a variant for components gives back."""

    IDLE_RELEASE = "IDLE_RELEASE"  # those that have no copy
    CONSOLIDATION = "CONSOLIDATION"  # those whose copies have room elsewhere, too


@frozen
class ScaleIn:
    """A ScaleInPolicy."""

    strategy: ScaleInStrategy
    step_max: int = 1  # MaximumStepSize: the instances that are given back at a time
    cooldown_s: float = 1200.0  # CooldownInMinutes, between two times


@frozen
class Variant:
    """One ProductionVariant with the containers of its model, so that an endpoint outlives the model's record.

    Each instance runs all containers. A request passes them in their order, or, in a `direct` variant, goes to the one
    that it names. A variant without containers is capacity: its instances run the copies of inference components. A
    variant with `copies` stands for such a component: its instances are the copies.
    """

    name: str
    model_name: str
    containers: tuple[Container, ...]
    weight: float = 1.0
    instance_type: str | None = None
    instance_count: int = 1
    instances_min: int | None = None  # ManagedInstanceScaling
    instances_max: int | None = None
    serverless: Serverless | None = None
    startup_timeout_s: float = 480.0  # ContainerStartupHealthCheckTimeoutInSeconds; AWS's default is 8 minutes
    request: dict[str, Any] = field(
        default_factory=dict
    )  # the ProductionVariant as sent, for members that are only repeated
    shadow: bool = False  # one of ShadowProductionVariants: it gets copies of requests, and answers no caller
    capture: DataCapture | None = None  # its endpoint configuration's
    direct: bool = False
    asynchronous: AsyncInference | None = None  # its endpoint configuration's: requests wait in a queue
    deployed_by: str = ""  # its endpoint configuration, once an update has deployed it or replaces it step by step
    copies: CopyNeeds | None = None  # an inference component's, whose copies are the instances
    execution_role: str = ""  # the ARN of its endpoint configuration's ExecutionRoleArn, if it has no model
    pools: tuple[InstanceTypePool, ...] = ()  # InstancePools, lowest priority first; `instance_type` is the first one's
    provision_timeout_s: float = 3600.0  # VariantInstanceProvisionTimeoutInSeconds: how long a pool is tried
    scale_in: ScaleIn | None = None  # ManagedInstanceScaling.ScaleInPolicy
    managed: bool = False  # ManagedInstanceScaling is ENABLED: the number of instances follows the copies

    @property
    def for_components(self) -> bool:
        """Whether it has no model of its own, and its instances are for inference components."""
        return not self.containers

    @property
    def multi_model(self) -> bool:
        """Whether a container serves many models by name."""
        return any(container.multi_model for container in self.containers)

    @property
    def role(self) -> str:
        """The execution role of its model, or, without one, of its endpoint configuration; empty if there is none."""
        return self.containers[0].role if self.containers else self.execution_role


@frozen
class EndpointConfig:
    name: str
    arn: str
    created_s: float
    request: dict[str, Any]  # CreateEndpointConfig's members as sent, for DescribeEndpointConfig


@frozen
class EndpointRecord:
    """An endpoint: its current configuration (`config_name`, `variants`), and that of an update (`pending_*`)."""

    name: str
    arn: str
    created_s: float
    modified_s: float
    status: EndpointStatus
    config_name: str
    variants: tuple[Variant, ...]
    pending_config_name: str | None = None
    pending_variants: tuple[Variant, ...] | None = None
    pending_told: tuple[str, ...] = ()  # pending variants whose DesiredInstanceCount the caller gave
    failure_reason: str | None = None  # why it is Failed, or why its last update was rolled back
    deployment: dict[str, Any] | None = None  # the last DeploymentConfig as sent
    rollout: Rollout | None = None  # of an update with guardrails, from its UpdateEndpoint until its end
