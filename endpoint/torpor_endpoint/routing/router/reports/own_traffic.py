"""A router's table of its own traffic, with a row for each variant that was called: the control follows it."""

from typing import NamedTuple

from torpor_endpoint.core.routing.table_differences import Differences, TableSource, TableVersion
from torpor_endpoint.core.traffic import TrafficReport
from torpor_endpoint.routing.protocol.router_report import ReportedVariant, ShareReport, VariantKey
from torpor_endpoint.routing.router.followed_pool import FollowedPool
from torpor_endpoint.routing.router.following import FollowedRoster
from torpor_endpoint.routing.router.reports.pool_news import PoolNews


class OwnRow(NamedTuple):
    """What is reported of a variant; `last_s` is when its last request came or ended."""

    in_flight: int
    held: int
    invocations: int
    last_s: float
    share: ShareReport | None


class OwnTraffic:
    """`router` names the router's life."""

    def __init__(self, router: str, roster: FollowedRoster, news: PoolNews) -> None:
        self._roster = roster
        self._news = news
        self._source = TableSource[VariantKey, OwnRow](router)
        self._keys: dict[FollowedPool, VariantKey] = {}  # of the pools that have a row

    @property
    def version(self) -> TableVersion:
        return self._source.version

    def take_up(self) -> bool:
        """Put what has changed into the table. It costs as much as has changed. Whether the control should hear of it
        at once: a request waits, a variant was at rest or is now, or a share is other than it was."""
        rows: dict[VariantKey, OwnRow | None] = {}
        touched = [one for one in self._news.touched if isinstance(one, FollowedPool)]
        self._news.touched.clear()
        for pool in touched:
            if (before := self._keys.pop(pool, None)) is not None:
                rows[before] = None
        for pool in touched:
            row = self._row(pool)
            if row is not None:
                self._keys[pool] = pool.key
                rows[pool.key] = row
        urgent = any(_is_urgent(self._source.get(key), row) for key, row in rows.items())
        self._source.update(rows)
        return urgent

    def since(self, version: TableVersion | None, now_s: float) -> Differences[VariantKey, ReportedVariant]:
        """What the control lacks that has this version."""
        found = self._source.since(version)
        return Differences(
            found.version, found.since, {key: _reported(row, now_s) for key, row in found.rows.items()}, found.gone
        )

    def pool(self, key: VariantKey) -> FollowedPool | None:
        """The pool that has this row now."""
        endpoint, variant = key
        live = self._roster.get(endpoint)
        return None if live is None else live.by_key.get(variant)

    def _row(self, pool: FollowedPool) -> OwnRow | None:
        """None for a pool that is in service no more, and for one that has nothing to report."""
        if self.pool(pool.key) is not pool:
            return None
        traffic, share = pool.traffic, None
        if pool.variant.serverless is not None:
            share = ShareReport(max(pool.share or 0, traffic.in_flight), traffic.in_flight + pool.refused)
        if share is None and not traffic.invocations:
            return None
        return OwnRow(traffic.in_flight, traffic.held, traffic.invocations, traffic.last_s, share)


def _reported(row: OwnRow, now_s: float) -> ReportedVariant:
    idle_s = 0.0 if row.in_flight else max(0.0, now_s - row.last_s)
    return ReportedVariant(TrafficReport(row.in_flight, row.held, row.invocations, idle_s), row.share)


def _is_urgent(before: OwnRow | None, now: OwnRow | None) -> bool:
    if before is None or now is None:
        return before is not now
    rests = bool(before.in_flight) != bool(now.in_flight) or bool(before.held) != bool(now.held)
    return rests or before.share != now.share
