"""A router's reports, to a control that answers as the test says."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_account.core.access.rates import CallRates
from torpor_endpoint.core.resource_records import Container, Serverless, Variant
from torpor_endpoint.core.routing.table_differences import TableVersion
from torpor_endpoint.routing.protocol.account_rows import AccountBatch
from torpor_endpoint.routing.protocol.router_report import SILENT_S, ReportAnswer, RouterReport
from torpor_endpoint.routing.protocol.routing_table import RoutedEndpoint, RoutedVariant, RoutingTable
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.reports.pending_accounts import PendingAccounts
from torpor_endpoint.routing.router.reports.reporting import Reporting

SERVERLESS = Variant("v", "m", (Container("torpor"),), serverless=Serverless(1024, 20))
KEY = ("shop", "v")


class Control(ControlClient):
    """It answers with this share, unless it is away. There are `routers` of them.

    `meanwhile` is what happens while a report is on its way.
    """

    def __init__(self, share: int, routers: int) -> None:
        super().__init__("http://nowhere")
        self.away = False
        self.share, self.routers = share, routers
        self.demands: list[int] = []
        self.meanwhile: Callable[[], None] = lambda: None

    async def report(self, report: RouterReport, batch: AccountBatch | None) -> ReportAnswer:
        if self.away:
            raise ControlAway("it is away")
        self.demands += [row.share.demand for row in report.variants.rows.values() if row.share is not None]
        self.meanwhile()
        return ReportAnswer(0, self.routers, self.routers, {KEY: self.share})


class Router:
    """A router with one serverless variant, at the time of the event loop."""

    def __init__(self, control: Control, variant: Variant = SERVERLESS) -> None:
        roster = FollowedRoster()
        follower, accounts, clock = TableFollower(control, roster), PendingAccounts(), asyncio.get_running_loop().time
        shop = RoutedEndpoint("shop", "arn", None, (RoutedVariant(variant, 0, None, {}),))
        follower.apply(RoutingTable(TableVersion("control", 1), (shop,)))
        live = roster.get("shop")
        assert live is not None
        self.pool = live.pools["v"]
        self.reporting = Reporting("r", control, follower, roster, accounts, CallRates({}), clock, lambda: None)


@asynccontextmanager
async def reporting(control: Control, variant: Variant = SERVERLESS) -> AsyncIterator[Router]:
    router = Router(control, variant)
    tasks = [asyncio.create_task(one()) for one in (router.reporting.run, router.reporting.keep_shares)]
    await asyncio.sleep(1.0)
    yield router
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    control.close()


@pytest.mark.parametrize(
    ("limit", "share", "routers", "left"), [(20, 15, 1, 10), (20, 15, 3, 5), (20, 4, 3, 4), (2, 2, 5, 1), (20, 0, 1, 0)]
)
def test_a_share_lapses_to_an_equal_part_when_no_answer_comes(limit: int, share: int, routers: int, left: int) -> None:
    async def story() -> None:
        control = Control(share, routers)
        async with reporting(control, replace(SERVERLESS, serverless=Serverless(1024, limit))) as router:
            await asyncio.sleep(3 * SILENT_S)
            assert router.pool.share == share
            control.away = True
            await asyncio.sleep(SILENT_S / 2)
            assert router.pool.share == share
            await asyncio.sleep(SILENT_S)
            assert router.pool.share == left
            control.away = False
            await asyncio.sleep(5.0)
            assert router.pool.share == share

    run(story())


def test_each_refused_request_is_demand_in_one_report_also_if_it_came_during_one() -> None:
    async def story() -> None:
        control = Control(20, 1)
        router = Router(control)

        def refused(count: int) -> None:
            for _ in range(count):
                router.pool.refuse()

        refused(3)
        for count in (2, 0, 0):
            control.meanwhile = partial(refused, count)
            await router.reporting.report()
        assert control.demands == [3, 2, 0]
        control.close()

    run(story())
