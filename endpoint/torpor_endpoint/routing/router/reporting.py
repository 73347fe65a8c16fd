"""A router's reports to the control: its traffic, the instances that it still uses, and the rows of its accounts."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from math import inf

from torpor_account.core.access.rates import CallRates
from torpor_endpoint.core.traffic import TrafficReport
from torpor_endpoint.routing.protocol.router_report import SILENT_S, RouterReport, ShareReport, VariantKey
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.pending_accounts import PendingAccounts

PERIOD_S = 0.25
"""How soon the control hears of what has changed."""
HEARTBEAT_S = 2.0
"""How often it hears of a router where nothing changes. One that is silent for `SILENT_S` is no more."""
AWAY_PAUSE_S = 0.5

log = logging.getLogger(__name__)


class Reporting:
    """`name` is the router's; `rates` are the limits of its callers; `clock` is that of its traffic, in seconds;
    `settle` counts requests that ended lately."""

    def __init__(
        self,
        name: str,
        control: ControlClient,
        follower: TableFollower,
        roster: FollowedRoster,
        accounts: PendingAccounts,
        rates: CallRates,
        clock: Callable[[], float],
        settle: Callable[[], None],
    ) -> None:
        self._name = name
        self._control = control
        self._follower = follower
        self._roster = roster
        self._accounts = accounts
        self._rates = rates
        self._clock = clock
        self._settle = settle
        self._due = asyncio.Event()
        self._last: RouterReport | None = None
        self._last_s = -inf
        self._answered_s = clock()  # when the last report that was answered was sent

    def hurry(self) -> None:
        """Report now: the control may wait for what has changed."""
        self._due.set()

    async def run(self) -> None:
        """Report for ever, soon after each change and now and then without one."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(PERIOD_S):
                    await self._due.wait()
            self._due.clear()
            if self._is_due():
                try:
                    await self.report()
                except ControlAway as error:
                    log.debug("%s", error)  # the follower says it once
                    await asyncio.sleep(AWAY_PAUSE_S)

    async def keep_shares(self) -> None:
        """Let shares lapse whenever no answer came for SILENT_S: the control may give them to others then."""
        while True:
            left_s = self._answered_s + SILENT_S - self._clock()
            if left_s <= 0:
                for live in self._roster:
                    for pool in live.every_pool:
                        pool.lapse()
            await asyncio.sleep(left_s if left_s > 0 else PERIOD_S)

    async def report(self) -> None:
        """Report what there is. Raises ControlAway."""
        report, sent_s = self._report(), self._clock()
        refused = {pool: pool.refused for live in self._roster for pool in live.every_pool}
        batch = self._accounts.batch()
        answer = await self._control.report(report, batch)
        self._answered_s = sent_s
        self._accounts.taken(answer.taken)
        self._rates.shared_by(answer.ports)
        for live in self._roster:
            for name, pool in live.by_key.items():
                pool.shared_by(answer.routers)
                if (live.name, name) in answer.shares:
                    pool.share = answer.shares[live.name, name]
        for pool, count in refused.items():
            pool.refused -= count  # others may have been refused meanwhile
        self._last, self._last_s = report, self._clock()

    async def finish(self) -> None:
        """Report everything, and say that the router stops. Raises ControlAway."""
        await self.report()
        while len(self._accounts):
            await self.report()
        await self._control.leave(self._name)

    def _is_due(self) -> bool:
        self._settle()
        if len(self._accounts) or self._clock() - self._last_s >= HEARTBEAT_S:
            return True
        return self._last is None or _essence(self._report()) != _essence(self._last)

    def _report(self) -> RouterReport:
        self._settle()
        now_s, traffic, shares = self._clock(), dict[VariantKey, TrafficReport](), dict[VariantKey, ShareReport]()
        for live in self._roster:
            for name, pool in live.by_key.items():
                if pool.traffic.invocations or pool.refused:
                    traffic[live.name, name] = pool.traffic.report(now_s)
                if pool.variant.serverless is not None:
                    in_flight = pool.traffic.in_flight
                    shares[live.name, name] = ShareReport(max(pool.share or 0, in_flight), in_flight + pool.refused)
        version, in_use, streams = self._follower.version, self._follower.in_use(), self._follower.streams()
        return RouterReport(self._name, version, in_use, traffic, shares, self._rates.ports, streams)


def _essence(report: RouterReport) -> tuple[object, ...]:
    """A report without what changes by itself."""
    traffic = {key: one._replace(idle_s=0.0) for key, one in report.traffic.items()}
    return report.version, report.in_use, report.streams, traffic, report.shares
