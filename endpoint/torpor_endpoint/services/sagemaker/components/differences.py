"""Lists the known differences from AWS of the operations on inference components."""

from collections.abc import Mapping
from typing import Final

from torpor_endpoint.services.sagemaker.members.checking import kept, listed
from torpor_endpoint.services.sagemaker.members.known import Treatment

DIFFERENCES: Final[Mapping[str, str]] = {
    "CreateInferenceComponent": "ModelName may be a model of Mode MultiModel or of several containers; `--aws-strict` refuses both. Without RuntimeConfig a component has one copy. "
    "An adapter (BaseInferenceComponentName) needs a base of one foreign container with one model: Torpor's own container loads none. A copy fetches it when a request first names it, "
    "and registers it by POST /adapters, as AWS's containers take it. All adapters of a copy share the disk that its model leaves: the one used longest ago makes room. Its metrics and logs are those of its base, and a deleted one stays in the container until its room is needed. "
    "This machine is never short of instances of a type: of InstancePools a further instance is of the one with the highest priority on whose type the copy fits; at MaxInstanceCount an empty one of another type makes way for it. "
    f"Kept without effect: {listed(Treatment.KEPT, 'InferenceComponentSpecification', 'InferenceComponentContainerSpecification', 'InferenceComponentStartupParameters', 'InferenceComponentSchedulingConfig')}: "
    "the reference of differences says why of each, and so does the log. "
    f"Refused by name: {listed(Treatment.REFUSED, 'InferenceComponentComputeResourceRequirements')}, and members that Torpor does not know.",
    "UpdateInferenceComponent": "Specification replaces the former one as a whole. DeploymentConfig needs a Specification. A base that has adapters keeps a container that takes them. A component that is Failed can only be deleted.",
    "UpdateInferenceComponentRuntimeConfig": "A component that is Failed can only be deleted. Adapters have no copies of their own.",
    "DeleteInferenceComponent": "A base is refused while it has adapters, with a text of Torpor's own. DeleteEndpoint leaves components behind, as on AWS: they are Failed, have no copies any more, and can be deleted.",
    "UpdateEndpointWeightsAndCapacities": "Refuses the DesiredInstanceCount of a variant with ManagedInstanceScaling that is for inference components: its instances follow their copies.",
    "DescribeInferenceComponent": "PlacementStatus is shown where the variant has InstancePools.",
}

WITHOUT_EFFECT: Final[Mapping[str, tuple[str, ...]]] = {
    operation: tuple(kept(f"{operation}Input"))
    for operation in ("CreateInferenceComponent", "UpdateInferenceComponent")
}
"""By operation, the members that are kept and shown without effect."""

WHY_KEPT: Final[Mapping[str, str]] = {
    "DataCacheConfig": "A copy's disk on this machine keeps its artifact with it and without it, until the component is deleted: a copy that comes again in the "
    "same place unpacks nothing. Images are programs of this machine.",
    "AvailabilityZoneBalance": "In AWS's words it \"applies only when the endpoint has instances across two or more Availability Zones\". All of Torpor's are in one.",
    "ContainerMetricsConfig": "What AWS reads from a container's page of metrics is asked for by PromQL in CloudWatch, which Torpor does not have. It reads no container's page.",
    "ModelDataDownloadTimeoutInSeconds": "A model's load has one time limit, its download included: TORPOR_LOAD_TIMEOUT_SECONDS in the container's Environment.",
}
"""Why each of them changes nothing here."""
