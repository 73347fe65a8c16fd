"""The errors that only inference components have. All other errors are the control plane's."""

from torpor_account.aws.errors import ErrorKind
from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentStatus

# "Inference Components are not supported in this Endpoint" is AWS's text, which people's code matches on.
NOT_SUPPORTED = ErrorKind(
    "endpoint whose variants have models",
    "ValidationException",
    400,
    "Invalid request provided: Inference Components are not supported in this Endpoint. Please make sure this endpoint "
    "can deploy inference components.",
)
ENDPOINT_STATUS = ErrorKind(
    "endpoint that is not in service",
    "ValidationException",
    400,
    'Cannot create an inference component on endpoint "{arn}" while its status is {status}. It must be InService.',
)
NO_VARIANT = ErrorKind(
    "variant that the endpoint lacks",
    "ValidationException",
    400,
    'VariantName: the endpoint "{endpoint}" has no production variant "{variant}". It has {variants}.',
)
WHICH_VARIANT = ErrorKind(
    "one of several variants",
    "ValidationException",
    400,
    "VariantName must be given: the endpoint has several production variants, {variants}.",
)
# AWS: "Cannot delete inference component … while it is in state CREATE_IN_PROGRESS".
IN_STATE = ErrorKind(
    "inference component in progress",
    "ValidationException",
    400,
    'Cannot {verb} inference component "{arn}" while it is in state {state}.',
)
HAS_ADAPTERS = ErrorKind(
    "base of adapters",
    "ValidationException",
    400,
    'Cannot delete inference component "{arn}": it is the base of {adapters}. Delete these adapters first.',
)
NO_BASE = ErrorKind("adapter without a base", "ValidationException", 400)
NO_ADAPTERS = ErrorKind("base that takes no adapters", "ValidationException", 400, "{named} runs {why}.")

_STATES = {
    ComponentStatus.CREATING: "CREATE_IN_PROGRESS",
    ComponentStatus.DELETING: "DELETE_IN_PROGRESS",
    ComponentStatus.IN_SERVICE: "IN_SERVICE",
    ComponentStatus.FAILED: "FAILED",
}


def state(component: ComponentRecord) -> str:
    """The word for its status in AWS's texts."""
    if component.status is ComponentStatus.UPDATING:
        return "UPDATE_RC_IN_PROGRESS" if component.pending_specifications is None else "UPDATE_IN_PROGRESS"
    return _STATES[component.status]
