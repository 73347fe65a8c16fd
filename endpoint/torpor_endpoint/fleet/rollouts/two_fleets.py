"""The two fleets of an endpoint during a rollout: brings both to what the rollout's phase asks for."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from torpor_endpoint.core.rollouts.rollout import FleetSizes, FleetTarget
from torpor_endpoint.core.scaling import size_range
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.variant_change import VariantChange, all_ready, failure_reason
from torpor_endpoint.in_service.served_endpoints import TrafficShift

WHY = "its endpoint is rolled out"


class TwoFleets:
    """The pools of the present configuration (blue), and of the new one (green). `shifted` is called when the traffic
    goes elsewhere.

    A variant whose instances can serve the new configuration too keeps its one pool, which both fleets have. It grows
    at the beginning and shrinks at the end, if the configuration says so.
    """

    def __init__(self, live: FleetEndpoint, changes: Sequence[VariantChange], shifted: Callable[[], None]) -> None:
        self.changes = changes
        self._live = live
        self._shifted = shifted
        self._shares: dict[str, float] | None = None
        for change in changes:
            if not change.fresh:
                change.begin()

    @property
    def green(self) -> dict[str, InstancePool]:
        """The pools of the new configuration, by variant name."""
        return {change.variant.name: change.pool for change in self.changes}

    @property
    def sizes(self) -> tuple[FleetSizes, ...]:
        """What the rollout has to replace, and by what."""
        blue = self._live.pools
        return tuple(
            FleetSizes(one.variant.name, blue[one.variant.name].size if one.fresh else one.before, one.after)
            for one in self.changes
        )

    def replaced_pools(self) -> list[tuple[InstancePool, InstancePool]]:
        """The blue and the green pool of each variant that has two."""
        return [(blue, green) for _, blue, green in self._replaced()]

    def tell_apart(self, config: str) -> None:
        """Have the metrics of the blue fleet name its endpoint configuration, as those of the green one do."""
        for _, blue, _ in self._replaced():
            blue.become(replace(blue.variant, deployed_by=config))

    def carry_out(self, targets: Mapping[str, FleetTarget]) -> None:
        """Want the instances of these targets, and send the traffic by them."""
        for name, blue, green in self._replaced():
            _want(green, targets[name].green)
            _want(blue, targets[name].blue)
        shares = {name: target.share.fraction for name, target in targets.items()}
        if shares != self._shares:
            self._shares = shares
            self._live.serve(dict(self._live.pools), TrafficShift(self.green, shares))
            self._shifted()

    async def brought(self, targets: Mapping[str, FleetTarget]) -> None:
        """Wait until the green fleet has the instances of these targets. Raises DeploymentFailed."""
        one_pool = [all_ready(one.pool, one.after) for one in self.changes if not one.fresh]
        green = [all_ready(green, targets[name].green) for name, _, green in self._replaced()]
        await asyncio.gather(*one_pool, *green)

    async def restored(self, targets: Mapping[str, FleetTarget]) -> None:
        """Wait until the blue fleet has the instances of these targets again. Raises DeploymentFailed."""
        await asyncio.gather(*(all_ready(blue, targets[name].blue) for name, blue, _ in self._replaced()))

    async def able_to_return(self, targets: Mapping[str, FleetTarget]) -> None:
        """Wait until the blue fleet of each variant has an instance that serves, if it is to have any. Raises
        DeploymentFailed."""
        await asyncio.gather(*(all_ready(blue, min(1, targets[name].blue)) for name, blue, _ in self._replaced()))

    async def left(self, within_s: float) -> None:
        """Wait until the instances that are no longer wanted have stopped, this long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await asyncio.gather(*(pool.until_left() for pool in self._live.every_pool))

    def fault(self, targets: Mapping[str, FleetTarget]) -> str | None:
        """Why the new fleet cannot be what the targets ask for, though it was once; None if it can."""
        for name, _, green in self._replaced():
            trouble = green.trouble
            if trouble is not None and trouble.hopeless and len(green.ready) < targets[name].green:
                return failure_reason(green.variant, trouble)
        return None

    def _replaced(self) -> list[tuple[str, InstancePool, InstancePool]]:
        """The variants that have a pool in each fleet: the blue one, and the green one."""
        return [(one.variant.name, self._live.pools[one.variant.name], one.pool) for one in self.changes if one.fresh]


def _want(pool: InstancePool, size: int) -> None:
    """A pool that its sizer scales may have more."""
    pool.at_least = size
    sized = size_range(pool.variant, pool.settings.concurrency) is not None
    if pool.size < size or (pool.size > size and not sized):
        pool.scale(size, WHY)
