"""Reads the InstancePools of a variant, and writes them as DescribeEndpoint shows them.

"SageMaker attempts to provision instances in order of priority, starting with the lowest value. If instances for a
higher-priority pool are unavailable, SageMaker attempts to provision from the next pool." This machine never lacks
instances of a type: the first pool has all but those for copies of inference components that do not fit on its type.
"""

from collections.abc import Mapping
from typing import Any

from torpor_endpoint.core.resource_records import InstanceTypePool, Variant
from torpor_endpoint.services.sagemaker.rules import Wire


def pools_of(production: Wire) -> tuple[InstanceTypePool, ...]:
    """The InstancePools of a production variant, the one that is tried first first."""
    return tuple(InstanceTypePool(pool["InstanceType"], pool["Priority"]) for pool in _in_order(production))


def model_of(production: Wire) -> str:
    """The name of the model of the variant's instances: "instead of the model specified for the production variant" a
    pool may have its own."""
    first: Wire = next(iter(_in_order(production)), {})
    return str(first.get("ModelNameOverride", production["ModelName"]))


def pool_summaries(variant: Variant, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Its InstancePools, with so many instances of each type."""
    return [
        {"InstanceType": pool.instance_type, "CurrentInstanceCount": counts.get(pool.instance_type, 0)}
        for pool in variant.pools
    ]


def _in_order(production: Wire) -> list[Wire]:
    return sorted(production.get("InstancePools", ()), key=lambda pool: int(pool["Priority"]))
