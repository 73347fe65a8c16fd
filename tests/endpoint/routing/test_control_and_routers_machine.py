"""A control and its routers as a state machine: tables, reports, shares, drains, losses and restarts, in virtual time.

Two endpoints: one on instances, which come and go, and a serverless one, whose MaxConcurrency the routers share. A
third one is created and deleted.
Messages are the ones of the wire, and may be lost on either way. The instances are small servers of this process.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import VirtualTime
from tests.helpers.example_counts import tries
from torpor_account.core.access.rates import CallRates
from torpor_endpoint.core.resource_records import Container, Serverless, Variant
from torpor_endpoint.core.routing.table_differences import TableVersion
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.timing import TIMING
from torpor_endpoint.host import LaunchSpec
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.control.router_board import LOOK_S, RouterBoard
from torpor_endpoint.routing.protocol.account_rows import AccountBatch
from torpor_endpoint.routing.protocol.router_report import SILENT_S, ReportAnswer, RouterReport
from torpor_endpoint.routing.protocol.routing_table import EndpointRow, RoutingTable, TableRow, table_text
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower
from torpor_endpoint.routing.router.reports.pending_accounts import PendingAccounts
from torpor_endpoint.routing.router.reports.reporting import HEARTBEAT_S, Reporting

LIMIT = 6
MOMENT_S = 0.2
INSTANCES_MAX = 3
STOP_S = 1.0
"""How long a control that stops waits for instances that leave. Those that are still there then are ended."""
STEADY = Variant("v", "m", (Container("torpor"),), instances_min=0, instances_max=3)
SLEEPY = Variant("v", "m", (Container("torpor"),), serverless=Serverless(1024, LIMIT))
PASSING = "passing"
VARIANTS = {"steady": STEADY, "sleepy": SLEEPY}

NUMBERS = st.integers(0, 5)
ENDPOINTS = st.sampled_from(sorted(VARIANTS))

T = TypeVar("T")


class Life:
    """One life of the control: what ends with its process."""

    def __init__(self, name: str, host: FakeHost, expecting: bool) -> None:
        clock = asyncio.get_running_loop().time
        self.began_s = clock()
        self.tables = TablePublisher(lambda: self.roster, name)
        self.roster = FleetRoster(self.tables.changed)
        self.board = RouterBoard(lambda: self.roster, self.tables, clock, CallRates({}), expecting)
        factory = InstanceFactory(
            host,
            lambda variant, slot: LaunchSpec(slot),
            lambda: 1e9,
            changed=self.tables.changed,
            others=self.board,
        )
        self._factory = factory
        self.deployments = {name: Deployment(FleetEndpoint(name, "arn"), factory) for name in VARIANTS}
        for name, deployment in self.deployments.items():
            deployment.start([VARIANTS[name]])
            self.roster.serve(deployment.live)
        self.passing: Deployment | None = None
        self.looks = asyncio.create_task(self.board.run(asyncio.sleep))

    def pool(self, endpoint: str) -> InstancePool:
        return self.deployments[endpoint].live.pools["v"]

    @property
    def wanted(self) -> set[str]:
        """The instances that run and shall stay."""
        return {one.id for name in VARIANTS for one in self.pool(name).incarnations}

    async def create_or_delete(self) -> None:
        """An endpoint that has no instance comes, or goes."""
        if self.passing is None:
            self.passing = Deployment(FleetEndpoint(PASSING, "arn"), self._factory)
            self.passing.start([STEADY])
            self.roster.serve(self.passing.live)
        else:
            leaving, self.passing = self.passing, None
            self.roster.stop(PASSING)
            await leaving.close("the test wants it")

    def made_anew(self) -> list[TableRow]:
        """All rows of the table, as they are without a memory of earlier ones."""
        tables = TablePublisher(lambda: self.roster, "anew")
        for live in self.roster:
            tables.changed(live.name)
        told = tables.since(None)
        assert told is not None
        return sorted(told.rows.values(), key=_named)

    def told(self) -> list[TableRow]:
        """All rows of the table as routers get it."""
        told = self.tables.since(None)
        assert told is not None
        return sorted(told.rows.values(), key=_named)

    async def stop(self) -> None:
        """As an endpoint that keeps its instances stops."""
        self.looks.cancel()
        self.tables.close()
        closing = asyncio.gather(*(one.detach() for one in self.deployments.values()))
        try:
            async with asyncio.timeout(STOP_S):
                await closing
        except TimeoutError:
            pass


class Wire(ControlClient):
    """Hands messages over in the form that they have on the wire. `loses` is for the next one."""

    def __init__(self, life: Callable[[], Life]) -> None:
        super().__init__("http://nowhere")
        self._life = life
        self.loses = ""  # "question" or "answer"
        self.heard_s = 0.0  # when the last report reached a control
        self.sent: list[Any] = []  # the last reports, the oldest first

    async def table(self, after: TableVersion | None, within_s: float) -> RoutingTable | None:
        told = self._life().tables.since(after)
        return self._carried(lambda: None if told is None else RoutingTable.read(json.loads(table_text(told))))

    async def report(self, report: RouterReport, batch: AccountBatch | None) -> ReportAnswer:
        self.sent = [*self.sent[-3:], report.json()]

        def answer() -> ReportAnswer:
            board, read = self._life().board, RouterReport.read(_sent(report.json()))
            self.heard_s = asyncio.get_running_loop().time()
            heard, ports = board.heard(read), board.ports(read)
            return ReportAnswer.read(_sent(ReportAnswer(0, len(board), ports, *heard).json()))

        return self._carried(answer)

    async def wake(self, endpoint: str, variant: str) -> None:
        self._life().pool(endpoint).wake()

    async def leave(self, router: str) -> None:
        self._life().board.left(router)

    def _carried(self, answer: Callable[[], T]) -> T:
        loses, self.loses = self.loses, ""
        if loses == "question":
            raise ControlAway("the question is lost")
        found = answer()
        if loses == "answer":
            raise ControlAway("the answer is lost")
        return found


def _named(row: TableRow) -> str:
    return row.endpoint.name if isinstance(row, EndpointRow) else row.instance.key


def _sent(said: Any) -> Any:
    return json.loads(json.dumps(said))


@dataclass
class Request:
    pool: VariantPool
    incarnation: Incarnation


class Port:
    """Where requests come in: a router's, or the control's own."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def take(self, pool: VariantPool, requests: int, now_s: float) -> int:
        """Admit requests while the share has room and an instance is ready, as the runtime does. Returns the number of
        those that were refused."""
        if not pool.ready:
            pool.wake()
            return 0
        for left in range(requests, 0, -1):
            if not pool.admits():
                for _ in range(left):
                    pool.refuse()
                return left
            one = min(pool.ready, key=lambda one: one.in_flight)
            pool.traffic.came(now_s)
            one.took()
            self.requests.append(Request(pool, one))
        return 0

    def finish(self, now_s: float, requests: int | None = None) -> None:
        """So many requests have their answers, the oldest first; None: all."""
        for request in self.requests[:requests]:
            request.pool.released(request.incarnation)
            request.pool.traffic.went(now_s)
        del self.requests[:requests]

    def in_flight(self, endpoint: str) -> int:
        return sum(1 for one in self.requests if one.pool.endpoint == endpoint)


