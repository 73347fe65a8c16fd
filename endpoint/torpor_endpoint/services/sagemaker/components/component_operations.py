"""CreateInferenceComponent and its family. They write what is wanted; the fleet's controller carries it out."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_endpoint.core.components.component_lifecycle import ComponentEvent, component_after, may_component
from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentSpecification, ComponentStatus
from torpor_endpoint.core.lifecycle import SERVING
from torpor_endpoint.core.resource_records import EndpointRecord, Variant
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.components import component_errors, component_rules, component_shapes
from torpor_endpoint.services.sagemaker.components.component_containers import resolved_containers
from torpor_endpoint.services.sagemaker.components.component_rollouts import (
    check_component_deployment,
    component_rollout,
)
from torpor_endpoint.services.sagemaker.components.differences import WHY_KEPT
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.deployments.deployment_rules import check_alarms
from torpor_endpoint.services.sagemaker.endpoints import found_endpoint
from torpor_endpoint.services.sagemaker.errors import Resource
from torpor_endpoint.services.sagemaker.listing import found, page
from torpor_endpoint.services.sagemaker.members.checking import check_known, idle
from torpor_endpoint.services.sagemaker.shapes import without_tags
from torpor_endpoint.services.sagemaker.tag_operations import first_tags

OWN = "Torpor's own container, which loads no adapters: give the adapted model an inference component of its own"
MANY = "several containers or many models: an adapter is of the one model of one container"

log = logging.getLogger(__name__)

VERBS = {ComponentEvent.DELETE: "delete"}
"""What AWS's texts call an event. All others are an update."""


def create_inference_component(control: Control, call: Call) -> dict[str, Any]:
    check_known("CreateInferenceComponentInput", call.params)
    component_rules.check_request(call.params, component_rules.CREATE_RULES, control.images)
    endpoint = found_endpoint(control, call)
    variant = _variant(endpoint, call.params.get("VariantName"))
    component_rules.check_instance_types(call.params, variant)
    name, now_s = call.params["InferenceComponentName"], control.clock()
    arn = Resource.COMPONENT.arn(call, name)
    component = ComponentRecord(
        name=name,
        arn=arn,
        created_s=now_s,
        modified_s=now_s,
        status=ComponentStatus.CREATING,
        endpoint_name=endpoint.name,
        endpoint_arn=endpoint.arn,
        endpoint_created_s=endpoint.created_s,
        variant_name=variant.name,
        specifications=_specifications(control, call, variant, arn),
        copies=call.params.get("RuntimeConfig", {}).get("CopyCount", component_shapes.COPIES),
        by_instance_type="Specifications" in call.params,
        request=without_tags(call.params),
    )
    _check_base(control, component)
    if not control.store.add_component(component, first_tags(call)):
        raise errors.EXISTS(noun=Resource.COMPONENT.noun, arn=arn)
    _say_idle(call)
    control.component_changed(name)
    return {"InferenceComponentArn": arn}


def describe_inference_component(control: Control, call: Call) -> dict[str, Any]:
    component = found_component(control, call)
    variant = _present_variant(control, component)
    present = control.copy_counts(component)
    return component_shapes.component_description(component, present, pooled=bool(variant and variant.pools))


def list_inference_components(control: Control, call: Call) -> dict[str, Any]:
    cards, token = page(component_shapes.chosen(control.store.component_cards(), call.params), call.params)
    components = found(cards, control.store.component)
    return {"InferenceComponents": list(map(component_shapes.component_summary, components)), "NextToken": token}


