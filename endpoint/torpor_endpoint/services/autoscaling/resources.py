"""The table of scalable dimensions of the namespace `sagemaker`, and the form of each one's resource ids."""

import re

from torpor_account.aws.calls import Call
from torpor_container.frozen_class import frozen
from torpor_endpoint.services.autoscaling import errors

NAMESPACE = "sagemaker"

NAME = r"[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,62}"
VARIANT = re.compile(f"endpoint/(?P<endpoint>{NAME})/variant/(?P<variant>{NAME})")
COMPONENT = re.compile(f"inference-component/(?P<component>{NAME})")

INSTANCES = "sagemaker:variant:DesiredInstanceCount"
CONCURRENCY = "sagemaker:variant:DesiredProvisionedConcurrency"
COPIES = "sagemaker:inference-component:DesiredCopyCount"


@frozen
class Dimension:
    """One scalable dimension. `metrics` are the predefined metrics that a policy may track."""

    resource: re.Pattern[str]
    metrics: tuple[str, ...]


UNSUPPORTED = "Unsupported service namespace, resource type or scalable dimension"

DIMENSIONS = {
    INSTANCES: Dimension(
        VARIANT, ("SageMakerVariantConcurrentRequestsPerModelHighResolution", "SageMakerVariantInvocationsPerInstance")
    ),
    CONCURRENCY: Dimension(VARIANT, ("SageMakerVariantProvisionedConcurrencyUtilization",)),
    COPIES: Dimension(
        COMPONENT,
        (
            "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution",
            "SageMakerInferenceComponentInvocationsPerCopy",
        ),
    ),
}


def dimensions_of(resource_id: str) -> dict[str, str]:
    """The dimensions of the metrics of a variant or an inference component."""
    if variant := VARIANT.fullmatch(resource_id):
        return {"EndpointName": variant["endpoint"], "VariantName": variant["variant"]}
    component = COMPONENT.fullmatch(resource_id)
    return {} if component is None else {"InferenceComponentName": component["component"]}


def check_namespace(call: Call) -> None:
    if call.params["ServiceNamespace"] != NAMESPACE:
        raise errors.INVALID(f"Torpor scales the service namespace {NAMESPACE} only.")


def resource_of(call: Call) -> tuple[str, str]:
    """The resource id and the dimension of a call that names both. Raises ValidationException for a bad pair."""
    check_namespace(call)
    resource_id, dimension = call.params["ResourceId"], call.params["ScalableDimension"]
    known = DIMENSIONS.get(dimension)
    if known is None or not known.resource.fullmatch(resource_id):
        raise errors.INVALID(UNSUPPORTED)
    return resource_id, dimension


def deleted_resource_of(call: Call) -> tuple[str, str]:
    """As `resource_of`, of a call that deletes: AWS answers a pair that cannot be with ObjectNotFoundException, for
    there is nothing of it."""
    check_namespace(call)
    resource_id, dimension = call.params["ResourceId"], call.params["ScalableDimension"]
    if dimension not in DIMENSIONS or not any(one.resource.fullmatch(resource_id) for one in DIMENSIONS.values()):
        raise errors.INVALID(UNSUPPORTED)
    return resource_id, dimension