class Router(Port):
    """One router. `safe`: the control has heard of it all the time since it applied its table."""

    def __init__(self, name: str, life: Callable[[], Life]) -> None:
        super().__init__()
        self.name = name
        self.wire = Wire(life)
        self.roster = FollowedRoster()
        self.follower = TableFollower(self.wire, self.roster)
        clock = asyncio.get_running_loop().time
        self.reporting = Reporting(
            name, self.wire, self.follower, self.roster, PendingAccounts(), CallRates({}), clock, lambda: None
        )
        self.safe, self.is_cut = True, False
        self.lapses = asyncio.create_task(self.reporting.keep_shares())

    def pool(self, endpoint: str) -> VariantPool:
        live = self.roster.get(endpoint)
        assert live is not None
        return live.pools["v"]

    async def follow(self) -> None:
        table = await self.wire.table(self.follower.asked, 0.0)
        if table is not None:
            self.follower.apply(table)

    @property
    def reachable(self) -> set[str]:
        """The instances that the next request may go to, or that one is at."""
        offered = {one.id for name in VARIANTS for one in self.pool(name).ready}
        return offered | {one.incarnation.id for one in self.requests}

    def close(self, now_s: float) -> None:
        self.finish(now_s)
        self.lapses.cancel()
        self.follower.close()


