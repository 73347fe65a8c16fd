"""What runs the copies of an inference component: a variant of its own, whose instances they are.

The name of such a variant begins with a word and a dot. No production variant's name, and no component's, has a dot.
"""

from collections.abc import Mapping
from dataclasses import replace

from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentSpecification, PlacementStrategy
from torpor_endpoint.core.resource_records import CopyNeeds, Variant

PREFIX, SECOND = "component.", ".2"
GENERATIONS = range(2)
"""An update by batches goes from one to the other."""


def copies_name(component: str, generation: int = 0) -> str:
    """The name of the variant whose instances are the component's copies. An update by batches has two for a while."""
    return f"{PREFIX}{component}{SECOND}" if generation else f"{PREFIX}{component}"


def component_of(variant: str) -> str | None:
    """The component whose copies are the instances of the variant of this name; None for a production variant."""
    return variant.removeprefix(PREFIX).removesuffix(SECOND) if variant.startswith(PREFIX) else None


def copies_variant(
    component: ComponentRecord,
    specification: ComponentSpecification,
    capacity: Variant,
    count: int,
    *,
    wakes: bool,
    generation: int = 0,
    instance_type: str | None = None,
) -> Variant:
    """The variant of so many copies of this specification on instances of `capacity`. `wakes`: where there are none, a
    request starts one, which leaves by its keep-alive. `instance_type` is that of one of the InstancePools; None for
    the first one's."""
    resources = specification.resources
    assert resources is not None, "an adapter has no copies of its own"
    asleep = wakes and not count
    chosen = instance_type or capacity.instance_type
    return Variant(
        name=copies_name(component.name, generation),
        model_name=specification.model_name or "",
        containers=specification.containers,
        instance_type=chosen,
        instance_count=count,
        instances_min=0 if asleep else None,
        instances_max=1 if asleep else None,
        startup_timeout_s=specification.startup_timeout_s,
        capture=capacity.capture,
        asynchronous=capacity.asynchronous,
        deployed_by=capacity.deployed_by,
        copies=CopyNeeds(
            component=component.name,
            placed_on=capacity.name,
            memory_mib=resources.min_memory_mib,
            memory_max_mib=resources.max_memory_mib,
            cores=resources.cores,
            accelerators=resources.accelerators,
            binpack=specification.strategy is PlacementStrategy.BINPACK,
            first_type="" if chosen == capacity.instance_type else capacity.instance_type or "",
            one_type=specification.instance_type is not None,
        ),
    )


def with_adapters(variant: Variant, adapters: Mapping[str, str]) -> Variant:
    """The copies of a component, which serve these adapters of its model: S3 addresses by their names."""
    if variant.copies is None or dict(variant.copies.adapters) == adapters:
        return variant
    return replace(variant, copies=replace(variant.copies, adapters=tuple(sorted(adapters.items()))))
