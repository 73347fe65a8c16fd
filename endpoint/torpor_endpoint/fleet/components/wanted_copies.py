"""Finds the variant of a component's copies: the specification and the type of instance that they are for."""

from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentSpecification
from torpor_endpoint.core.components.component_variants import copies_variant
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.components.component_deployment import ComponentFailed
from torpor_endpoint.fleet.components.pool_types import specified_type

ADAPTER = "Inference component {component} is an adapter of another one, and has no copies of its own."
NO_SPECIFICATION = "Inference component {component} has no specification for instances of {instance_type}."


def wanted_copies(
    component: ComponentRecord,
    specifications: tuple[ComponentSpecification, ...],
    capacity: Variant,
    count: int,
    *,
    strict: bool,
) -> Variant:
    """So many copies of one of these specifications, on instances of `capacity`. `strict`: no request starts one where
    there are none, and copies may have of an instance what they have on AWS. Raises ComponentFailed."""
    found = specified_type(capacity, specifications, strict=strict)
    if found is None:
        told = {"component": component.name, "instance_type": str(capacity.instance_type)}
        raise ComponentFailed(NO_SPECIFICATION.format(**told))
    instance_type, specification = found
    if specification.resources is None:
        raise ComponentFailed(ADAPTER.format(component=component.name))
    return copies_variant(
        component,
        specification,
        capacity,
        count,
        wakes=not strict,
        generation=component.generation,
        instance_type=instance_type,
    )
