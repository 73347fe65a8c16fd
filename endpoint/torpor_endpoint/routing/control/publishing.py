"""The control's side of the routing table: makes a new version after a change, and wakes those that wait for it.

A router that has applied a version uses no instance that is not in it, apart from requests that it reports. So the
control ends an instance only when every router has left the last version that had it (`RouterBoard`).
"""

import asyncio
from collections.abc import Callable

from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.routing.protocol.routing_table import (
    RoutedEndpoint,
    RoutedName,
    RoutedVariant,
    RoutingTable,
    TableVersion,
)


class TablePublisher:
    """`roster` gives the fleet's roster, once there is one. `control` names this life of the control."""

    def __init__(self, roster: Callable[[], FleetRoster], control: str) -> None:
        self._roster = roster
        self._control = control
        self._table = RoutingTable(TableVersion(control, 0), ())
        self._stale = True
        self._closed = False
        self._change = asyncio.Event()
        self._last_with: dict[str, int] = {}  # by instance: the number of the last version that has it

    def close(self) -> None:
        """The control stops: routers keep the last table, though the fleet serves no more."""
        self._closed = True
        self._change.set()

    def changed(self) -> None:
        """The fleet has changed, or may have."""
        self._stale = True
        self._change.set()
        self._change = asyncio.Event()

    def table(self) -> RoutingTable:
        """The table as it is now. Its version is a new one only if it differs from the last."""
        if self._stale and not self._closed:
            self._stale = False
            endpoints = tuple(map(_endpoint, self._roster()))
            if endpoints != self._table.endpoints:
                self._publish(endpoints)
        return self._table

    async def after(self, version: TableVersion | None, within_s: float) -> RoutingTable | None:
        """The table, once its version is not this one; None if that is not so within the time."""
        try:
            async with asyncio.timeout(within_s):
                while self.table().version == version:
                    if self._closed:
                        return None
                    await self._change.wait()
        except TimeoutError:
            return None
        return self._table

    def last_version_with(self, instance: str) -> TableVersion:
        """The last version that has this instance; the one before all others if no version had it."""
        self.table()
        return TableVersion(self._control, self._last_with.get(instance, BEFORE_ALL))

    def _publish(self, endpoints: tuple[RoutedEndpoint, ...]) -> None:
        number = self._table.version.number + 1
        self._table = RoutingTable(TableVersion(self._control, number), endpoints)
        variants = [variant for live in endpoints for variant in (*live.variants, *live.coming)]
        present = [one for variant in variants for one in variant.instances]
        before = {name: last for name, last in self._last_with.items() if last >= number - KEPT_VERSIONS}
        self._last_with = {**before, **dict.fromkeys(present, number)}


BEFORE_ALL = -1
KEPT_VERSIONS = 10_000
"""An instance that left so many versions ago is forgotten. A drain takes minutes."""


def _endpoint(live: FleetEndpoint) -> RoutedEndpoint:
    variants = tuple(map(_variant, live.pools.values()))
    if live.shift is None:
        return RoutedEndpoint(live.name, live.arn, live.trouble, variants)
    coming = tuple(_variant(pool) for pool in live.every_pool if pool not in live.pools.values())
    return RoutedEndpoint(live.name, live.arn, live.trouble, variants, coming, dict(live.shift.shares))


def _variant(pool: InstancePool) -> RoutedVariant:
    """Instances for inference components take no requests themselves: the copies on them do."""
    if pool.variant.for_components:
        return RoutedVariant(pool.variant, pool.size, None, {})
    ready = sorted(pool.ready, key=lambda one: one.slot)
    instances = {one.id: tuple(container.launched for container in one.containers) for one in ready}
    versions = None if pool.versions is None else tuple(RoutedName.of(*one) for one in pool.versions.names.items())
    groups = None if pool.groups is None else dict(pool.groups.names)
    return RoutedVariant(pool.variant, pool.size, pool.trouble, instances, versions, groups)
