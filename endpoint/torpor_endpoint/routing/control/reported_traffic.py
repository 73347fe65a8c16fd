"""Counts what routers report of their requests in the pools of the fleet."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from torpor_endpoint.core.routing.table_differences import TableVersion, Uptake, uptake
from torpor_endpoint.core.traffic import NO_TRAFFIC
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.routing.protocol.router_report import ReportedVariant, RouterReport, VariantKey


@dataclass
class KnownRouter:
    """What one router reported last: `variants` has its requests by endpoint, and then by the variant's key there."""

    heard_s: float
    number: int = 0  # of its last report
    table: TableVersion | None = None
    in_use: frozenset[str] = frozenset()
    streams: frozenset[str] = frozenset()
    reported: TableVersion | None = None  # up to which version of its own traffic
    variants: dict[str, dict[str, "KnownVariant"]] = field(default_factory=dict)
    unsettled: dict[VariantKey, None] = field(default_factory=dict)  # its share may have to be another
    told: dict[VariantKey, int] = field(default_factory=dict)  # the answer that has a share of which it has not heard

    @property
    def keys(self) -> list[VariantKey]:
        return [(endpoint, key) for endpoint, variants in self.variants.items() for key in variants]


class KnownVariant(NamedTuple):
    """A router's requests of a variant, and the pool in which they are counted; None: the control has none of it."""

    pool: InstancePool | None
    said: ReportedVariant


class ReportedTraffic:
    """`roster` gives the fleet's roster, once there is one. Times are in seconds of the pools' clock."""

    def __init__(self, roster: Callable[[], FleetRoster]) -> None:
        self._roster = roster

    def take(self, report: RouterReport, known: KnownRouter, now_s: float) -> bool:
        """Count what has changed. Whether the router must report all its variants instead.
        It costs as much as has changed."""
        version, since, rows, gone = report.variants
        taken = uptake(known.reported, version, since)
        if taken is Uptake.GAP:
            return True
        if taken is not Uptake.NOTHING:
            known.reported = version
            for key in gone if taken is Uptake.CHANGES else [key for key in known.keys if key not in rows]:
                self._uncount(known, key, now_s)
            for key, row in rows.items():
                self._count(known, key, row, now_s)
        return False

    def forget(self, known: KnownRouter, now_s: float) -> None:
        """The router has stopped."""
        for key in known.keys:
            self._uncount(known, key, now_s)

    def follow(self, known: KnownRouter, endpoint: str, now_s: float) -> None:
        """The endpoint has changed: what was said of its variants counts in the pools that they have now."""
        for variant, one in list(known.variants.get(endpoint, {}).items()):
            pool = self._pool((endpoint, variant))
            if pool is not one.pool:
                self._move(known, (endpoint, variant), pool, now_s)

    def _count(self, known: KnownRouter, key: VariantKey, said: ReportedVariant, now_s: float) -> None:
        """Count what a router says now of a variant, in place of what it said before."""
        endpoint, variant = key
        variants, pool = known.variants.setdefault(endpoint, {}), self._pool(key)
        before = variants.get(variant)
        if before is not None and before.pool is not pool and before.pool is not None:
            before.pool.traffic.left(before.said.traffic, now_s)
        if pool is not None:
            counted = before.said.traffic if before is not None and before.pool is pool else NO_TRAFFIC
            pool.traffic.reported(counted, said.traffic, now_s)
        variants[variant] = KnownVariant(pool, said)
        if said.share is not None:
            known.unsettled[key] = None

    def _uncount(self, known: KnownRouter, key: VariantKey, now_s: float) -> None:
        """The router has nothing to say of a variant any more."""
        endpoint, variant = key
        variants = known.variants.get(endpoint, {})
        before = variants.pop(variant, None)
        if not variants:
            known.variants.pop(endpoint, None)
        if before is not None and before.pool is not None:
            before.pool.traffic.left(before.said.traffic, now_s)
        known.unsettled.pop(key, None)
        known.told.pop(key, None)

    def _move(self, known: KnownRouter, key: VariantKey, pool: InstancePool | None, now_s: float) -> None:
        """The variant has another pool: no request is counted there once more."""
        endpoint, variant = key
        before = known.variants[endpoint][variant]
        if before.pool is not None:
            before.pool.traffic.left(before.said.traffic, now_s)
        if pool is not None:
            seen = NO_TRAFFIC._replace(invocations=before.said.traffic.invocations)
            pool.traffic.reported(seen, before.said.traffic, now_s)
        known.variants[endpoint][variant] = before._replace(pool=pool)
        if before.said.share is not None:
            known.unsettled[key] = None

    def _pool(self, key: VariantKey) -> InstancePool | None:
        endpoint, variant = key
        live = self._roster().get(endpoint)
        return None if live is None else live.by_key.get(variant)
