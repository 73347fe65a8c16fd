"""Shares the MaxConcurrency of serverless variants among routers and the control's own port."""

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from torpor_endpoint.core.routing.shares import ShareHolder, grant
from torpor_endpoint.core.traffic import Touched
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.routing.control.reported_traffic import KnownRouter
from torpor_endpoint.routing.protocol.router_report import RouterReport, ShareReport, VariantKey

NO_SHARE = ShareHolder()
HERE = ""
"""The name of the control's own port among the routers."""


class GrantedShares:
    """`known` has the routers by name, and `touched` the pools whose requests at the control's own port changed."""

    def __init__(self, known: Mapping[str, KnownRouter], touched: Touched) -> None:
        self._known = known
        self._touched = touched
        self._holders: WeakKeyDictionary[InstancePool, dict[str, ShareHolder]] = WeakKeyDictionary()

    def left(self, router: str) -> None:
        """The router is known no more."""
        for pool, holders in self._holders.items():
            if holders.pop(router, None) is not None:
                self._unsettle(pool)
            if not self._known:
                pool.share = None

    def may_grow(self) -> None:
        """All shares may grow from now on."""
        for pool in self._holders:
            self._unsettle(pool)

    def look_here(self) -> None:
        """Settle the shares anew where requests at the control's own port have changed."""
        for pool in self._touched:
            if isinstance(pool, InstancePool) and pool in self._holders:
                self._unsettle(pool)
        self._touched.clear()

    def of(self, report: RouterReport, known: KnownRouter, *, grows: bool) -> dict[VariantKey, int]:
        """The shares of MaxConcurrency of which the router must hear: those that may have changed, and those of answers
        that have not come. The control's own port is a router too, whose share holds at once. Unless
        they may grow, each keeps what it has or uses, or has an equal part if that is more."""
        known.told = {key: number for key, number in known.told.items() if number > report.answered}
        unsettled, known.unsettled = {**known.unsettled, **dict.fromkeys(known.told)}, {}
        shares: dict[VariantKey, int] = {}
        for key in unsettled:
            one = known.variants.get(key[0], {}).get(key[1])
            if one is None or one.pool is None or one.said.share is None or one.pool.variant.serverless is None:
                continue
            holders = self._holders.setdefault(one.pool, {})
            before = dict(holders)
            limit, said = one.pool.variant.serverless.max_concurrency, one.said.share
            shares[key] = _shared(one.pool, limit, holders, report.router, said, grows=grows)
            known.told[key] = report.number
            if holders != before:
                self._unsettle(one.pool, but=known)
        return shares

    def _unsettle(self, pool: InstancePool, but: KnownRouter | None = None) -> None:
        """The shares of all routers in a pool may have to be others, but perhaps of the one that is answered now."""
        for known in self._known.values():
            for variant, one in known.variants.get(pool.endpoint, {}).items() if known is not but else ():
                if one.pool is pool:
                    known.unsettled[pool.endpoint, variant] = None


def _shared(
    pool: InstancePool, limit: int, holders: dict[str, ShareHolder], router: str, said: ShareReport, grows: bool
) -> int:
    """Share the limit anew between the control's own port and this router. Returns the router's share. Unless shares
    may grow, each keeps what it has or uses, or has an equal part if that is more."""
    here = pool.traffic.in_flight - pool.traffic.elsewhere
    own, demand = limit if pool.share is None else pool.share, here + pool.refused
    holders[HERE] = ShareHolder(own, max(own, here), demand)
    holders[router] = ShareHolder(holders.get(router, NO_SHARE).granted, said.most, said.demand)
    part = -(-limit // len(holders))
    own = min(grant(limit, HERE, holders), limit if grows else max(here, part))
    pool.share, pool.refused = own, 0
    holders[HERE] = ShareHolder(own, max(own, here), demand)
    share = min(grant(limit, router, holders), limit if grows else max(said.most, part))
    holders[router] = holders[router]._replace(granted=share)
    return share
