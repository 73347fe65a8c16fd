"""The rules for variants without a model, whose instances are for inference components."""

from collections.abc import Iterable, Mapping
from math import inf

from torpor_endpoint.core.components.component_lifecycle import ANSWERING
from torpor_endpoint.core.components.component_records import ComponentRecord
from torpor_endpoint.core.components.component_variants import copies_variant
from torpor_endpoint.core.packing.copy_placement import NOT_ENOUGH, place_all
from torpor_endpoint.core.packing.packed_instances import PackedCopy, PackedInstance
from torpor_endpoint.core.pricing.catalogue import instance_type
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.components.copy_places import most_instances, packed_copy
from torpor_endpoint.fleet.components.pool_types import room_on, specified_type
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.rules import Rules, Wire

CAPACITY_CONFIG_RULES: Rules[Wire] = (
    (
        lambda params: len({"ModelName" in one for one in params["ProductionVariants"]}) > 1,
        "ProductionVariants must all have a ModelName, or none, where inference components are to be deployed.",
    ),
    (
        lambda params: (
            "ExecutionRoleArn" not in params and any("ModelName" not in one for one in params["ProductionVariants"])
        ),
        "ExecutionRoleArn must be given with production variants without a ModelName: their inference components use "
        "it.",
    ),
    (
        lambda params: any("ModelName" not in one for one in params.get("ShadowProductionVariants", ())),
        "ShadowProductionVariants must have a ModelName: inference components have no shadow variants.",
    ),
    (
        lambda params: (
            bool(params.get("ShadowProductionVariants"))
            and any("ModelName" not in one for one in params["ProductionVariants"])
        ),
        "ShadowProductionVariants cannot be used with inference components.",
    ),
)

CAPACITY_RULES: Rules[Wire] = (
    (
        lambda v: "ServerlessConfig" in v and "InstancePools" in v,
        'Production variant "{variant}": ServerlessConfig excludes InstancePools.',
    ),
    (
        lambda v: "ModelName" not in v and "ServerlessConfig" in v,
        'Production variant "{variant}" must have a ModelName with ServerlessConfig: inference components need '
        "instances.",
    ),
    (
        lambda v: "InstancePools" in v and "InstanceType" in v,
        'Production variant "{variant}" must have only one of InstanceType and InstancePools.',
    ),
    (
        lambda v: "ModelName" not in v and any("ModelNameOverride" in pool for pool in v.get("InstancePools", ())),
        'Production variant "{variant}": ModelNameOverride needs the ModelName that it stands in for. Give the '
        "inference component Specifications, one for each InstanceType.",
    ),
    (
        lambda v: any(instance_type(pool["InstanceType"]) is None for pool in v.get("InstancePools", ())),
        'Production variant "{variant}": InstancePools has an instance type that is not in Torpor\'s catalogue.',
    ),
    (
        lambda v: _repeats(v, "InstanceType"),
        'Production variant "{variant}": InstancePools must not have the same InstanceType twice.',
    ),
    (
        lambda v: _repeats(v, "Priority"),
        'Production variant "{variant}": InstancePools must not have the same Priority twice.',
    ),
    (
        lambda v: "ScaleInPolicy" in v.get("ManagedInstanceScaling", {}) and not _scales(v),
        'Production variant "{variant}": ScaleInPolicy needs ManagedInstanceScaling with Status ENABLED.',
    ),
)


def check_room_stays(components: Iterable[ComponentRecord], new: Iterable[Variant]) -> None:
    """Raises ValidationException if an update of the endpoint takes away a variant that has components."""
    kept = {variant.name for variant in new if variant.for_components}
    lost = {component.variant_name: component.name for component in components if component.variant_name not in kept}
    for variant, component in lost.items():
        raise errors.INVALID(
            f'Production variant "{variant}" has inference components, such as "{component}": delete them before an '
            "update removes it or gives it a model."
        )


def check_copies_fit(
    components: Iterable[ComponentRecord], present: Iterable[Variant], new: Iterable[Variant], *, strict: bool
) -> None:
    """Raises ValidationException if an update gives a variant less than the copies of its components need, and it had
    enough before: with fewer instances, or smaller ones."""
    before, every = {variant.name: variant for variant in present}, tuple(components)
    for variant in new:
        if not variant.for_components:
            continue
        copies, had = _copies_on(variant, every, strict), before.get(variant.name, variant)
        if (
            not _fit(copies, variant, strict)
            and had.for_components
            and _fit(_copies_on(had, every, strict), had, strict)
        ):
            count = sum(map(len, copies.values()))
            raise errors.INVALID(
                f'Production variant "{variant.name}" has {count} copies of inference components, and would have '
                f"{most_instances(variant)} instance(s) of {variant.instance_type}. {NOT_ENOUGH}"
            )


def _copies_on(variant: Variant, components: Iterable[ComponentRecord], strict: bool) -> dict[str, list[PackedCopy]]:
    """The copies that are to be on the variant, as the packing knows them, by the type of their instances."""
    found: dict[str, list[PackedCopy]] = {}
    for component in components:
        if component.variant_name != variant.name or component.status not in ANSWERING or component.base_name:
            continue
        chosen = specified_type(variant, component.specifications, strict=strict)
        if chosen is not None:
            kind, specification = chosen
            told = component, specification, variant, component.copies
            copies = copies_variant(*told, wakes=False, instance_type=kind)
            found.setdefault(kind, []).extend(packed_copy(copies, number) for number in range(component.copies))
    return found


def _fit(copies: Mapping[str, list[PackedCopy]], variant: Variant, strict: bool) -> bool:
    """Whether there may be enough instances for them: of the first type, unless their number follows the copies."""
    if variant.instances_min is None and copies.keys() - {variant.instance_type}:
        return False
    together = [one for alike in copies.values() for one in alike]
    ways = (copies, *({kind: together} for kind in copies))
    return any(_instances_for(way, variant, strict) <= most_instances(variant) for way in ways)


def _instances_for(copies: Mapping[str, list[PackedCopy]], variant: Variant, strict: bool) -> float:
    """The fewest instances that hold the copies, those of each type apart; infinity if more than there may be."""
    wanted = 0.0
    for kind, alike in copies.items():
        room, numbers = room_on(variant, kind, strict=strict), range(most_instances(variant) + 1)
        fleets = ([PackedInstance(one, room, instance_type=kind) for one in range(number)] for number in numbers)
        wanted += next((len(fleet) for fleet in fleets if place_all(alike, fleet) is not None), inf)
    return wanted


def _repeats(production: Wire, member: str) -> bool:
    found = [pool[member] for pool in production.get("InstancePools", ())]
    return len(set(found)) < len(found)


def _scales(production: Wire) -> bool:
    return bool(production["ManagedInstanceScaling"].get("Status", "ENABLED") == "ENABLED")
