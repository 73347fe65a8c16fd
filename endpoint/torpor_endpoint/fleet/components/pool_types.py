"""The types of instances that a variant for inference components may have, and the one that a component is for."""

from collections.abc import Mapping
from dataclasses import replace

from torpor_endpoint.core.components.component_records import ComponentSpecification, specification_on
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount, schedulable
from torpor_endpoint.core.packing.further_instances import next_pool
from torpor_endpoint.core.resource_records import InstanceTypePool, Variant
from torpor_endpoint.host.launch import size_of


def pools_of(variant: Variant) -> tuple[InstanceTypePool, ...]:
    """Its InstancePools; one of its type if it has none."""
    return variant.pools or (InstanceTypePool(variant.instance_type or "", 1),)


def room_on(variant: Variant, instance_type: str, *, strict: bool) -> ComputeAmount:
    """What copies may have of an instance of this type."""
    size = size_of(replace(variant, instance_type=instance_type))
    return schedulable(size.memory_mib, size.vcpu, size.gpus, strict=strict)


def rooms(variant: Variant, *, strict: bool) -> dict[str, ComputeAmount]:
    """What copies may have of an instance of each type that may come."""
    return {one.instance_type: room_on(variant, one.instance_type, strict=strict) for one in pools_of(variant)}


def specified_type(
    variant: Variant, specifications: tuple[ComponentSpecification, ...], *, strict: bool
) -> tuple[str, ComponentSpecification] | None:
    """The type of instance that a component's copies are for, and the specification for it: of the pool with the
    highest priority on whose type one fits. The first one with a specification if it fits on none; None if there is
    none."""
    types = [one.instance_type for one in sorted(pools_of(variant), key=lambda pool: pool.priority)]
    found = {kind: one for kind in types if (one := specification_on(specifications, kind)) is not None}
    best = next_pool(pools_of(variant), _needs(found), rooms(variant, strict=strict))
    kind = next(iter(found), None) if best is None else best.instance_type
    return None if kind is None else (kind, found[kind])


def _needs(found: Mapping[str, ComponentSpecification]) -> dict[str, ComputeAmount]:
    return {
        kind: ComputeAmount(one.resources.min_memory_mib, one.resources.cores, one.resources.accelerators)
        for kind, one in found.items()
        if one.resources is not None
    }
