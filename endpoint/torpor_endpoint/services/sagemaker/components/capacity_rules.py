"""The rules for variants without a model, whose instances are for inference components."""

from collections.abc import Iterable

from torpor_endpoint.core.components.component_lifecycle import ANSWERING
from torpor_endpoint.core.components.component_records import ComponentRecord, specification_on
from torpor_endpoint.core.components.component_variants import copies_variant
from torpor_endpoint.core.packing.compute_amounts import schedulable
from torpor_endpoint.core.packing.copy_placement import NOT_ENOUGH, place_all
from torpor_endpoint.core.packing.packed_instances import PackedCopy, PackedInstance
from torpor_endpoint.core.pricing.catalogue import instance_type
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.components.copy_places import most_instances, packed
from torpor_endpoint.host.launch import size_of
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
        copies = _copies_on(variant, every)
        had = before.get(variant.name, variant)
        if variant.for_components and not _fit(copies, variant, strict) and _fit(_copies_on(had, every), had, strict):
            raise errors.INVALID(
                f'Production variant "{variant.name}" has {len(copies)} copies of inference components, and would have '
                f"{most_instances(variant)} instance(s) of {variant.instance_type}. {NOT_ENOUGH}"
            )


def _copies_on(variant: Variant, components: Iterable[ComponentRecord]) -> list[PackedCopy]:
    """The copies that are to be on the variant, as the packing knows them."""
    found = []
    for component in components:
        specification = specification_on(component.specifications, variant.instance_type)
        if (
            component.variant_name == variant.name
            and component.status in ANSWERING
            and specification is not None
            and specification.resources is not None
        ):
            needs = copies_variant(component, specification, variant, component.copies, wakes=False).copies
            found += [packed(needs, number) for number in range(component.copies) if needs is not None]
    return found


def _fit(copies: list[PackedCopy], variant: Variant, strict: bool) -> bool:
    size = size_of(variant)
    amount = schedulable(size.memory_mib, size.vcpu, size.gpus, strict=strict)
    return place_all(copies, [PackedInstance(number, amount) for number in range(most_instances(variant))]) is not None


def _repeats(production: Wire, member: str) -> bool:
    found = [pool[member] for pool in production.get("InstancePools", ())]
    return len(set(found)) < len(found)


def _scales(production: Wire) -> bool:
    return bool(production["ManagedInstanceScaling"].get("Status", "ENABLED") == "ENABLED")
