"""A control plane in memory with an endpoint for inference components; the test plays the fleet."""

from typing import Any

from tests.endpoint.services.helpers.in_memory_control_plane import InMemoryControlPlane

ROLE = "arn:aws:iam::123456789012:role/walk"
COMPUTE = {"MinMemoryRequiredInMb": 1024}
CONTAINER = {"Image": "torpor", "ArtifactUrl": "s3://bucket/model.tar.gz", "Environment": {"KEY": "value"}}


def capacity(**members: Any) -> dict[str, Any]:
    """A ProductionVariant without a model. A member that is None is left out."""
    sent = {"VariantName": "AllTraffic", "InstanceType": "ml.m5.large", "InitialInstanceCount": 1, **members}
    return {name: value for name, value in sent.items() if value is not None}


def specification(**members: Any) -> dict[str, Any]:
    """An InferenceComponentSpecification of a container. A member that is None is left out."""
    sent = {"Container": CONTAINER, "ComputeResourceRequirements": COMPUTE, **members}
    return {name: value for name, value in sent.items() if value is not None}


class ComponentsPlane(InMemoryControlPlane):
    """Its endpoint `ep` is in service and has room for components."""

    def __init__(self, *, strict: bool = False, **members: Any) -> None:
        super().__init__(strict=strict)
        self("CreateModel", ModelName="one", PrimaryContainer={"Image": "torpor"})
        self.endpoint("ep", capacity(**members))

    def endpoint(self, name: str, *variants: dict[str, Any]) -> None:
        """An endpoint in service whose variants have no model."""
        self("CreateEndpointConfig", EndpointConfigName=name, ProductionVariants=list(variants), ExecutionRoleArn=ROLE)
        self("CreateEndpoint", EndpointName=name, EndpointConfigName=name)
        self.settle(name)

    def wanted(self, name: str = "ic", **members: Any) -> dict[str, Any]:
        """The members of a CreateInferenceComponent. A member that is None is left out."""
        sent = {
            "InferenceComponentName": name,
            "EndpointName": "ep",
            "Specification": specification(),
            "RuntimeConfig": {"CopyCount": 1},
            **members,
        }
        return {member: value for member, value in sent.items() if value is not None}

    def component(self, name: str = "ic", **members: Any) -> None:
        """A component in service."""
        self("CreateInferenceComponent", **self.wanted(name, **members))
        self.settle_component(name)

    def shown(self, name: str = "ic") -> dict[str, Any]:
        return self("DescribeInferenceComponent", InferenceComponentName=name)

    def of(self, operation: str, name: str = "ic", **members: Any) -> dict[str, Any]:
        return self(operation, InferenceComponentName=name, **members)

    def refused(self, operation: str, name: str = "ic", **members: Any) -> str:
        """The message of a ValidationException."""
        code, status, message = self.refusal(operation, InferenceComponentName=name, **members)
        assert (code, status) == ("ValidationException", 400)
        return message

    def gone(self, name: str = "ic") -> None:
        """Ends a deletion, as the fleet does."""
        assert self.store.remove_component(name)
