"""The control's side of the routing table: makes a new version after a change, and tells routers what differs from
the version that they have.

A router that has applied a version uses no instance that is not in it, apart from requests that it reports. So the
control ends an instance only when every router has left the last version that had it (`RouterBoard`).
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping

from torpor_endpoint.core.routing.table_differences import Differences, TableSource, TableVersion
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.routing.protocol.routing_table import (
    SEPARATOR,
    EndpointRow,
    InstanceRow,
    RoutedEndpoint,
    RoutedInstance,
    RoutedName,
    RoutedVariant,
    TableRow,
)


class TablePublisher:
    """`roster` gives the fleet's roster, once there is one. `control` names this life of the control."""

    def __init__(self, roster: Callable[[], FleetRoster], control: str) -> None:
        self._roster = roster
        self._control = control
        self._source = TableSource[str, TableRow](control)
        self._stale: dict[str, None] = {}  # the endpoints that have changed, or may have
        self._closed = False
        self._change = asyncio.Event()
        self._with: dict[str, dict[str, InstanceRow]] = {}  # by endpoint: its instances in the last version
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
        endpoints do that have changed, however many others there are, and little for each instance that has not."""
        if self._stale and not self._closed:
            roster, stale, self._stale = self._roster(), self._stale, {}
            rows: dict[str, TableRow | None] = {}
            for name in stale:
                live = roster.get(name)
                rows[name] = None if live is None else EndpointRow(_endpoint(live))
                rows |= self._instances(name, live)
            self._source.update(rows)
            self._note_instances(rows)
        return self._source.version

    def since(self, version: TableVersion | None) -> Differences[str, TableRow] | None:
        """What a router lacks whose table has this version; None if that is the table of now."""
        return None if self.version == version else self._source.since(version)

    async def after(self, version: TableVersion | None, within_s: float) -> Differences[str, TableRow] | None:
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

    def _instances(self, endpoint: str, live: FleetEndpoint | None) -> dict[str, InstanceRow | None]:
        """The rows of an endpoint's instances that are other ones now; None for one that is gone."""
        known = self._with.get(endpoint, {})
        rows: dict[str, InstanceRow | None] = {}
        present: set[str] = set()
        for pool, coming in () if live is None else _pools(live):
            variant, several = pool.variant.name, len(pool.variant.containers) > 1
            place = variant, coming
            present.update([one.id for one in pool.ready])
            for one in pool.ready:  # without a call: each instance costs this, also one that has not changed
                row = known.get(one.id)
                is_same = row is not None and row.launched is one.containers[0].launched and row.place == place
                if row is None or not is_same or (several and not _others_are(row.instance, one)):
                    launches = tuple([container.launched for container in one.containers])
                    row = InstanceRow(RoutedInstance(endpoint, variant, coming, one.id, launches))
                    rows[row.instance.key] = row
        for name in known.keys() - present:
            rows[known[name].instance.key] = None
        return rows

    def _note_instances(self, rows: Mapping[str, TableRow | None]) -> None:
        """Note which instances came and left with the last version."""
        number = self._source.version.number
        for key, row in rows.items():
            endpoint, separator, one = key.partition(SEPARATOR)
            if not separator:
                continue
            if isinstance(row, InstanceRow):
                self._with.setdefault(endpoint, {})[one] = row
                self._present.add(one)
                self._last_with.pop(one, None)
            else:
                self._with[endpoint].pop(one)
                if not self._with[endpoint]:
                    del self._with[endpoint]
                self._present.discard(one)
                self._last_with[one] = number - 1
        while self._last_with and self._last_with[oldest := next(iter(self._last_with))] < number - KEPT_VERSIONS:
            del self._last_with[oldest]


BEFORE_ALL = -1
KEPT_VERSIONS = 10_000
"""An instance that left so many versions ago is forgotten. A drain takes minutes."""


def _pools(live: FleetEndpoint) -> Iterator[tuple[InstancePool, bool]]:
    """The pools whose instances take requests, and whether each is of the fleet that a rollout brings. Instances for
    inference components take none themselves: the copies on them do."""
    for pool in live.pools.values():
        if not pool.variant.for_components:
            yield pool, False
    for pool in () if live.shift is None else _brought(live):
        if not pool.variant.for_components:
            yield pool, True


def _brought(live: FleetEndpoint) -> list[InstancePool]:
    """The pools of a rollout that are not of the present fleet too."""
    present = [*live.pools.values()]
    return [pool for pool in live.every_pool if pool not in present]


def _others_are(row: RoutedInstance, one: Incarnation) -> bool:
    """Whether the containers after the first are as the row says. One that ends gets another process."""
    return all(was is now.launched for was, now in zip(row.containers, one.containers, strict=True))


def _endpoint(live: FleetEndpoint) -> RoutedEndpoint:
    variants = tuple(map(_variant, live.pools.values()))
    if live.shift is None:
        return RoutedEndpoint(live.name, live.arn, live.trouble, variants)
    coming = tuple(map(_variant, _brought(live)))
    return RoutedEndpoint(live.name, live.arn, live.trouble, variants, coming, dict(live.shift.shares))


def _variant(pool: InstancePool) -> RoutedVariant:
    """A variant without its instances."""
    if pool.variant.for_components:
        return RoutedVariant(pool.variant, pool.size, None, {})
    versions = None if pool.versions is None else tuple(RoutedName.of(*one) for one in pool.versions.names.items())
    groups = None if pool.groups is None else dict(pool.groups.names)
    return RoutedVariant(pool.variant, pool.size, pool.trouble, {}, versions, groups)
