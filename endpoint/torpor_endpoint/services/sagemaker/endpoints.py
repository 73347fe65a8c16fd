"""CreateEndpoint and its family. They write the desired state and a status; the controller carries it out."""

from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call
from torpor_endpoint.core.lifecycle import EndpointEvent, after, may
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.core.rollouts.rollout import Rollout
from torpor_endpoint.fleet.components.left_behind import leave_behind
from torpor_endpoint.services.sagemaker import errors, shapes, variant_rules
from torpor_endpoint.services.sagemaker.components.capacity_rules import check_copies_fit, check_room_stays
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.deployments.deployment_rules import check_alarms, check_deployment, check_kept
from torpor_endpoint.services.sagemaker.deployments.policy_reading import rollout_policy
from torpor_endpoint.services.sagemaker.endpoint_configs import found_endpoint_config, resolved
from torpor_endpoint.services.sagemaker.errors import Resource
from torpor_endpoint.services.sagemaker.listing import found, page
from torpor_endpoint.services.sagemaker.members.checking import check_known
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.sagemaker.tag_operations import first_tags


def create_endpoint(control: Control, call: Call) -> dict[str, Any]:
    check_known("CreateEndpointInput", call.params)
    name, now_s = call.params["EndpointName"], control.clock()
    arn = Resource.ENDPOINT.arn(call, name)
    config = found_endpoint_config(control, call)
    deployment = call.params.get("DeploymentConfig")
    if deployment is not None:
        check_kept(deployment)
    endpoint = EndpointRecord(
        name=name,
        arn=arn,
        created_s=now_s,
        modified_s=now_s,
        status=EndpointStatus.CREATING,
        config_name=config.name,
        variants=resolved(control, call, config.request),
        deployment=deployment,
    )
    if not control.store.add_endpoint(endpoint, first_tags(call)):
        raise errors.EXISTS(noun=Resource.ENDPOINT.noun, arn=arn)
    control.changed(name)
    control.deployed(name, endpoint.variants)
    return {"EndpointArn": arn}


def describe_endpoint(control: Control, call: Call) -> dict[str, Any]:
    return described(control, found_endpoint(control, call))


def described(control: Control, endpoint: EndpointRecord) -> dict[str, Any]:
    """DescribeEndpoint's answer."""
    observed = control.observed
    ready, green = observed.instance_counts(endpoint.name), observed.green_counts(endpoint.name)
    return shapes.endpoint_description(endpoint, ready, green, observed.type_counts(endpoint.name))


def list_endpoints(control: Control, call: Call) -> dict[str, Any]:
    cards, token = page(control.store.endpoint_cards(), call.params)
    endpoints = found(cards, control.store.endpoint)
    return {"Endpoints": list(map(shapes.endpoint_summary, endpoints)), "NextToken": token}


def update_endpoint(control: Control, call: Call) -> dict[str, Any]:
    check_known("UpdateEndpointInput", call.params)
    endpoint = _changeable(control, call, EndpointEvent.UPDATE)
    config = found_endpoint_config(control, call)
    variants = resolved(control, call, config.request)
    check(variant_rules.CONVERSION_RULES, (endpoint.variants, variants))
    variant_rules.check_scaled(endpoint.variants, variants, control.scaled(endpoint.name))
    check_room_stays(control.store.components_of(endpoint), variants)
    if call.params.get("RetainAllVariantProperties"):
        variants = _retained(endpoint.variants, variants, call)
    retained = endpoint.deployment if call.params.get("RetainDeploymentConfig") else None
    deployment = call.params.get("DeploymentConfig", retained)
    if deployment is not None:
        check_deployment(deployment, endpoint.variants, variants, strict=control.strict)
        check_alarms(deployment, control.has_alarm)
    rollout = None if deployment is None else Rollout(rollout_policy(deployment))
    present = endpoint.variants if rollout is None else _deployed_by(endpoint.config_name, endpoint.variants)
    updated = replace(endpoint, variants=present, deployment=deployment, rollout=rollout)
    return _update(control, updated, config.name, _deployed_by(config.name, variants))


