"""What a router reports of its traffic."""

import asyncio

from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.access.rates import CallRates
from torpor_endpoint.core.records import Container, Serverless, Variant
from torpor_endpoint.router.control_client import ControlClient
from torpor_endpoint.router.followed_pool import FollowedPool
from torpor_endpoint.router.following import FollowedRoster, TableFollower
from torpor_endpoint.router.reporting import Reporting
from torpor_endpoint.routers.accounts import AccountBatch, PendingAccounts
from torpor_endpoint.routers.report import ReportAnswer, RouterReport
from torpor_endpoint.routers.table import RoutedEndpoint, RoutedVariant, RoutingTable, TableVersion

SERVERLESS = Variant("v", "m", (Container("torpor"),), serverless=Serverless(1024, 20))
TABLE = RoutingTable(
    TableVersion("control", 1), (RoutedEndpoint("shop", "arn", None, (RoutedVariant(SERVERLESS, 0, None, ()),)),)
)


class Control(ControlClient):
    """Takes each report slowly: the router refuses so many requests meanwhile."""

    def __init__(self, roster: FollowedRoster) -> None:
        super().__init__("http://nowhere")
        self.refused_meanwhile = 0
        self.demands: list[int] = []
        self._roster = roster

    async def report(self, report: RouterReport, batch: AccountBatch | None) -> ReportAnswer:
        self.demands += [share.demand for share in report.shares.values()]
        pool_in(self._roster).refused += self.refused_meanwhile
        return ReportAnswer(0, 1, 1, {})


def pool_in(roster: FollowedRoster) -> FollowedPool:
    live = roster.get("shop")
    assert live is not None
    return live.pools["v"]


def test_each_refused_request_is_demand_in_one_report_also_if_it_came_during_one() -> None:
    async def story() -> None:
        roster, clock = FollowedRoster(), asyncio.get_running_loop().time
        control = Control(roster)
        follower = TableFollower(control, roster)
        follower.apply(TABLE)
        reporting = Reporting(
            "r-1", control, follower, roster, PendingAccounts(), CallRates({}), clock, settle=lambda: None
        )
        pool_in(roster).refused = 3
        for control.refused_meanwhile in (2, 0, 0):
            await reporting.report()
        assert control.demands == [3, 2, 0]
        follower.close()

    run(story())
