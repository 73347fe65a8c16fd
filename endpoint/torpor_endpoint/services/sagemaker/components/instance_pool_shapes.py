"""Reads the InstancePools of a variant, and writes them as DescribeEndpoint shows them.

"SageMaker attempts to provision instances in order of priority, starting with the lowest value. If instances for a
higher-priority pool are unavailable, SageMaker attempts to provision from the next pool." This machine never lacks
instances of a type, so the first pool has all.
"""

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


def pool_summaries(variant: Variant, ready: int) -> list[dict[str, Any]]:
    """Its InstancePools, with so many instances."""
    counts = (ready, *(0 for _ in variant.pools[1:]))
    return [
        {"InstanceType": pool.instance_type, "CurrentInstanceCount": count}
        for pool, count in zip(variant.pools, counts, strict=False)
    ]


def _in_order(production: Wire) -> list[Wire]:
    return sorted(production.get("InstancePools", ()), key=lambda pool: int(pool["Priority"]))
