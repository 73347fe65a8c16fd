"""The control's side of reports: which routers there are, what they use, and their share of each variant's traffic."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import NamedTuple

from torpor_account.core.access.rates import CallKind, CallRates
from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.core.traffic import Touched
from torpor_endpoint.fleet.drains import Drains
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.routing.control.granted_shares import GrantedShares
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.control.reported_traffic import KnownRouter, ReportedTraffic
from torpor_endpoint.routing.protocol.router_report import SILENT_S, RouterReport, VariantKey
from torpor_endpoint.routing.protocol.routing_table import TableRow, endpoint_of

LOOK_S = 2.0


class HeardReport(NamedTuple):
    """What a router must hear of its report: shares of MaxConcurrency, and whether it must report all its variants."""

    shares: dict[VariantKey, int]
    whole: bool


class RouterBoard:
    """`clock` is that of the pools' traffic, in seconds. `rates` are those of the control's own port. `drains`
    has the pools that wait until routers let go of instances, and `touched` those whose requests at the control's own
    port have changed. `expecting` says whether an earlier life of the control had routers, which a report may show too:
    until each of them has reported or must be taken for lost, they may use any share and any instance. For the event
    loop's thread."""

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
        self._rates = rates
        self.drains = Drains()
        self.touched: Touched | None = Touched()
        self._traffic = ReportedTraffic(roster)
        self._shares = GrantedShares(self._known, self.touched)
        self._followed: TableVersion | None = None  # up to which version of the fleet's table
        self._expecting = expecting
        self._began_s = clock()
        self._news = asyncio.Event()  # set by the next report, and when a router leaves
        self._invocations_seen = 0  # that came to the control's own port
        self._last_invocation_s = -inf  # when one more was seen

    def __len__(self) -> int:
        return len(self._known)

    def heard(self, report: RouterReport) -> HeardReport:
        """Take a report. It costs as much as has changed, at the router and in the fleet, however many variants there
        are."""
        now_s = self._clock()
        known = self._known.get(report.router)
        if known is None:
            known = self._met(report, now_s)
        elif report.number <= known.number:  # it was on its way for longer than a later one
            return HeardReport({}, whole=False)
        held = known.table, known.in_use, known.streams
        known.heard_s, known.number = now_s, report.number
        known.table, known.in_use, known.streams = report.table, report.in_use, report.streams
        self._follow_fleet(now_s)
        whole = self._traffic.take(report, known, now_s)
        if (known.table, known.in_use, known.streams) != held:
            self.drains.look_again()
        self._tell()
        return HeardReport({} if whole else self._shares.of(report, known, grows=not self._expecting), whole)

    def shares_of_calls(self) -> Json:
        """What the control and each router have of the calls to the endpoints' present pools, in flight and since each
        began."""
        pools = [pool.traffic for live in self._roster() for pool in live.every_pool]
        here = _calls([(one.in_flight - one.elsewhere, one.invocations - one.invocations_elsewhere) for one in pools])
        routers = {
            name: _calls([one.said.traffic[::2] for variants in known.variants.values() for one in variants.values()])
            for name, known in self._known.items()
        }
        return {"control": here, "routers": routers}

    def left(self, router: str) -> None:
        """The router has stopped."""
        known = self._known.pop(router, None)
        self._rates.shared_by(len(self._known) + 1)
        self._shares.left(router)
        if known is not None:
            self._traffic.forget(known, self._clock())
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
        self._follow_fleet(now_s)
        if self._expecting and now_s - self._began_s > SILENT_S:
            self._expecting = False
            self._shares.may_grow()
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
            instance in known.in_use or _may_use(known.table, last) for known in self._known.values()
        )

    async def applied(self) -> None:
        """Wait until every router that reports has the table as it is now."""
        now = self._publisher.version
        while any(_lacks(known.table, now) for known in self._known.values()):
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

    def _met(self, report: RouterReport, now_s: float) -> KnownRouter:
        """A router that was not known reports."""
        if now_s - self._began_s < SILENT_S:
            had_share = any(row.share is not None and row.share.most for row in report.variants.rows.values())
            self._expecting |= report.ports > 0 or had_share
        known = self._known[report.router] = KnownRouter(now_s)
        self._rates.shared_by(len(self._known) + 1)
        return known

    def _follow_fleet(self, now_s: float) -> None:
        """Take up what has changed in the fleet, and at the control's own port."""
        if self._known:
            told, self._followed = self._publisher.since(self._followed), self._publisher.version
            for known in self._known.values():
                for endpoint in _changed(told, known):
                    self._traffic.follow(known, endpoint, now_s)
        self._shares.look_here()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _changed(told: Differences[str, TableRow] | None, known: KnownRouter) -> tuple[str, ...]:
    """The endpoints that have changed, or may have, of those that a router has reported of."""
    if told is None:
        return ()
    if told.since is None:
        return tuple(known.variants)
    return tuple(dict.fromkeys([endpoint_of(key) for key in (*told.rows, *told.gone)]))


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
