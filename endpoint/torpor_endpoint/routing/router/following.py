"""Follows the control's routing table: a router's roster is always that of the last table that came."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from torpor_account.log_lines import about
from torpor_container.settings import BadSetting
from torpor_endpoint.clocks.repeating import finished
from torpor_endpoint.core.routing.table_differences import TableVersion, Uptake, uptake
from torpor_endpoint.in_service.served_endpoints import LiveEndpoint, Roster, TrafficShift, same_machine
from torpor_endpoint.routing.protocol.routing_table import RoutedEndpoint, RoutedVariant, RoutingTable
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.followed_pool import FollowedPool
from torpor_endpoint.routing.router.known_rows import KnownRows
from torpor_endpoint.routing.router.reports.pool_news import PoolNews

WAIT_S = 1.5
"""How long the control may have nothing new to say. It is shorter than the time that a stopping control gives to
requests in flight, so that a router delays no stop."""
SAID_AFTER = 4
"""A control that restarts is away for a moment: the log has it after so many tries."""
PAUSES_S = (0.1, 0.25, 0.5, 1.0)
"""After the first failed try to reach a control that is away, after the second, and so on."""

TABLE_COMES_S = 0.05
"""How long the table takes that follows a wake. A variant that is still at zero then is woken again."""

log = logging.getLogger(__name__)

FollowedRoster = Roster[FollowedPool]
FollowedEndpoint = LiveEndpoint[FollowedPool]


class TableFollower:
    """`applied` is called after each new table."""

    def __init__(
        self,
        control: ControlClient,
        roster: FollowedRoster,
        applied: Callable[[], None] = lambda: None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.version: TableVersion | None = None
        self._lacks = False  # what came last builds on something that this router does not have
        self._rows = KnownRows()
        self.away: str | None = None  # why the control could not be followed just now
        self._control = control
        self._roster = roster
        self._applied = applied
        self._pause = pause
        self.news = PoolNews()
        self._routers = 1
        self._wakes: set[asyncio.Task[None]] = set()

    @property
    def asked(self) -> TableVersion | None:
        """The version that the control is asked to build on; None: the whole table is wanted."""
        return None if self._lacks else self.version

    async def run(self) -> None:
        """Follow for ever. While the control is away, the last table holds."""
        tries = 0
        while True:
            try:
                table = await self._control.table(self.asked, WAIT_S)
            except ControlAway as error:
                self.away = str(error)
                tries += 1
                if tries == SAID_AFTER:
                    log.warning("%s; going on with the last table", error)
                await self._pause(pause_s(tries))
                continue
            if tries >= SAID_AFTER:
                log.warning("the control at %s answers again", self._control.url)
            self.away, tries = None, 0
            if table is not None:
                self.apply(table)

    def apply(self, table: RoutingTable) -> None:
        """Serve by this table from now on. One that changes what this router does not have is dropped: the next
        question gets the whole."""
        taken = uptake(self.version, table.version, table.since)
        if taken is Uptake.NOTHING:
            return
        self._lacks = taken is Uptake.GAP
        if self._lacks:
            return
        gone, changed = self._rows.take(table, taken is Uptake.WHOLE)
        for name in gone:
            self._stop(name)
        for endpoint in changed:
            self._serve(endpoint)
        self.version = table.version
        self._applied()

    def in_use(self) -> frozenset[str]:
        """The instances that left the table and have requests of this router."""
        return frozenset().union(*(pool.in_use for pool in self.news.parting))

    def streams(self) -> frozenset[str]:
        """Those of them that have streams of this router."""
        return frozenset().union(*(pool.streams for pool in self.news.parting))

    def shared_by(self, routers: int) -> None:
        """So many routers follow the control."""
        if routers != self._routers:
            self._routers = routers
            for live in self._roster:
                for pool in live.every_pool:
                    pool.shared_by(routers)

    def close(self) -> None:
        """Take no more requests. Those that are held or still come are told to try again."""
        for live in self._roster:
            self._close(live.every_pool)
        for wake in self._wakes:
            wake.cancel()

    def _stop(self, name: str) -> None:
        live = self._roster.get(name)
        if live is not None:
            self._roster.stop(name)
            self._close(live.every_pool)

    def _serve(self, endpoint: RoutedEndpoint) -> None:
        live = self._roster.get(endpoint.name)
        if live is None or live.arn != endpoint.arn:
            live = FollowedEndpoint(endpoint.name, endpoint.arn)
        before = live.every_pool
        pools = self._pools_for(endpoint.name, endpoint.variants, before)
        shift = None
        if endpoint.shares is not None:
            brought = {**pools, **self._pools_for(endpoint.name, endpoint.coming, before)}
            shift = TrafficShift({name: brought[name] for name in endpoint.shares if name in brought}, endpoint.shares)
        live.trouble = endpoint.trouble
        live.serve(pools, shift)
        if self._roster.get(endpoint.name) is not live:
            self._roster.serve(live)
        for key, pool in live.by_key.items():
            pool.place(key)
        self._close([pool for pool in before if pool not in live.every_pool])

    def _pools_for(
        self, endpoint: str, variants: Iterable[RoutedVariant], before: Iterable[FollowedPool]
    ) -> dict[str, FollowedPool]:
        found = {routed.variant.name: self._pool_for(endpoint, routed, before) for routed in variants}
        return {name: pool for name, pool in found.items() if pool is not None}

    def _pool_for(self, endpoint: str, routed: RoutedVariant, before: Iterable[FollowedPool]) -> FollowedPool | None:
        """The pool that follows the same instances already, whichever fleet it was of; or a new one."""
        named = [pool for pool in before if pool.variant.name == routed.variant.name]
        present = next((pool for pool in named if same_machine(pool.variant, routed.variant)), None)
        if present is not None:
            present.apply(routed)
            return present
        try:
            pool = FollowedPool(endpoint, routed, self._want, self.news)
        except BadSetting as error:  # the control refuses such a variant: it is of another release
            log.error("variant %s cannot be routed to: %s", routed.variant.name, error, extra=about(endpoint=endpoint))
            return None
        pool.shared_by(self._routers)
        pool.traffic.touch()  # the share of a serverless variant is reported from its beginning
        return pool

    def _close(self, pools: Iterable[FollowedPool]) -> None:
        for pool in pools:
            pool.close()

    def _want(self, pool: FollowedPool) -> None:
        name = f"wake {pool.endpoint}/{pool.variant.name}"
        task = asyncio.create_task(finished(name, partial(self._woken, pool), self._pause))
        self._wakes.add(task)
        task.add_done_callback(self._wakes.discard)

    async def _woken(self, pool: FollowedPool) -> None:
        """Ask until the control has heard, or nobody waits any more."""
        tries = 0
        while pool.traffic.held and not pool.closed:
            try:
                await self._control.wake(pool.endpoint, pool.variant.name)
                await self._pause(TABLE_COMES_S)
                break
            except ControlAway:
                tries += 1
                await self._pause(pause_s(tries))
        pool.answered()


def pause_s(tries: int) -> float:
    """How long to wait after so many failed tries to reach the control."""
    return PAUSES_S[min(tries, len(PAUSES_S)) - 1]
