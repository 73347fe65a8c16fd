"""A router's own page: whom it follows, what it routes to, and what the control does not have yet."""

from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from torpor_account.core.access.rates import CallRates
from torpor_endpoint.core.pages import Json
from torpor_endpoint.routing.router.followed_pool import FollowedPool
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.reports.pending_accounts import PendingAccounts


@dataclass(frozen=True)
class RouterPages:
    name: str
    control: str
    follower: TableFollower
    roster: FollowedRoster
    accounts: PendingAccounts
    rates: CallRates

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/_torpor/router", self.router)])

    async def router(self, request: Request) -> Response:
        """The router's state."""
        version = self.follower.version
        endpoints = {live.name: {name: _pool(pool) for name, pool in live.pools.items()} for live in self.roster}
        page: Json = {
            "router": self.name,
            "control": self.control,
            "away": self.follower.away,
            "table": None if version is None else list(version),
            "ports": self.rates.ports,
            "rows_waiting": len(self.accounts),
            "rows_lost": self.accounts.lost,
            "endpoints": endpoints,
        }
        return JSONResponse(page)


def _pool(pool: FollowedPool) -> Json:
    traffic = pool.traffic
    counted = {"in_flight": traffic.in_flight, "held": traffic.held, "invocations": traffic.invocations}
    return {"wanted": pool.size, "ready": len(pool.ready), **counted}