def update_inference_component(control: Control, call: Call) -> dict[str, Any]:
    check_known("UpdateInferenceComponentInput", call.params)
    component_rules.check_request(call.params, component_rules.UPDATE_RULES, control.images)
    component = found_component(control, call)
    copies = call.params.get("RuntimeConfig", {}).get("CopyCount")
    if not component_rules.specifications(call.params):
        return rescale_component(control, component, copies)
    _check_changeable(component, ComponentEvent.UPDATE)
    variant = _present_variant(control, component)
    if variant is None:
        raise errors.NOT_FOUND(noun=Resource.ENDPOINT.noun, arn=component.endpoint_arn)
    component_rules.check_instance_types(call.params, variant)
    deployment = call.params.get("DeploymentConfig")
    if deployment is not None:
        present = component.desired_copies
        check_component_deployment(deployment, present if copies is None else copies, present)
        check_alarms(deployment, control.has_alarm)
    updated = replace(
        component,
        pending_specifications=_specifications(control, call, variant, component.arn),
        pending_by_instance_type="Specifications" in call.params,
        pending_copies=copies,
        pending_deployment=deployment,
        rollout=None if deployment is None else component_rollout(deployment),
    )
    _check_same_base(updated)
    if _adapters(control, component):
        named = f'Specification: the inference component "{component.name}", which is the base of adapters,'
        _check_takes_adapters(control, named, updated.pending_specifications or ())
    _say_idle(call)
    return _moved(control, component, updated, ComponentEvent.UPDATE)


def update_inference_component_runtime_config(control: Control, call: Call) -> dict[str, Any]:
    check_known("UpdateInferenceComponentRuntimeConfigInput", call.params)
    component = found_component(control, call)
    return rescale_component(control, component, call.params["DesiredRuntimeConfig"]["CopyCount"])


def delete_inference_component(control: Control, call: Call) -> dict[str, Any]:
    component = found_component(control, call)
    _check_changeable(component, ComponentEvent.DELETE)
    if adapters := _adapters(control, component):
        named = ", ".join(f'"{adapter}"' for adapter in adapters)
        raise component_errors.HAS_ADAPTERS(arn=component.arn, adapters=named)
    _moved(control, component, component, ComponentEvent.DELETE)
    return {}


def rescale_component(control: Control, component: ComponentRecord, copies: int) -> dict[str, Any]:
    """Have so many copies. Raises ValidationException if its status or its kind forbids it."""
    if component.base_name:
        raise errors.INVALID("An adapter has no copies of its own: change those of its base.")
    _check_changeable(component, ComponentEvent.RESCALE)
    return _moved(control, component, replace(component, pending_copies=copies), ComponentEvent.RESCALE)


OPERATIONS: Mapping[str, Callable[[Control, Call], dict[str, Any]]] = {
    "CreateInferenceComponent": create_inference_component,
    "DescribeInferenceComponent": describe_inference_component,
    "ListInferenceComponents": list_inference_components,
    "UpdateInferenceComponent": update_inference_component,
    "UpdateInferenceComponentRuntimeConfig": update_inference_component_runtime_config,
    "DeleteInferenceComponent": delete_inference_component,
}


def found_component(control: Control, call: Call) -> ComponentRecord:
    name = call.params["InferenceComponentName"]
    component = control.store.component(name)
    if component is None:
        raise errors.NOT_FOUND(noun=Resource.COMPONENT.noun, arn=Resource.COMPONENT.arn(call, name))
    return component


def _variant(endpoint: EndpointRecord, name: str | None) -> Variant:
    """The endpoint's variant that has room for components. Raises ValidationException."""
    variants = [one for one in endpoint.variants if not one.shadow]
    if not all(one.for_components for one in variants):
        raise component_errors.NOT_SUPPORTED()
    if endpoint.status not in SERVING:
        raise component_errors.ENDPOINT_STATUS(arn=endpoint.arn, status=endpoint.status.value)
    names = ", ".join(f'"{one.name}"' for one in variants)
    if name is None and len(variants) > 1:
        raise component_errors.WHICH_VARIANT(variants=names)
    variant = next((one for one in variants if name in (None, one.name)), None)
    if variant is None:
        raise component_errors.NO_VARIANT(endpoint=endpoint.name, variant=name, variants=names)
    return variant


