"""Reads the load of variants and inference components for automatic scaling: of both fleets, while there are two."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from torpor_endpoint.core.autoscaling.samples import FleetPart, VariantLoad, load_of
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.services.autoscaling.resources import COMPONENT, VARIANT

Fleets = Sequence[tuple[InstancePool, float]]
"""Pools, each with its part of the traffic."""


class FleetLoads:
    """Reads the pools of a roster."""

    def __init__(self, roster: FleetRoster) -> None:
        self._roster = roster
        self._counts: dict[str, _Invocations] = {}  # by resource id

    def load(self, resource_id: str) -> VariantLoad | None:
        """The present load of a variant or inference component; None if it does not serve."""
        fleets = self._fleets(resource_id)
        if not fleets:
            self._counts.pop(resource_id, None)
            return None
        came = self._counts.setdefault(resource_id, _Invocations()).after([pool for pool, _ in fleets])
        return load_of(came, [_load(pool, share) for pool, share in fleets])

    def _fleets(self, resource_id: str) -> Fleets:
        if (component := COMPONENT.fullmatch(resource_id)) is not None:
            return self._copies(component["component"])
        named = VARIANT.fullmatch(resource_id)
        live = None if named is None else self._roster.get(named["endpoint"])
        if named is None or live is None or named["variant"] not in live.pools:
            return ()
        alone = live.pools[named["variant"]]
        fleets = live.fleets_of(named["variant"])
        return fleets if len({pool for pool, _ in fleets}) > 1 else ((alone, 1.0),)

    def _copies(self, component: str) -> Fleets:
        pools = next((live.generations[component] for live in self._roster if component in live.generations), [])
        if len(pools) < 2:
            return [(pool, 1.0) for pool in pools]
        return [(pool, pool.variant.weight) for pool in pools]  # an update by batches has them add up to 1


class _Invocations:
    """The invocations of a variant, whichever fleets it has had: a count that only grows."""

    def __init__(self) -> None:
        self._total = 0
        self._seen: WeakKeyDictionary[InstancePool, int] = WeakKeyDictionary()

    def after(self, pools: Sequence[InstancePool]) -> int:
        for pool in pools:
            came = pool.traffic.invocations
            self._total += came - self._seen.get(pool, 0)
            self._seen[pool] = came
        return self._total


def _load(pool: InstancePool, share: float) -> FleetPart:
    traffic, serverless = pool.traffic, pool.variant.serverless
    provisioned = serverless.provisioned_concurrency if serverless else 0
    return FleetPart(share, traffic.in_flight, pool.size, len(pool.ready), provisioned)
