"""What the control spends on its routers, by the size of the fleet: a wake, and a second of routed requests; and what
grows with instances and models (`instance_curves`).

Both sides run in this process, without a network between them: the control's pages for routers are called as its server
calls them. So the figures lack what the server itself takes for a call of a router, about a tenth of a millisecond.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from starlette.requests import Request

from benchmarks.live import Serve
from benchmarks.measure import Figures
from benchmarks.sections import instance_curves
from benchmarks.sizes import Sizes
from torpor_account.core.access.rates import CallRates
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.ledger_records import WarmRequests
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.host import Launched, LaunchSpec, Slot
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.routing.control.account_taker import AccountTaker
from torpor_endpoint.routing.control.pages_for_routers import PagesForRouters
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.control.router_board import RouterBoard
from torpor_endpoint.routing.protocol.account_rows import AccountBatch
from torpor_endpoint.routing.protocol.facts import ControlFacts
from torpor_endpoint.routing.protocol.router_report import ReportAnswer, RouterReport
from torpor_endpoint.routing.protocol.routing_table import RoutingTable
from torpor_endpoint.routing.router.control_client import ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.reports.pending_accounts import LedgerRows, MeterRows, PendingAccounts
from torpor_endpoint.routing.router.reports.reporting import Reporting
from torpor_endpoint.runtime.observing.meter import AlikeRequests, Meters

NOW_S = 1_700_000_000.0
SLEEPY = Variant("v", "m", (Container("torpor", "s3://b/p/", multi_model=True),), instances_min=0)
TOGETHER = 32
"""So many ended requests are counted together by a busy router."""
MICROSECONDS, MILLISECONDS = 1e6, 1e3


class NoHost:
    """Starts nothing: an instance that is launched never comes."""

    async def launch(self, spec: LaunchSpec) -> Launched:
        return await asyncio.Future[Launched]()

    async def terminate(self, slot: Slot, grace_s: float) -> None: ...

    def list(self) -> tuple[Launched, ...]:
        return ()


class Fleet:
    """A control with so many endpoints that sleep, with a ledger on the disk, and routers."""

    def __init__(self, ledger: Path, endpoints: int, routers: int = 1) -> None:
        self.now_s = 0.0
        self.tables = TablePublisher(lambda: self.roster, "control")
        self.roster = FleetRoster(self.tables.changed)
        self.board = RouterBoard(lambda: self.roster, self.tables, lambda: self.now_s, CallRates({}), expecting=False)
        host: Any = NoHost()
        factory = InstanceFactory(
            host, lambda variant, slot: LaunchSpec(slot), lambda: NOW_S, changed=self.tables.changed, others=self.board
        )
        self.pools = [InstancePool(f"endpoint-{at:05}", SLEEPY, factory, SlotNumbers()) for at in range(endpoints)]
        for pool in self.pools:
            self.roster.serve(FleetEndpoint(pool.endpoint, f"arn:aws:sagemaker:::{pool.endpoint}", {"v": pool}))
        self.ledger = Ledger(SqliteFile(ledger, LEDGER), lambda: NOW_S)
        taker = AccountTaker(self.ledger, Meters(MetricRegistry(lambda: NOW_S)))
        facts = ControlFacts("r", "1", False, False, "", "", ())
        parts = self.roster, self.tables, self.board, taker, self.ledger, _no_runtime
        self.pages = PagesForRouters(facts, asyncio.Event(), *parts, identities=None, role_keys=None)
        self.pages.ready.set()
        self.routers = [RouterHere(self, at) for at in range(routers)]
        self.router = self.routers[0]

    async def close(self) -> None:
        for one in self.routers:
            one.follower.close()
        await asyncio.gather(*(pool.close("the measurement ends") for pool in self.pools))
        self.ledger.close()


class RouterHere(ControlClient):
    """A router in this process. `control_s` has the processor time of the control's answers."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        super().__init__("http://nowhere")
        self.control_s = 0.0
        self.told_bytes = 0
        self._pages = fleet.pages
        self.roster, self.accounts = FollowedRoster(), PendingAccounts()
        self.follower = TableFollower(self, self.roster)
        clock: Callable[[], float] = lambda: fleet.now_s  # noqa: E731 - both sides have one
        self.reporting = Reporting(
            f"r-{number}", self, self.follower, self.roster, self.accounts, CallRates({}), clock, lambda: None
        )

    async def follow(self) -> None:
        version = self.follower.version
        asked = {"after": None if version is None else list(version), "within_s": 0.0}
        said = await self._asked(self._pages.table, asked)
        if said["table"] is not None:
            self.follower.apply(RoutingTable.read(said["table"]))

    async def report(self, report: RouterReport, batch: AccountBatch | None) -> ReportAnswer:
        accounts = None if batch is None else batch.json()
        return ReportAnswer.read(await self._asked(self._pages.report, {**report.json(), "accounts": accounts}))

    async def _asked(self, page: Callable[[Request], Any], asked: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps(asked).encode()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        began_s = process_time()
        answer = await page(Request({"type": "http", "method": "POST", "headers": []}, receive))
        self.control_s += process_time() - began_s
        self.told_bytes += len(answer.body)
        said: dict[str, Any] = json.loads(answer.body)
        return said


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    return [
        *(asyncio.run(_wakes(folder, endpoints, 1, sizes.wakes)) for endpoints in sizes.fleets),
        *(asyncio.run(_wakes(folder, sizes.fleets[-1], routers, sizes.wakes)) for routers in sizes.routers),
        *(
            asyncio.run(_routed(folder, called, a_second))
            for called in sizes.called
            for a_second in sizes.routed_a_second
        ),
        *(
            asyncio.run(_routed(folder, sizes.called[-1], sizes.routed_a_second[-1], together))
            for together in sizes.alike
        ),
        *instance_curves.rows(sizes),
    ]


async def _wakes(folder: Path, endpoints: int, routers: int, wakes: int) -> Figures:
    """One wake after another: the control's change and its answers to all routers, and one router's part."""
    fleet = Fleet(folder / f"wakes-{endpoints}-{routers}.sqlite", endpoints, routers)
    for one in fleet.routers:
        await one.follow()
    control, whole, told = [], [], 0
    for at in range(min(wakes, endpoints)):
        for one in fleet.routers:
            one.control_s, one.told_bytes = 0.0, 0
        began_s = process_time()
        fleet.pools[at].wake()
        woken_s = process_time() - began_s
        for one in fleet.routers:
            await one.follow()
        control.append(woken_s + sum(one.control_s for one in fleet.routers))
        whole.append(process_time() - began_s)
        told = sum(one.told_bytes for one in fleet.routers)
    await fleet.close()
    return {
        "curve": "a wake",
        "endpoints": endpoints,
        "routers": routers,
        "control_ms": median(control) * MILLISECONDS,
        "router_ms": (median(whole) - median(control)) / routers * MILLISECONDS,
        "told_bytes": told,
    }


async def _routed(folder: Path, called: int, a_second: int, alike: int | None = None) -> Figures:
    """Seconds of one router's warm requests, spread evenly over these endpoints, with ten models in each; with `alike`,
    so many requests of a second for each model."""
    fleet = Fleet(folder / f"routed-{called}-{a_second}-{alike}.sqlite", called)
    router, seconds = fleet.router, 5
    await router.follow()
    await router.reporting.report()
    ledger, meters = LedgerRows(router.accounts), MeterRows(router.accounts)
    control, of_router, told, together = [], [], 0, alike or TOGETHER
    for second in range(seconds):
        began_s = process_time()
        for group in range(a_second // together):
            model = group // called % (10 if alike is None else a_second)
            _served(router, ledger, meters, f"endpoint-{group % called:05}", f"{model}.tar", second, together)
        router.control_s, router.told_bytes = 0.0, 0
        fleet.now_s += 1.0
        await router.reporting.report()
        control.append(router.control_s)
        of_router.append(process_time() - began_s - router.control_s)
        told = router.told_bytes
    await fleet.close()
    requests = a_second // together * together
    models = {} if alike is None else {"models": a_second // alike}
    return {
        "curve": f"a routed request, {a_second} a second",
        "endpoints": called,
        **models,
        "control_us_a_request": median(control) / requests * MICROSECONDS,
        "router_us_a_request": median(of_router) / requests * MICROSECONDS,
        "told_bytes": told,
    }


def _served(
    router: RouterHere, ledger: LedgerRows, meters: MeterRows, endpoint: str, model: str, second: int, requests: int
) -> None:
    """The router has served a group of requests that are alike."""
    live = router.roster.get(endpoint)
    assert live is not None
    traffic = live.pools["v"].traffic
    for _ in range(requests):
        traffic.came(float(second))
        traffic.went(float(second))
    times = [0.004 + 0.0003 * (at * 7 % TOGETHER) for at in range(requests)]
    at_s = NOW_S + second
    warm = WarmRequests(
        at_s,
        endpoint,
        "v",
        model,
        "i-1",
        times,
        times,
        100 * requests,
        20 * requests,
        (at_s, at_s),
        seconds=1 << second,
    )
    ledger.warmed(warm)
    meters.add(endpoint, "v", AlikeRequests(2, 200, True, times, times), NOW_S)


async def _no_runtime(scope: Any, receive: Any, send: Any) -> None: ...
