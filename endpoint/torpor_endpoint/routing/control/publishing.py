"""The control's side of the routing table: makes a new version after a change, and tells routers what differs from
the version that they have.

A router that has applied a version uses no instance that is not in it, apart from requests that it reports. So the
control ends an instance only when every router has left the last version that had it (`RouterBoard`).
"""

import asyncio
from collections.abc import Callable

from torpor_endpoint.core.routing.table_differences import Differences, TableSource, TableVersion
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.routing.protocol.routing_table import EndpointRow, RoutedEndpoint, RoutedName, RoutedVariant


class TablePublisher:
    """`roster` gives the fleet's roster, once there is one. `control` names this life of the control."""

    def __init__(self, roster: Callable[[], FleetRoster], control: str) -> None:
        self._roster = roster
        self._control = control
        self._source = TableSource[str, EndpointRow](control)
        self._stale: dict[str, None] = {}  # the endpoints that have changed, or may have
        self._closed = False
        self._change = asyncio.Event()
        self._with: dict[str, frozenset[str]] = {}  # by endpoint: its instances in the last version
        self._present: set[str] = set()  # all of these
        self._last_with: dict[str, int] = {}  # by instance that left: the number of the last version that has it

    def close(self) -> None:
        """The control stops: routers keep the last table, though the fleet serves no more."""
        self._closed = True
        self._change.set()

    def changed(self, endpoint: str) -> None:
        """The endpoint of this name has changed, or may have."""
        self._stale[endpoint] = None
        self._change.set()
        self._change = asyncio.Event()

    @property
    def version(self) -> TableVersion:
        """That of the table as it is now: a new one only if it differs from the last. It costs as much as the
        endpoints do that have changed, however many others there are."""
        if self._stale and not self._closed:
            roster, stale, self._stale = self._roster(), self._stale, {}
            served = {name: roster.get(name) for name in stale}
            rows = {name: None if live is None else EndpointRow(_endpoint(live)) for name, live in served.items()}
            for name in self._source.update(rows):
                self._note_instances(name, rows[name])
        return self._source.version

    def since(self, version: TableVersion | None) -> Differences[str, EndpointRow] | None:
        """What a router lacks whose table has this version; None if that is the table of now."""
        return None if self.version == version else self._source.since(version)

    async def after(self, version: TableVersion | None, within_s: float) -> Differences[str, EndpointRow] | None:
        """As `since`, once the table is another than that of this version; None if that is not so within the time."""
        try:
            async with asyncio.timeout(within_s):
                while (found := self.since(version)) is None:
                    if self._closed:
                        return None
                    await self._change.wait()
        except TimeoutError:
            return None
        return found

    def last_version_with(self, instance: str) -> TableVersion:
        """The last version that has this instance; the one before all others if no version had it."""
        now = self.version
        if instance in self._present:
            return now
        return TableVersion(self._control, self._last_with.get(instance, BEFORE_ALL))

    def _note_instances(self, endpoint: str, row: EndpointRow | None) -> None:
        """Note which instances of an endpoint came and left with the last version."""
        variants = () if row is None else (*row.endpoint.variants, *row.endpoint.coming)
        now = frozenset(one for variant in variants for one in variant.instances)
        before = self._with.pop(endpoint, frozenset())
        if now:
            self._with[endpoint] = now
        number = self._source.version.number
        for one in before - now:
            self._present.discard(one)
            self._last_with[one] = number - 1
        for one in now:
            self._present.add(one)
            self._last_with.pop(one, None)
        while self._last_with and self._last_with[oldest := next(iter(self._last_with))] < number - KEPT_VERSIONS:
            del self._last_with[oldest]


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