def _present_variant(control: Control, component: ComponentRecord) -> Variant | None:
    """The component's variant; None if its endpoint was deleted, whether or not there is another one of its name."""
    endpoint = control.store.endpoint(component.endpoint_name)
    if endpoint is None or endpoint.created_s != component.endpoint_created_s:
        return None
    return next((one for one in endpoint.variants if one.name == component.variant_name), None)


def _specifications(control: Control, call: Call, variant: Variant, arn: str) -> tuple[ComponentSpecification, ...]:
    now_s = control.clock()
    return tuple(
        component_shapes.component_specification(sent, resolved_containers(control, call, sent, variant, arn), now_s)
        for sent in component_rules.specifications(call.params)
    )


def _say_idle(call: Call) -> None:
    """Log which of the request's members change nothing, and why."""
    for path, why in idle(f"{call.operation}Input", call.params, WHY_KEPT).items():
        log.info("inference component %s: %s has no effect. %s", call.params["InferenceComponentName"], path, why)


def _check_base(control: Control, component: ComponentRecord) -> None:
    """Raises ValidationException for an adapter whose base cannot serve it."""
    if component.base_name is None:
        return
    base = control.store.component(component.base_name)
    named = f'BaseInferenceComponentName: the inference component "{component.base_name}"'
    if base is None:
        raise component_errors.NO_BASE(f"{named} does not exist.")
    if (base.endpoint_name, base.endpoint_created_s) != (component.endpoint_name, component.endpoint_created_s):
        raise component_errors.NO_BASE(f'{named} is not on endpoint "{component.endpoint_name}".')
    if base.base_name is not None:
        raise component_errors.NO_BASE(f"{named} is an adapter itself.")
    if not may_component(base.status, ComponentEvent.RESCALE) and base.status is not ComponentStatus.UPDATING:
        raise component_errors.NO_BASE(f"{named} is {base.status.value}. It must be InService.")
    _check_takes_adapters(control, named, (*base.specifications, *(base.pending_specifications or ())))


def _check_takes_adapters(control: Control, named: str, specifications: tuple[ComponentSpecification, ...]) -> None:
    """Raises ValidationException where the containers of a base, `named` in the text, can have no adapter."""
    for containers in (one.containers for one in specifications):
        found = control.images.find(containers[0].image) if len(containers) == 1 else None
        if found is not None and found.command is None:
            raise component_errors.NO_ADAPTERS(named=named, why=OWN)
        if found is None or containers[0].multi_model:
            raise component_errors.NO_ADAPTERS(named=named, why=MANY)


def _adapters(control: Control, base: ComponentRecord) -> list[str]:
    """The names of its adapters."""
    return [one.name for one in control.store.components() if one.base_name == base.name]


def _check_same_base(updated: ComponentRecord) -> None:
    specifications = updated.pending_specifications or ()
    if {one.base_name for one in specifications} != {updated.base_name}:
        raise errors.INVALID("BaseInferenceComponentName cannot change: delete the inference component instead.")


def _check_changeable(component: ComponentRecord, event: ComponentEvent) -> None:
    if not may_component(component.status, event):
        raise _in_state(component, event)


def _moved(
    control: Control, component: ComponentRecord, changed: ComponentRecord, event: ComponentEvent
) -> dict[str, Any]:
    """Store the changed component with its next status. Raises ValidationException if another call was quicker."""
    moved = component_after(changed, event)
    if not control.store.replace_component(moved, expected_status=component.status):
        raise _in_state(control.store.component(component.name) or component, event)
    control.component_changed(component.name)
    return {"InferenceComponentArn": component.arn}


def _in_state(component: ComponentRecord, event: ComponentEvent) -> AwsError:
    verb = VERBS.get(event, "update")
    return component_errors.IN_STATE(verb=verb, arn=component.arn, state=component_errors.state(component))
