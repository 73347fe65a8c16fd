"""The variants that an endpoint has during an experiment and after it, as values. They are deployed elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torpor_endpoint.core.resource_records import DataCapture, EndpointConfig, EndpointRecord, ModelRecord, Variant
from torpor_endpoint.services.sagemaker import shapes
from torpor_endpoint.services.sagemaker.experiments.lifecycle import Action, InferenceExperiment, StopOrder, roles

Wire = Mapping[str, Any]
Variants = tuple[Variant, ...]

VARIANT_LISTS = ("ProductionVariants", "ShadowProductionVariants")


def capture_config(settings: Wire) -> dict[str, Any] | None:
    """The DataCaptureConfig of an experiment's DataStorageConfig: both sides of every request."""
    storage = settings.get("DataStorageConfig")
    if storage is None:
        return None
    return {
        "EnableCapture": True,
        "InitialSamplingPercentage": 100,
        "DestinationS3Uri": storage["Destination"],
        "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
        **({"KmsKeyId": storage["KmsKey"]} if "KmsKey" in storage else {}),
        **({"CaptureContentTypeHeader": storage["ContentType"]} if "ContentType" in storage else {}),
    }


def during(present: Variants, settings: Wire, models: Mapping[str, ModelRecord]) -> Variants:
    """Production and shadow variant while the experiment runs. `models` are theirs, by name.

    Each has the model that the experiment names, also where the endpoint's production variant had another one before.
    The shadow's weight is the sampling percentage, since the share of copies is the ratio of the weights.
    """
    parts = roles(settings)
    source = _source(_production(present), parts.variants[parts.source], models)
    infrastructure = parts.variants[parts.shadow]
    model = models[infrastructure["ModelName"]]
    named = {"VariantName": parts.shadow, "ModelName": model.name, **_sizes(infrastructure)}
    shadow = shapes.variant({**named, "InitialVariantWeight": parts.percentage / 100}, model, shadow=True)
    capture = capture_config(settings)
    if capture is None:
        return source, replace(shadow, capture=_written_by(shadow, source.capture))
    return shapes.with_capture((source, shadow), {"DataCaptureConfig": capture})


def _source(production: Variant, wire: Wire, models: Mapping[str, ModelRecord]) -> Variant:
    """The production variant with the infrastructure and the model of its ModelVariantConfig."""
    if wire["ModelName"] == production.model_name:  # with the containers that it has: its model may be deleted
        return sized(production, wire, 1.0)
    model = models[wire["ModelName"]]
    other = shapes.variant({**production.request, "ModelName": model.name, "InitialVariantWeight": 1.0}, model)
    return sized(replace(other, capture=_written_by(other, production.capture)), wire, 1.0)


def _production(variants: Variants) -> Variant:
    (production,) = [variant for variant in variants if not variant.shadow]
    return production


def _written_by(variant: Variant, capture: DataCapture | None) -> DataCapture | None:
    """Another variant's capture as the role of this one's model writes it."""
    return None if capture is None else replace(capture, role=variant.role)


def resampled(present: Variants, percentage: int) -> Variants:
    """The variants with another share of copies."""
    return tuple(weighted(variant, percentage / 100) if variant.shadow else variant for variant in present)


def after(present: Variants, before: Variants, settings: Wire, order: StopOrder) -> Variants:
    """The variants after a stop that does not simply revert. `present` are those of the experiment."""
    parts = roles(settings)
    sizes = {wire["VariantName"]: wire for wire in order.desired}
    capture = before[0].capture  # the experiment's own ends with it
    (shadow,) = [variant for variant in present if variant.shadow]
    if order.actions[parts.shadow] is Action.PROMOTE:
        promoted = replace(shadow, shadow=False, capture=_written_by(shadow, capture))
        return (sized(promoted, sizes.get(parts.shadow), 1.0),)
    if order.actions[parts.shadow] is Action.REMOVE:
        was, now = _production(before), _production(present)
        kept = was if was.model_name == now.model_name else replace(now, capture=_written_by(now, capture))
        return (sized(kept, sizes.get(parts.source), was.weight),)
    return tuple(sized(variant, sizes.get(variant.name), variant.weight) for variant in present)


def sized(variant: Variant, wire: Wire | None, weight: float) -> Variant:
    """The variant with this weight, and with the infrastructure of a ModelVariantConfig if there is one."""
    if wire is None:
        return weighted(variant, weight)
    sizes = _sizes(wire)
    request = {**variant.request, **sizes}
    resized = replace(variant, instance_type=sizes["InstanceType"], instance_count=sizes["InitialInstanceCount"])
    return weighted(replace(resized, request=request), weight)


def weighted(variant: Variant, weight: float) -> Variant:
    return replace(variant, weight=weight, request={**variant.request, "InitialVariantWeight": weight})


def endpoint_config(
    experiment: InferenceExperiment, variants: Sequence[Variant], base: Wire, now_s: float
) -> EndpointConfig:
    """The endpoint configuration of these variants. `base` is that of before the experiment; its other members stay."""
    name, settings = experiment.own_config_name, experiment.wanted
    rest = {member: value for member, value in base.items() if member not in VARIANT_LISTS}
    lists = {
        member: [dict(variant.request) for variant in variants if variant.shadow is shadow]
        for member, shadow in zip(VARIANT_LISTS, (False, True), strict=True)
    }
    capture = capture_config(settings) if lists["ShadowProductionVariants"] else None
    request = {
        **rest,
        **{member: entries for member, entries in lists.items() if entries},
        **({"DataCaptureConfig": capture} if capture else {}),
        **({"KmsKeyId": settings["KmsKey"]} if "KmsKey" in settings else {}),
        "EndpointConfigName": name,
    }
    account = experiment.arn.rpartition(":")[0]
    return EndpointConfig(name, f"{account}:endpoint-config/{name.lower()}", now_s, request)


def status(name: str, endpoint: EndpointRecord | None, experiment: InferenceExperiment) -> str:
    """The ModelVariantStatus of a variant on the endpoint."""
    there = endpoint is not None and name in _names(endpoint.variants)
    pending = None if endpoint is None else endpoint.pending_variants
    if there:
        if pending is None:
            return "InService"
        return "Updating" if name in _names(pending) else "Deleting"
    coming = not experiment.finished and experiment.stop is None
    return "Creating" if coming else "Deleted"


def _names(variants: Sequence[Variant]) -> set[str]:
    return {variant.name for variant in variants}


def _sizes(wire: Wire) -> dict[str, Any]:
    """The members of a ProductionVariant that a ModelVariantConfig's infrastructure gives."""
    real_time = wire["InfrastructureConfig"]["RealTimeInferenceConfig"]
    return {"InstanceType": real_time["InstanceType"], "InitialInstanceCount": real_time["InstanceCount"]}
