"""How a variant is set up, as far as its forecast needs it. The ledger keeps it; nothing is decided here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torpor_container.settings import BY_FIELD
from torpor_endpoint.core.resource_records import CopyNeeds, InstanceTypePool, ScaleIn, Serverless, Variant

FORECAST_SETTINGS = (
    "policy", "keep_alive", "idle_s", "model_idle_s", "model_keep_alive", "loads_max", "concurrency", "batch_size",
    "batch_delay_s", "vcpu", "trees",
)  # fmt: skip
"""The settings that a forecast needs, beside the sizes of instances."""

_VARIABLES = frozenset(BY_FIELD[name].variable for name in FORECAST_SETTINGS)


@dataclass(frozen=True)
class VariantSetup:
    """A variant that is serverless, one whose instances Torpor scales (`instances_min`, perhaps 0), or one with a given
    number of instances. A variant with `copies` is an inference component, whose instances are its copies; one with
    `capacity` has the instances that copies stand on."""

    multi_model: bool = True
    instances: int = 1
    instances_min: int | None = None
    instances_max: int | None = None
    serverless: Serverless | None = None
    model_cache: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)  # those that were given, by variable
    copies: CopyNeeds | None = None
    capacity: bool = False
    instance_type: str | None = None  # of capacity
    pools: tuple[InstanceTypePool, ...] = ()  # of capacity
    scale_in: ScaleIn | None = None  # of capacity


def setup_of(variant: Variant) -> VariantSetup:
    """The setup of a variant. Of an inference component it has no addresses of adapters."""
    given = {name: text for one in variant.containers for name, text in one.environment.items()}
    return VariantSetup(
        variant.multi_model,
        variant.instance_count,
        variant.instances_min,
        variant.instances_max,
        variant.serverless,
        all(container.model_cache for container in variant.containers),
        {name: text for name, text in given.items() if name in _VARIABLES},
        None if variant.copies is None else replace(variant.copies, adapters=()),
        variant.for_components,
        variant.instance_type if variant.for_components else None,
        variant.pools,
        variant.scale_in,
    )
