"""The endpoints that take requests now, with their pools. The controller writes this record; the router reads it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from torpor_endpoint.core.records import Variant
from torpor_endpoint.fleet.instance_pool import InstancePool


@dataclass
class LiveEndpoint:
    """An endpoint with its pools by variant name, in the order of its configuration.

    `pools` has every pool, `production` those that answer callers, and `shadows` those that get copies of requests.
    """

    name: str
    arn: str
    pools: dict[str, InstancePool] = field(default_factory=dict)
    trouble: str | None = None
    """Why an endpoint that is InService has no pool: its image was known once and is no longer."""
    production: dict[str, InstancePool] = field(init=False)
    shadows: tuple[InstancePool, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.serve(self.pools)

    def serve(self, pools: dict[str, InstancePool]) -> None:
        """Serve by these pools from now on."""
        self.pools = pools
        self.production = {name: pool for name, pool in pools.items() if not pool.variant.shadow}
        self.shadows = tuple(pool for pool in pools.values() if pool.variant.shadow)

    @property
    def weights(self) -> list[tuple[str, float]]:
        """The weight of each production variant."""
        return [(name, pool.variant.weight) for name, pool in self.production.items()]


class Roster:
    """Every endpoint that takes requests, by its exact name: InvokeEndpoint distinguishes upper and lower case."""

    def __init__(self) -> None:
        self._serving: dict[str, LiveEndpoint] = {}

    def get(self, name: str) -> LiveEndpoint | None:
        return self._serving.get(name)

    def serve(self, endpoint: LiveEndpoint) -> None:
        self._serving[endpoint.name] = endpoint

    def stop(self, name: str) -> None:
        self._serving.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._serving

    def __iter__(self) -> Iterator[LiveEndpoint]:
        return iter(tuple(self._serving.values()))

    def instance_counts(self, endpoint_name: str) -> dict[str, int]:
        """Ready instances by variant name."""
        live = self._serving.get(endpoint_name)
        return {name: len(pool.ready) for name, pool in live.pools.items()} if live else {}


def same_machine(old: Variant, new: Variant) -> bool:
    """Whether instances of the old variant can serve the new one: only the weight or the sizes differ."""
    return _machine(old) == _machine(new)


def _machine(variant: Variant) -> tuple[object, ...]:
    memory_mib = variant.serverless.memory_mib if variant.serverless else None
    return variant.containers, variant.direct, variant.instance_type, memory_mib
