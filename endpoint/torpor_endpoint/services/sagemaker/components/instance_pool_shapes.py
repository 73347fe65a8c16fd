"""Writes the instance pools of a variant for components, as DescribeEndpoint shows them."""

from typing import Any

from torpor_endpoint.core.resource_records import Variant


def pool_summaries(variant: Variant, ready: int) -> list[dict[str, Any]]:
    """Its InstancePools. The first one has all instances: this machine never lacks one of a type."""
    counts = (ready, *(0 for _ in variant.pools[1:]))
    return [
        {"InstanceType": pool.instance_type, "CurrentInstanceCount": count}
        for pool, count in zip(variant.pools, counts, strict=False)
    ]
