"""A router's reports to the control: its traffic, the instances that it still uses, and the rows of its accounts."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from math import inf

from torpor_account.core.access.rates import CallRates
from torpor_endpoint.core.routing.table_differences import TableVersion
from torpor_endpoint.routing.protocol.router_report import SILENT_S, ReportAnswer, RouterReport
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.reports.own_traffic import OwnTraffic
from torpor_endpoint.routing.router.reports.pending_accounts import PendingAccounts

PERIOD_S = 0.25
"""How soon the control hears of what it may wait for: an instance is used no more, a request waits or was refused."""
COUNTED_S = 1.0
"""How soon it hears of requests that wait for nothing, those of a second together."""
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
        self._traffic = OwnTraffic(name, roster, follower.news)
        self._due = asyncio.Event()
        self._urgent = False  # something has changed that the control should hear of at once
        self._number = 0  # of the last report
        self._answered = 0  # of the last report whose answer has come
        self._heard: TableVersion | None = None  # the version of this router's traffic that the control has
        self._told: Held | None = None  # in the last report that was answered
        self._told_s = -inf
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
        """Report what there is. A control that lacks what a report builds on gets all. Raises ControlAway."""
        if (await self._reported()).whole:
            self._heard = None
            await self._reported()

    async def finish(self) -> None:
        """Report everything, and say that the router stops. Raises ControlAway."""
        await self.report()
        while len(self._accounts):
            await self.report()
        await self._control.leave(self._name)

    async def _reported(self) -> ReportAnswer:
        """Raises ControlAway."""
        self._settle()
        self._urgent |= self._traffic.take_up()
        held, sent_s = self._held(), self._clock()
        self._number += 1
        variants = self._traffic.since(self._heard, sent_s)
        version, in_use, streams = held
        report = RouterReport(
            self._name, self._number, self._answered, version, in_use, streams, self._rates.ports, variants
        )
        refused = {pool: pool.refused for key in variants.rows if (pool := self._traffic.pool(key)) and pool.refused}
        answer = await self._control.report(report, self._accounts.batch())
        self._answered_s = sent_s
        self._accounts.taken(answer.taken)
        self._rates.shared_by(answer.ports)
        self._follower.shared_by(answer.routers)
        self._answered = report.number
        if not answer.whole:
            self._heard = variants.version
            self._urgent = False
            for pool, count in refused.items():
                pool.refused -= count  # others may have been refused meanwhile
                pool.traffic.touch()
        for key, share in answer.shares.items():
            if (pool := self._traffic.pool(key)) is not None:
                pool.take_share(share)
        self._told, self._told_s = held, self._clock()
        return answer

    def _is_due(self) -> bool:
        """It costs as much as has changed, however many variants there are."""
        self._settle()
        self._urgent |= self._traffic.take_up()
        if self._urgent or self._accounts.urgent or self._told != self._held():
            return True
        since_s = self._clock() - self._told_s
        if len(self._accounts) or self._heard != self._traffic.version:
            return since_s >= COUNTED_S
        return since_s >= HEARTBEAT_S

    def _held(self) -> "Held":
        return self._follower.version, self._follower.in_use(), self._follower.streams()


Held = tuple[TableVersion | None, frozenset[str], frozenset[str]]
"""The version of the routing table, the instances that left it and are in use, and those of them with streams."""
