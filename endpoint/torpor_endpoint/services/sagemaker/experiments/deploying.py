"""Changes an endpoint for an experiment: makes the endpoint configuration, and updates the endpoint to it."""

from torpor_endpoint.core.resource_records import EndpointRecord, ModelRecord, Variant
from torpor_endpoint.services.sagemaker import errors, variant_rules
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.endpoints import redeploy
from torpor_endpoint.services.sagemaker.experiments import rules
from torpor_endpoint.services.sagemaker.experiments.experiment_variants import (
    Wire,
    after,
    during,
    endpoint_config,
    resampled,
)
from torpor_endpoint.services.sagemaker.experiments.lifecycle import ExperimentStatus, InferenceExperiment, roles
from torpor_endpoint.services.sagemaker.experiments.next_step import reverts
from torpor_endpoint.services.sagemaker.rules import check


def variants_during(control: Control, endpoint: EndpointRecord, settings: Wire) -> tuple[Variant, ...]:
    """The variants of an endpoint while it has an experiment with these settings. Raises ValidationException."""
    check(rules.SETTINGS_RULES, settings)
    rules.check_endpoint(endpoint.variants, settings)
    variants = during(endpoint.variants, settings, _models(control, endpoint, settings))
    if control.strict:
        check(rules.STRICT_ENDPOINT_RULES, variants)
    check_variants(control, endpoint, variants)
    return variants


def _models(control: Control, endpoint: EndpointRecord, settings: Wire) -> dict[str, ModelRecord]:
    """The models of the experiment by name, without that which the endpoint's production variant has already."""
    served = {variant.model_name for variant in endpoint.variants if not variant.shadow}
    parts, models = roles(settings), {}
    for variant in settings["ModelVariants"]:
        name, model = variant["ModelName"], control.store.model(variant["ModelName"])
        if model is not None:
            models[name] = model
        elif variant["VariantName"] == parts.shadow or name not in served:
            raise errors.INVALID(f'ModelVariants: could not find model "{name}" of {variant["VariantName"]}.')
    return models


def check_variants(control: Control, endpoint: EndpointRecord, variants: tuple[Variant, ...]) -> None:
    """Raises ValidationException if an endpoint cannot be updated to these variants."""
    variant_rules.check_variants({"ProductionVariants": [variant.request for variant in variants]})
    if control.strict:
        check(variant_rules.STRICT_RULES, variants)
    variant_rules.check_scaled(endpoint.variants, variants, control.scaled(endpoint.name))
    variant_rules.check_updated(variants)


def deploy(control: Control, experiment: InferenceExperiment, endpoint: EndpointRecord, before: EndpointRecord) -> None:
    """Update the endpoint to the experiment's target. `before` is the endpoint before the experiment.

    Raises an AwsError if that is not possible, or not now.
    """
    if reverts(experiment, before):
        redeploy(control, endpoint, before.config_name, before.variants)
        return
    variants = variants_of_change(control, experiment, endpoint, before)
    base = control.store.endpoint_config(before.config_name)
    config = endpoint_config(experiment, variants, base.request if base else {}, control.clock())
    control.store.add_endpoint_config(config)  # it is there already after a kill between this and the next line
    redeploy(control, endpoint, config.name, variants)


def variants_of_change(
    control: Control, experiment: InferenceExperiment, endpoint: EndpointRecord, before: EndpointRecord
) -> tuple[Variant, ...]:
    """The variants that a change which does not revert gives the endpoint."""
    if experiment.stop is not None:
        return after(endpoint.variants, before.variants, experiment.settings, experiment.stop)
    if experiment.status is ExperimentStatus.UPDATING:
        return resampled(endpoint.variants, roles(experiment.wanted).percentage)
    return variants_during(control, endpoint, experiment.settings)
