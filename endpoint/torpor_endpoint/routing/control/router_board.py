"""The control's side of reports: which routers there are, what they use, and their share of each variant's traffic."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from torpor_account.core.access.rates import CallKind, CallRates
from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.routing.shares import ShareHolder, grant
from torpor_endpoint.core.routing.table_differences import TableVersion
from torpor_endpoint.core.traffic import NO_TRAFFIC, TrafficReport
from torpor_endpoint.fleet.drains import Drains
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.protocol.router_report import SILENT_S, RouterReport, ShareReport, VariantKey

LOOK_S = 2.0
NO_SHARE = ShareHolder()
HERE = ""
"""The name of the control's own port among the routers."""


@dataclass
class KnownRouter:
    """What one router reported last."""

    heard_s: float
    version: TableVersion | None = None
    in_use: frozenset[str] = frozenset()
    streams: frozenset[str] = frozenset()
    traffic: dict[VariantKey, tuple[InstancePool, TrafficReport]] = field(default_factory=dict)


class RouterBoard:
    """`clock` is that of the pools' traffic, in seconds. `rates` are those of the control's own port.
    `drains` has the pools that wait until routers let go of instances. `expecting` says
    whether an earlier life of the control had routers, which a report may show too: until each of them has reported or
    must be taken for lost, they may use any share and any instance. For the event loop's thread."""

    def __init__(
        self,
        roster: Callable[[], FleetRoster],
        publisher: TablePublisher,
        clock: Callable[[], float],
        rates: CallRates,
        expecting: bool = True,
    ) -> None:
        self._roster = roster
        self._publisher = publisher
        self._clock = clock
        self._known: dict[str, KnownRouter] = {}
        self._holders: dict[VariantKey, dict[str, ShareHolder]] = {}
        self._rates = rates
        self.drains = Drains()
        self._expecting = expecting
        self._began_s = clock()
        self._news = asyncio.Event()  # set by the next report, and when a router leaves
        self._invocations_seen = 0  # that came to the control's own port
        self._last_invocation_s = -inf  # when one more was seen

    def __len__(self) -> int:
        return len(self._known)

    def heard(self, report: RouterReport) -> dict[VariantKey, int]:
        """Take a report, in place of the router's last one. Returns the router's shares from now on."""
        now_s = self._clock()
        if report.router not in self._known and now_s - self._began_s < SILENT_S:
            self._expecting |= report.ports > 0 or any(share.most for share in report.shares.values())
        known = self._known.setdefault(report.router, KnownRouter(now_s))
        self._rates.shared_by(len(self._known) + 1)
        held = known.version, known.in_use, known.streams
        known.heard_s, known.version = now_s, report.version
        known.in_use, known.streams = report.in_use, report.streams
        before, known.traffic = known.traffic, {}
        for key, traffic in report.traffic.items():
            pool = self._pool(key)
            if pool is not None:
                was, counted = before.get(key, (pool, NO_TRAFFIC))
                pool.traffic.reported(counted if was is pool else NO_TRAFFIC, traffic, now_s)
                known.traffic[key] = (pool, traffic)
        for key, (pool, counted) in before.items():
            if key not in known.traffic or known.traffic[key][0] is not pool:
                pool.traffic.left(counted, now_s)
        if (known.version, known.in_use, known.streams) != held:
            self.drains.look_again()
        self._tell()
        return self._granted(report)

    def shares_of_calls(self) -> Json:
        """What the control and each router have of the calls to the endpoints' present pools, in flight and since each
        began."""
        pools = [pool.traffic for live in self._roster() for pool in live.every_pool]
        here = _calls([(one.in_flight - one.elsewhere, one.invocations - one.invocations_elsewhere) for one in pools])
        routers = {
            name: _calls([(report.in_flight, report.invocations) for _, report in known.traffic.values()])
            for name, known in self._known.items()
        }
        return {"control": here, "routers": routers}

    def left(self, router: str) -> None:
        """The router has stopped."""
        known = self._known.pop(router, None)
        self._rates.shared_by(len(self._known) + 1)
        for key, holders in self._holders.items():
            holders.pop(router, None)
            pool = self._pool(key)
            if pool is not None and not self._known:
                pool.share = None
        if known is not None:
            for pool, counted in known.traffic.values():
                pool.traffic.left(counted, self._clock())
            self.drains.look_again()
        self._tell()

    async def run(self, pause: Callable[[float], Awaitable[None]]) -> None:
        """Look for silent routers, for ever. Routers can report from now on."""
        self._began_s = self._clock()
        while True:
            await pause(LOOK_S)
            self.expire()

    def expire(self) -> None:
        """Forget the routers that are silent."""
        now_s = self._clock()
        if self._expecting and now_s - self._began_s > SILENT_S:
            self._expecting = False
            self.drains.look_again()
        for router in [name for name, known in self._known.items() if now_s - known.heard_s > SILENT_S]:
            self.left(router)

    def ports(self, report: RouterReport) -> int:
        """How many ports share the limits of calls, for the router of this report: those of all routers, and the
        control's own while invocations come to it.

        A control that begins does not know all its routers yet. Until it must, a router that knows more keeps to that.
        """
        now_s = self._clock()
        count = len(self._known) + self._is_invoked(now_s)
        return max(count, report.ports) if now_s - self._began_s < SILENT_S else count

    def uses(self, instance: str) -> bool:
        """Whether a router may still send requests to an instance that was withdrawn, or waits for its answers."""
        if not self._known:
            return self._expecting
        last = self._publisher.last_version_with(instance)
        return self._expecting or any(
            instance in known.in_use or _may_use(known.version, last) for known in self._known.values()
        )

    async def applied(self) -> None:
        """Wait until every router that reports has the table as it is now."""
        now = self._publisher.version
        while any(_lacks(known.version, now) for known in self._known.values()):
            await self._news.wait()

    def streams(self, instance: str) -> bool:
        """Whether a router has a stream of an instance that was withdrawn."""
        return any(instance in known.streams for known in self._known.values())

    def _is_invoked(self, now_s: float) -> bool:
        """Whether invocations have come to the control's own port lately."""
        limit = self._rates.of(CallKind.INVOCATIONS)
        if limit is not None and limit.asked != self._invocations_seen:
            self._invocations_seen, self._last_invocation_s = limit.asked, now_s
        return now_s - self._last_invocation_s <= SILENT_S

    def _granted(self, report: RouterReport) -> dict[VariantKey, int]:
        """The router's shares of MaxConcurrency. The control's own port is a router too, whose share holds at once."""
        shares: dict[VariantKey, int] = {}
        self._holders = {key: holders for key, holders in self._holders.items() if self._pool(key) is not None}
        for key, said in report.shares.items():
            pool = self._pool(key)
            if pool is not None and pool.variant.serverless is not None:
                holders = self._holders.setdefault(key, {})
                limit = pool.variant.serverless.max_concurrency
                shares[key] = _shared(pool, limit, holders, report.router, said, grows=not self._expecting)
        return shares

    def _pool(self, key: VariantKey) -> InstancePool | None:
        endpoint, variant = key
        live = self._roster().get(endpoint)
        return None if live is None else live.by_key.get(variant)

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


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


def _calls(counted: Sequence[tuple[int, int]]) -> Json:
    return {"in_flight": sum(one for one, _ in counted), "invocations": sum(one for _, one in counted)}


def _lacks(applied: TableVersion | None, now: TableVersion) -> bool:
    """Whether a router whose table has this version does not have that of now yet."""
    return applied is None or applied.life != now.life or applied.number < now.number


def _may_use(applied: TableVersion | None, last: TableVersion) -> bool:
    """Whether a router whose table has this version may send to an instance that version `last` had for the last time.

    A router that follows an earlier life of the control will apply a whole new table, and is waited for.
    """
    return applied is not None and (applied.life != last.life or applied.number <= last.number)