class ControlAndRouters(RuleBasedStateMachine):
    """`even`: the shares add up to the limit, and nothing has happened since after which they may not."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = VirtualTime()
        self._host = FakeHost()
        self._names = count(1)
        self._routers: list[Router] = []
        self._own = Port()
        self._unprotected: set[str] = set()  # instances that died, or that a control which stopped has ended
        self._known: set[str] = set()  # instances that were wanted once
        self._left_s: dict[str, float] = {}  # a time at which an instance that is no longer wanted was so
        self._checked_s = 0.0
        self._even = True

    @initialize(routers=st.integers(0, 2))
    def begin(self, routers: int) -> None:
        async def story() -> None:
            await self._begin(expecting=False)
            self._life.pool("sleepy").wake()
            self._life.pool("steady").scale(2, "the test begins")
            await asyncio.sleep(1.0)

        self._do(story())
        for _ in range(routers):
            self.router_comes()

    async def _begin(self, expecting: bool) -> None:
        self._life = Life(f"control-{next(self._names)}", self._host, expecting)
        await asyncio.sleep(1.0)

    def _do(self, story: Coroutine[Any, Any, None]) -> None:
        """A moment passes after each step, in which what it began goes on."""

        async def whole() -> None:
            await story
            await asyncio.sleep(MOMENT_S)

        self._loop.run_until_complete(whole())

    @property
    def _now_s(self) -> float:
        return self._loop.time()

    def _router(self, number: int) -> Router:
        return self._routers[number % len(self._routers)]

    # -- routers ---------------------------------------------------------------------------------------------------
    @precondition(lambda self: len(self._routers) < 3)
    @rule()
    def router_comes(self) -> None:
        async def story() -> None:
            router = Router(f"r-{next(self._names)}", lambda: self._life)
            await router.follow()
            await router.reporting.report()
            self._routers.append(router)

        self._do(story())

    @precondition(lambda self: self._routers)
    @rule(number=NUMBERS)
    def router_leaves(self, number: int) -> None:
        async def story(router: Router) -> None:
            router.close(self._now_s)
            await router.reporting.finish()

        self._do(story(self._routers.pop(number % len(self._routers))))

    @precondition(lambda self: self._routers)
    @rule(number=NUMBERS)
    def router_dies(self, number: int) -> None:
        """Soon after a report, with its requests."""

        async def story(router: Router) -> None:
            router.take(router.pool("steady"), 1, self._now_s)
            if not router.is_cut:
                await self._reported(router)
            router.close(self._now_s)

        self._do(story(self._routers.pop(number % len(self._routers))))

    @precondition(lambda self: self._routers)
    @rule(number=NUMBERS, is_cut=st.booleans())
    def router_is_cut_off_or_back(self, number: int, is_cut: bool) -> None:
        self._router(number).is_cut = is_cut

    @precondition(lambda self: self._routers)
    @rule(number=NUMBERS)
    def router_follows(self, number: int) -> None:
        async def story(router: Router) -> None:
            await router.follow()
            await self._reported(router)

        if not self._router(number).is_cut:
            self._do(story(self._router(number)))

    @precondition(lambda self: self._routers)
    @rule(number=NUMBERS, loses=st.sampled_from(["", "question", "answer"]))
    def router_reports(self, number: int, loses: str) -> None:
        router = self._router(number)
        if not router.is_cut:
            router.wire.loses = loses
            self._do(self._reported(router))

    @precondition(lambda self: self._routers)
    @rule(number=NUMBERS, which=NUMBERS)
    def earlier_report_comes_again(self, number: int, which: int) -> None:
        """It was on its way for longer than a later one, or comes twice."""

        async def story(router: Router) -> None:
            if router.wire.sent:
                late = router.wire.sent[which % len(router.wire.sent)]
                self._life.board.heard(RouterReport.read(_sent(late)))

        self._do(story(self._router(number)))

    async def _reported(self, router: Router) -> None:
        with suppress(ControlAway):
            await router.reporting.report()
            router.safe = router.safe or router.reachable <= self._alive | self._unprotected

    # -- requests --------------------------------------------------------------------------------------------------
    @rule(endpoint=ENDPOINTS, requests=st.integers(1, LIMIT))
    def requests_come_to_the_control(self, endpoint: str, requests: int) -> None:
        async def story() -> None:
            self._own.take(self._life.pool(endpoint), requests, self._now_s)

        self._do(story())

    @precondition(lambda self: self._routers)
    @rule(number=NUMBERS, endpoint=ENDPOINTS, requests=st.integers(1, LIMIT))
    def requests_come_to_a_router(self, number: int, endpoint: str, requests: int) -> None:
        """Those that are refused come again after the next report."""

        async def story(router: Router) -> None:
            refused = router.take(router.pool(endpoint), requests, self._now_s)
            if refused and not router.is_cut:
                await self._reported(router)
                router.take(router.pool(endpoint), refused, self._now_s)

        self._do(story(self._router(number)))

    @precondition(lambda self: self._routers)
    @rule()
    def everybody_wants_more_than_there_is(self) -> None:
        async def story() -> None:
            self._own.take(self._life.pool("sleepy"), 1, self._now_s)
            for router in self._routers:
                router.take(router.pool("sleepy"), LIMIT, self._now_s)
                if not router.is_cut:
                    await self._reported(router)
                    router.take(router.pool("sleepy"), LIMIT, self._now_s)

        self._do(story())

    @precondition(lambda self: self._routers)
    @rule(number=NUMBERS)
    def instances_leave_while_a_router_uses_them(self, number: int) -> None:
        async def story(router: Router) -> None:
            router.take(router.pool("steady"), INSTANCES_MAX, self._now_s)
            self._life.pool("steady").scale(0, "the test wants it")
            if not router.is_cut:
                await router.follow()
                await self._reported(router)

        self._do(story(self._router(number)))

    @rule(number=NUMBERS, requests=st.integers(1, LIMIT))
    def requests_are_answered(self, number: int, requests: int) -> None:
        async def story(port: Port) -> None:
            port.finish(self._now_s, requests)

        ports = [self._own, *self._routers]
        self._do(story(ports[number % len(ports)]))

    # -- instances and the control ---------------------------------------------------------------------------------
    @rule(endpoint=ENDPOINTS, size=st.integers(0, INSTANCES_MAX))
    def sizer_wants(self, endpoint: str, size: int) -> None:
        async def story() -> None:
            self._life.pool(endpoint).scale(size, "the test wants it")

        self._do(story())

    @rule()
    def endpoint_comes_or_goes(self) -> None:
        self._do(self._life.create_or_delete())

    @rule(number=NUMBERS)
    def instance_dies(self, number: int) -> None:
        living = list(self._host.living.values())
        if living:
            one = living[number % len(living)]
            self._unprotected.add(one.launched.incarnation)
            self._do(_called(one.die))

    @rule(seconds=st.sampled_from([0.3, 3.0, 9.0]))
    def time_passes(self, seconds: float) -> None:
        self._do(self._passed(seconds))

    async def _passed(self, seconds: float) -> None:
        """Routers that are not cut off report as often as they do where nothing changes."""
        for _ in range(ceil(seconds / HEARTBEAT_S)):
            await asyncio.sleep(min(seconds, HEARTBEAT_S))
            for router in self._routers:
                if not router.is_cut:
                    await self._reported(router)
            self._note_silence()

    @rule(endpoint=ENDPOINTS, size=st.integers(0, INSTANCES_MAX))
    def control_restarts(self, endpoint: str, size: int) -> None:
        """Its sizer acts before routers have reported."""

        async def story() -> None:
            self._own.finish(self._now_s)
            self._unprotected |= self._alive - self._life.wanted
            await self._life.stop()
            self._host.left = set(self._host.living)
            await self._begin(expecting=bool(self._routers))
            self._life.pool(endpoint).scale(size, "the test wants it")

        self._do(story())
        self._even = False

    @rule(endpoint=ENDPOINTS, size=st.integers(0, INSTANCES_MAX))
    def control_is_killed_with_what_it_started(self, endpoint: str, size: int) -> None:
        """As where all answer at one port: its routers and instances end with it, and what they held is lost. Others
        start with the next control, which has no word of any router that is no more."""

        async def story() -> None:
            ended, self._routers = self._routers, []
            self._own.finish(self._now_s)
            for router in ended:
                router.close(self._now_s)
            await self._life.stop()
            self._unprotected |= self._alive
            for one in list(self._host.living.values()):
                one.die()
            await self._begin(expecting=bool(ended))
            self._life.pool(endpoint).scale(size, "the test wants it")

        before = len(self._routers)
        self._do(story())
        self._even = False
        for _ in range(before):
            self.router_comes()

    @rule()
    def everything_settles(self) -> None:
        self._do(self._settled())

    async def _settled(self) -> None:
        """All requests end, and every message arrives, for as long as the control and its routers need to agree."""
        for port in (self._own, *self._routers):
            port.finish(self._now_s)
        for router in self._routers:
            router.is_cut = False
        for _ in range(2):
            await self._passed(SILENT_S + 2 * LOOK_S)
            for router in self._routers:
                await router.follow()
        await self._passed(SILENT_S)
        shares = [router.pool("sleepy").share or 0 for router in self._routers]
        assert sum(shares) + self._own_share() == LIMIT, (shares, self._own_share())
        self._even = True
        assert self._alive == self._life.wanted
        assert self._life.told() == self._life.made_anew()
        served = {live.name for live in self._life.roster}
        for router in self._routers:
            assert router.follower.version == self._life.tables.version
            assert {live.name for live in router.roster} == served
            calls = [pool.traffic.invocations for live in router.roster for pool in live.every_pool]
            assert self._life.board.shares_of_calls()["routers"][router.name]["invocations"] == sum(calls)
        for name in VARIANTS:
            pool = self._life.pool(name)
            assert len(pool.ready) == pool.size, "an instance that is wanted does not come"
            assert (pool.traffic.in_flight, pool.traffic.elsewhere) == (0, 0)
            for router in self._routers:
                assert {one.id for one in router.pool(name).ready} == {one.id for one in pool.ready}

    # -- what holds always -----------------------------------------------------------------------------------------
    @property
    def _alive(self) -> set[str]:
        return {one.incarnation for one in self._host.list()}

    def _own_share(self) -> int:
        share = self._life.pool("sleepy").share
        return LIMIT if share is None else share

    def _note_silence(self) -> None:
        for router in self._routers:
            if self._now_s - max(router.wire.heard_s, self._life.began_s) > SILENT_S:
                router.safe = self._even = False

    @invariant()
    def an_instance_lives_while_a_router_may_use_it(self) -> None:
        """For as long as a drain waits at most."""
        self._note_silence()
        wanted, alive = self._life.wanted, self._alive
        for name in self._known - wanted:
            self._left_s.setdefault(name, self._checked_s)
        for name in wanted:
            self._left_s.pop(name, None)
        self._known |= wanted
        self._checked_s = self._now_s
        for router in self._routers:
            for name in router.reachable - alive - self._unprotected if router.safe else ():
                drained_s = self._now_s - self._left_s.get(name, self._now_s)
                assert drained_s >= TIMING.grace_s, f"{name} ended, and {router.name} may send to it"

    @invariant()
    def no_more_requests_are_admitted_than_the_limit(self) -> None:
        admitted = sum(port.in_flight("sleepy") for port in (self._own, *self._routers))
        assert admitted <= LIMIT or not self._even

    @invariant()
    def the_control_counts_the_requests_that_routers_reported(self) -> None:
        for name in VARIANTS:
            traffic = self._life.pool(name).traffic
            assert traffic.in_flight - traffic.elsewhere == self._own.in_flight(name)

    def teardown(self) -> None:
        self._do(self._ended())
        self._loop.close()
        self._host.__exit__()

    async def _ended(self) -> None:
        await self._settled()
        for router in self._routers:
            router.close(self._now_s)
            await router.reporting.finish()
        assert len(self._life.board) == 0
        assert self._life.pool("sleepy").share is None
        self._life.looks.cancel()
        if self._life.passing is not None:
            await self._life.create_or_delete()
        for deployment in self._life.deployments.values():
            await deployment.close("the test ends")
        assert self._host.list() == ()
        await asyncio.sleep(1.0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks were left behind: {left}"


async def _called(act: Callable[[], object]) -> None:
    act()


TestControlAndRouters = ControlAndRouters.TestCase
TestControlAndRouters.settings = settings(max_examples=tries(10), stateful_step_count=25, deadline=None)
