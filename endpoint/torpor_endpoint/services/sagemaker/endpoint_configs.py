"""CreateEndpointConfig, DescribeEndpointConfig, ListEndpointConfigs, DeleteEndpointConfig; resolves configs' models."""

from collections.abc import Mapping
from typing import Any

from torpor_account.aws.calls import Call
from torpor_endpoint.core.resource_records import EndpointConfig, Variant
from torpor_endpoint.services.sagemaker import errors, shapes, variant_rules
from torpor_endpoint.services.sagemaker.components.capacity_shapes import capacity_variant
from torpor_endpoint.services.sagemaker.components.instance_pool_shapes import model_of
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.errors import Resource
from torpor_endpoint.services.sagemaker.listing import found, page
from torpor_endpoint.services.sagemaker.members.checking import check_known
from torpor_endpoint.services.sagemaker.models import found_model
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.sagemaker.tag_operations import first_tags


def create_endpoint_config(control: Control, call: Call) -> dict[str, Any]:
    check_known("CreateEndpointConfigInput", call.params)
    check(variant_rules.CONFIG_RULES, call.params)
    variant_rules.check_variants(call.params)
    resolved(control, call, call.params)
    name = call.params["EndpointConfigName"]
    arn = Resource.ENDPOINT_CONFIG.arn(call, name)
    config = EndpointConfig(name, arn, control.clock(), shapes.without_tags(call.params))
    if not control.store.add_endpoint_config(config, first_tags(call)):
        raise errors.EXISTS(noun=Resource.ENDPOINT_CONFIG.noun, arn=arn)
    return {"EndpointConfigArn": arn}


def describe_endpoint_config(control: Control, call: Call) -> dict[str, Any]:
    return shapes.endpoint_config_description(found_endpoint_config(control, call))


def list_endpoint_configs(control: Control, call: Call) -> dict[str, Any]:
    cards, token = page(control.store.endpoint_config_cards(), call.params)
    configs = found(cards, control.store.endpoint_config)
    return {"EndpointConfigs": list(map(shapes.endpoint_config_summary, configs)), "NextToken": token}


def delete_endpoint_config(control: Control, call: Call) -> dict[str, Any]:
    """Delete the config, also while an endpoint uses it: the SageMaker SDK deletes the config first."""
    name = call.params["EndpointConfigName"]
    if not control.store.remove_endpoint_config(name):
        raise errors.NOT_FOUND(noun=Resource.ENDPOINT_CONFIG.noun, arn=Resource.ENDPOINT_CONFIG.arn(call, name))
    return {}


def found_endpoint_config(control: Control, call: Call) -> EndpointConfig:
    name = call.params["EndpointConfigName"]
    config = control.store.endpoint_config(name)
    if config is None:
        raise errors.NOT_FOUND(noun=Resource.ENDPOINT_CONFIG.noun, arn=Resource.ENDPOINT_CONFIG.arn(call, name))
    return config


def resolved(control: Control, call: Call, request: Mapping[str, Any]) -> tuple[Variant, ...]:
    """The variants of a CreateEndpointConfig request, with the present containers of their models: production, then
    shadow variants."""
    shadows = request.get("ShadowProductionVariants", ())
    productions = [*request["ProductionVariants"], *shadows]
    if "ModelName" not in productions[0]:  # then none has one
        role = request["ExecutionRoleArn"]
        return shapes.with_whole_config(
            tuple(capacity_variant(production, role) for production in productions), request
        )
    for pool in [pool for production in productions for pool in production.get("InstancePools", ())]:
        if "ModelNameOverride" in pool:  # also of a pool that has no instances now
            found_model(control, call, pool["ModelNameOverride"])
    for production in productions:  # also one that no instance serves now
        found_model(control, call, production["ModelName"])
    models = [found_model(control, call, model_of(production)) for production in productions]
    shadow = [False] * (len(productions) - len(shadows)) + [True] * len(shadows)
    variants = tuple(map(shapes.variant, productions, models, shadow))
    variants = shapes.with_whole_config(variants, request)
    variant_rules.check_memory(variants)
    if control.strict:
        check(variant_rules.STRICT_RULES, variants)
        for production, model in zip(productions, models, strict=True):
            pair = (production, model.request)
            check(variant_rules.STRICT_MODEL_RULES, pair, variant=production["VariantName"])
    return variants