def update_endpoint_weights_and_capacities(control: Control, call: Call) -> dict[str, Any]:
    endpoint = _changeable(control, call, EndpointEvent.UPDATE)
    wire = call.params["DesiredWeightsAndCapacities"]
    variant_rules.check_rescale(endpoint.variants, wire)
    desired = {entry["VariantName"]: entry for entry in wire}
    variants = tuple(shapes.rescaled(variant, desired.get(variant.name, {})) for variant in endpoint.variants)
    resized = tuple(entry["VariantName"] for entry in wire if "DesiredInstanceCount" in entry)
    return _update(control, replace(endpoint, rollout=None), endpoint.config_name, variants, resized)


def delete_endpoint(control: Control, call: Call) -> dict[str, Any]:
    endpoint = _changeable(control, call, EndpointEvent.DELETE)
    _moved(control, endpoint, EndpointEvent.DELETE)
    leave_behind(control.store, control.component_changed, endpoint)
    return {}


def list_monitoring_schedules(_: Control, call: Call) -> dict[str, Any]:
    """AWS's own tests ask for an endpoint's schedules before they delete it. Torpor has none."""
    schedules: list[dict[str, Any]] = []
    nothing, token = page(schedules, call.params)
    return {"MonitoringScheduleSummaries": nothing, "NextToken": token}


def redeploy(control: Control, endpoint: EndpointRecord, config_name: str, variants: tuple[Variant, ...]) -> None:
    """Update an endpoint to these variants. Raises ValidationException if they or the endpoint's status forbid it."""
    if not may(endpoint.status, EndpointEvent.UPDATE):
        raise errors.IN_PROGRESS(arn=endpoint.arn)
    _update(control, replace(endpoint, rollout=None), config_name, _deployed_by(config_name, variants))


def found_endpoint(control: Control, call: Call) -> EndpointRecord:
    name = call.params["EndpointName"]
    endpoint = control.store.endpoint(name)
    if endpoint is None:
        raise errors.NOT_FOUND(noun=Resource.ENDPOINT.noun, arn=Resource.ENDPOINT.arn(call, name))
    return endpoint


def _changeable(control: Control, call: Call, event: EndpointEvent) -> EndpointRecord:
    endpoint = found_endpoint(control, call)
    if may(endpoint.status, event):
        return endpoint
    if endpoint.status is EndpointStatus.FAILED:
        raise errors.ONLY_DELETE(arn=endpoint.arn)
    raise errors.IN_PROGRESS(arn=endpoint.arn)


def _update(
    control: Control,
    endpoint: EndpointRecord,
    config_name: str,
    variants: tuple[Variant, ...],
    resized: tuple[str, ...] = (),
) -> dict[str, Any]:
    variant_rules.check_updated(variants)
    check_copies_fit(control.store.components_of(endpoint), endpoint.variants, variants, strict=control.strict)
    pending = replace(endpoint, pending_config_name=config_name, pending_variants=variants, pending_told=resized)
    _moved(control, replace(pending, failure_reason=None), EndpointEvent.UPDATE)
    control.deployed(endpoint.name, variants)
    return {"EndpointArn": endpoint.arn}


def _deployed_by(config_name: str, variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
    """The variants of a deployment: their metrics also have the dimension EndpointConfigName."""
    return tuple(replace(variant, deployed_by=config_name) for variant in variants)


def _moved(control: Control, endpoint: EndpointRecord, event: EndpointEvent) -> None:
    """Store the endpoint with its next status. Raises ResourceInUse if another call has changed it meanwhile."""
    moved = after(endpoint, event)
    if not control.store.replace_endpoint(moved, expected_status=endpoint.status):
        raise errors.IN_PROGRESS(arn=endpoint.arn)
    control.changed(endpoint.name)


def _retained(current: tuple[Variant, ...], new: tuple[Variant, ...], call: Call) -> tuple[Variant, ...]:
    """The new variants, with the present weights and instance counts of the variants of the same names.

    ExcludeRetainedVariantProperties: the "list of type VariantProperty to override with the values provided by
    EndpointConfig".
    """
    excluded = {entry["VariantPropertyType"] for entry in call.params.get("ExcludeRetainedVariantProperties", [])}
    now = {variant.name: variant for variant in current}
    return tuple(shapes.retained(now[v.name], v, excluded) if v.name in now else v for v in new)
