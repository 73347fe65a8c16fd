"""Checks that a scalable target's endpoint and variant, or its inference component, exist and can be scaled."""

from collections.abc import Callable

from torpor_endpoint.core.components.component_records import ComponentRecord
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.scaling import may_be_empty
from torpor_endpoint.services.autoscaling.resources import COMPONENT, CONCURRENCY, INSTANCES, VARIANT
from torpor_endpoint.storage.store import Store

Refusal = Callable[[str, str, int], str | None]
"""Takes resource id, dimension and minimum capacity; returns why they cannot be a scalable target, or None."""

BURSTABLE = (
    "You cannot register a variant with {instance_type} instance type as a scalable target. This is because the "
    "burstable performance of these instances can lead to unpredictable behavior with Auto Scaling."
)


def refusal(store: Store, *, strict: bool) -> Refusal:
    """A check against the store. With `strict` it also refuses instances of a burstable type, as AWS does."""

    def refused(resource_id: str, dimension: str, capacity_min: int) -> str | None:
        if (component := COMPONENT.fullmatch(resource_id)) is not None:
            return _unscalable_component(store.component(component["component"]), component["component"])
        named = VARIANT.fullmatch(resource_id)
        if named is None:
            return f"{resource_id} names no variant and no inference component."
        endpoint = store.endpoint(named["endpoint"])
        if endpoint is None:
            return f"Could not find endpoint {named['endpoint']}."
        variant = next((variant for variant in endpoint.variants if variant.name == named["variant"]), None)
        if variant is None:
            return f"Endpoint {endpoint.name} has no production variant {named['variant']}."
        if variant.for_components:
            return f"The instances of production variant {variant.name} follow the copies of its inference components."
        if capacity_min == 0 and dimension == INSTANCES and not may_be_empty(variant):
            return f"Minimum capacity cannot be less than 1 for production variant {variant.name}."
        return _unscalable(variant, dimension, strict)

    return refused


def _unscalable_component(component: ComponentRecord | None, name: str) -> str | None:
    if component is None:
        return f"Could not find inference component {name}."
    if component.base_name is not None:
        return f"Inference component {name} is an adapter: it has no copies of its own."
    return None


def _unscalable(variant: Variant, dimension: str, strict: bool) -> str | None:
    if dimension == CONCURRENCY and variant.serverless is None:
        return f"Production variant {variant.name} is not serverless: it has no provisioned concurrency."
    if dimension == INSTANCES and variant.serverless is not None:
        return f"Production variant {variant.name} is serverless: it has no instances to count."
    if strict and (variant.instance_type or "").startswith("ml.t"):
        return BURSTABLE.format(instance_type=variant.instance_type)
    return None
