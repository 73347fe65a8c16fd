"""Finds the containers that the copies of an inference component run: its model's, or the one that it describes."""

from dataclasses import replace

from torpor_account.aws.calls import Call
from torpor_endpoint.core.resource_records import Container, ModelRecord, Variant
from torpor_endpoint.services.sagemaker.components.component_shapes import component_container
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.models import found_model
from torpor_endpoint.services.sagemaker.rules import Rules, Wire, check
from torpor_endpoint.services.sagemaker.shapes import ASYNC_ENVIRONMENT

# AWS documents neither. Torpor serves both.
STRICT_RULES: Rules[tuple[Container, ...]] = (
    (
        lambda containers: any(one.multi_model for one in containers),
        "ModelName: a model of Mode MultiModel is not supported in an inference component.",
    ),
    (
        lambda containers: len(containers) > 1,
        "ModelName: a model of several containers is not supported in an inference component.",
    ),
)


def resolved_containers(control: Control, call: Call, sent: Wire, variant: Variant, arn: str) -> tuple[Container, ...]:
    """The containers of a checked specification; none for an adapter. Raises ValidationException."""
    if "BaseInferenceComponentName" in sent:
        return ()
    if "ModelName" in sent:
        found = found_model(control, call, sent["ModelName"]).containers
        containers = tuple(replace(one, role=one.role or variant.execution_role) for one in found)
    else:
        containers = (component_container(sent["Container"], variant.execution_role),)
        if control.model_data is not None:
            control.model_data.check(ModelRecord(call.params["InferenceComponentName"], arn, 0.0, containers, {}))
    if control.strict:
        check(STRICT_RULES, containers)
    if variant.asynchronous is not None:
        containers = tuple(replace(one, environment={**ASYNC_ENVIRONMENT, **one.environment}) for one in containers)
    return containers
