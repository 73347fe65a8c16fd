"""The control's pages for routers, without a network: what each answers, and what it leaves behind."""

import asyncio
import json
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from torpor_account.core.access.rates import CallRates
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.peers.deployment_peers import DeploymentPeers
from torpor_endpoint.routing.control.account_taker import AccountTaker
from torpor_endpoint.routing.control.pages_for_routers import PagesForRouters
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.control.router_board import RouterBoard
from torpor_endpoint.routing.protocol.facts import ControlFacts
from torpor_endpoint.routing.protocol.router_report import RouterReport
from torpor_endpoint.runtime.observing.meter import Meters

NOW_S = 1_700_000_000.0


async def no_runtime(scope: Any, receive: Any, send: Any) -> None:
    """Answers nothing."""


class Control:
    """A control with a ledger and no endpoints."""

    def __init__(self, peers: DeploymentPeers | None = None) -> None:
        roster = FleetRoster()
        tables = TablePublisher(lambda: roster, "control")
        self.ledger = Ledger(SqliteFile(":memory:", LEDGER), lambda: NOW_S)
        self.board = RouterBoard(lambda: roster, tables, lambda: NOW_S, CallRates({}))
        taker = AccountTaker(self.ledger, Meters(MetricRegistry(lambda: NOW_S)))
        facts = ControlFacts("r", "1", False, False, "", "", ())
        parts = roster, tables, self.board, taker, self.ledger, no_runtime
        self.face = PagesForRouters(facts, asyncio.Event(), *parts, identities=None, role_keys=None, peers=peers)
        self.face.ready.set()

    async def report(self, accounts: object) -> dict[str, Any]:
        """The answer to a router's report with this batch. Raises HTTPException."""
        said = RouterReport(
            "r-1", 1, 0, None, frozenset(), frozenset(), 0, Differences(TableVersion("r-1", 0), None, {})
        ).json()
        body = json.dumps({**said, "accounts": accounts}).encode()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        request = Request({"type": "http", "method": "POST", "headers": []}, receive)
        answer: dict[str, Any] = json.loads(bytes((await self.face.report(request)).body))
        return answer


def test_a_router_whose_batch_cannot_be_read_is_heard_and_told_what_to_do() -> None:
    async def story() -> None:
        control = Control()
        with pytest.raises(HTTPException, match="install the same release of Torpor on control and router"):
            await control.report({"rows": []})
        assert len(control.board) == 1
        control.ledger.close()

    asyncio.run(story())


def test_a_router_hears_that_its_batch_is_taken_though_a_row_cannot_be_read() -> None:
    async def story() -> None:
        control = Control()
        answer = await control.report({"number": 4, "rows": [["invoked", 1, 2], ["dropped", "e", "v", NOW_S]]})
        assert (answer["taken"], answer["routers"]) == (4, 1)
        assert (await control.report(None))["taken"] == 4
        control.ledger.close()

    asyncio.run(story())
