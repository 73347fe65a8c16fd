"""A control and a router that follows it, without a network between: its tables and reports are handed over by hand."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.endpoint.helpers.fake_host import FakeHost, Mood
from tests.endpoint.helpers.virtual_time import run
from tests.helpers.waiting import reached
from torpor_account.core.access.rates import CallKind, CallRates
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.resource_records import Container, Serverless, Variant
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.timing import TIMING
from torpor_endpoint.host import LaunchSpec
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.control.router_board import RouterBoard
from torpor_endpoint.routing.protocol.router_report import (
    SILENT_S,
    ReportedVariant,
    RouterReport,
    ShareReport,
    VariantKey,
)
from torpor_endpoint.routing.protocol.routing_table import RoutedEndpoint, RoutingTable, table_text
from torpor_endpoint.routing.router.followed_pool import FollowedPool
from torpor_endpoint.routing.router.known_rows import KnownRows
from torpor_endpoint.routing.router.reports.pool_news import PoolNews

PLAIN = Variant("v", "m", (Container("torpor"),), instance_count=2)
SERVERLESS = Variant("v", "m", (Container("torpor"),), serverless=Serverless(1024, 20))
KEY = ("shop", "v")
NOTHING: Mapping[VariantKey, ReportedVariant] = {}


class Following:
    """A control on a fake host, with one endpoint, and one router's pool of its variant. `expecting`: an earlier life
    of the control had routers."""

    def __init__(self, host: FakeHost, expecting: bool) -> None:
        self.host = host
        self.tables = TablePublisher(lambda: self.roster, "control")
        self.roster = FleetRoster(self.tables.changed)
        self.rates = CallRates({CallKind.INVOCATIONS: 12.0})
        self.board = RouterBoard(lambda: self.roster, self.tables, self.now, self.rates, expecting)
        factory = InstanceFactory(
            host,
            lambda variant, slot: LaunchSpec(slot),
            lambda: 1e9,
            changed=self.tables.changed,
            others=self.board,
        )
        self.deployment = Deployment(FleetEndpoint("shop", "arn"), factory)
        self.woken: list[FollowedPool] = []
        self.numbers = count(1)

    @staticmethod
    def now() -> float:
        return asyncio.get_running_loop().time()

    def begin(self, variant: Variant) -> None:
        self.deployment.start([variant])
        self.roster.serve(self.deployment.live)
        (routed,) = put_together(whole(self.tables)).variants
        self.followed = FollowedPool("shop", routed, self.woken.append, PoolNews())

    @property
    def pool(self) -> InstancePool:
        return self.deployment.live.pools["v"]

    def follow(self) -> RoutingTable:
        """The router applies the control's table."""
        table = whole(self.tables)
        (routed,) = put_together(table).variants
        self.followed.apply(routed)
        return table

    def report(self, router: str = "r", share: int = 0, demand: int = 0) -> int:
        """The router reports, as of its present table. Its share of the variant's MaxConcurrency from now on."""
        row = ReportedVariant(self.followed.traffic.report(self.now()), ShareReport(share, demand))
        heard = self.board.heard(self.said(router, self.tables.version, {KEY: row}))
        return heard.shares.get(KEY, 0)

    def said(
        self,
        router: str,
        table: TableVersion | None,
        rows: Mapping[VariantKey, ReportedVariant] = NOTHING,
        ports: int = 0,
    ) -> RouterReport:
        """The router's next report, of all its variants."""
        number = next(self.numbers)
        in_use, streams = frozenset(self.followed.in_use), frozenset(self.followed.streams)
        variants = Differences(TableVersion(router, number), None, rows)
        return RouterReport(router, number, number - 1, table, in_use, streams, ports, variants)


def whole(tables: TablePublisher) -> RoutingTable:
    """The whole table, as a router reads it that begins."""
    told = tables.since(None)
    assert told is not None
    return RoutingTable.read(json.loads(table_text(told)))


def put_together(table: RoutingTable) -> RoutedEndpoint:
    """The one endpoint of a whole table, with its instances."""
    (endpoint,) = KnownRows().take(table, whole=True)[1]
    return endpoint


@asynccontextmanager
async def following(variant: Variant, expecting: bool = False) -> AsyncIterator[Following]:
    with FakeHost() as host:
        scene = Following(host, expecting)
        scene.begin(variant)
        await asyncio.sleep(1.0)
        scene.follow()
        yield scene
        scene.followed.close()
        scene.board.left("r")
        await scene.deployment.close("the test ends")


def test_a_router_offers_the_instances_of_its_table_once_they_answer_it() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            await reached(lambda: len(scene.followed.ready) == 2)
            assert {one.id for one in scene.followed.ready} == {one.id for one in scene.pool.ready}

    run(story())


def test_an_instance_that_refuses_the_router_is_offered_again_once_it_answers() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            await reached(lambda: len(scene.followed.ready) == 2)
            one = next(iter(scene.followed.ready))
            broken = scene.host.living[one.slot]
            broken.mood = Mood.BAD
            scene.followed.suspect(one)
            await asyncio.sleep(2.0)
            assert not scene.followed.offered(one)
            broken.mood = Mood.GOOD
            await reached(lambda: scene.followed.offered(one))

    run(story())


class FaultyUpstream(Upstream):
    """Fails once as no ping should, and then connects to where another one does."""

    def __init__(self, good: Upstream) -> None:
        super().__init__(good.address)
        self._faults = 1

    async def send(self, *arguments: Any, **more: Any) -> UpstreamAnswer:
        if self._faults:
            self._faults -= 1
            raise RuntimeError("a mistake of ours")
        return await super().send(*arguments, **more)


def test_an_instance_is_watched_on_after_a_fault() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            await reached(lambda: len(scene.followed.ready) == 2)
            one = next(iter(scene.followed.ready))
            container = one.containers[0]
            container.upstream = FaultyUpstream(container.upstream)
            scene.followed.suspect(one)
            await asyncio.sleep(3.0)
            assert scene.followed.offered(one)

    run(story())


def test_an_instance_ends_only_when_no_router_uses_it_any_more() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            await reached(lambda: len(scene.followed.ready) == 2)
            scene.report()
            using = {one.slot.number: one for one in scene.followed.ready}
            using[0].took()
            scene.pool.scale(0, "the test wants it")
            await asyncio.sleep(1.0)
            assert len(scene.host.list()) == 2  # the router does not know yet

            scene.follow()
            scene.report()
            await reached(lambda: [one.slot.number for one in scene.host.list()] == [0])
            await asyncio.sleep(1.0)
            assert [one.slot.number for one in scene.host.list()] == [0]

            scene.followed.released(using[0])
            scene.report()
            await reached(lambda: scene.host.list() == ())

    run(story())


def test_an_instance_does_not_wait_for_a_router_that_is_silent() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            scene.report()
            scene.pool.scale(1, "the test wants it")
            await asyncio.sleep(SILENT_S / 2)
            scene.board.expire()
            assert len(scene.host.list()) == 2
            await asyncio.sleep(SILENT_S)
            scene.board.expire()
            await reached(lambda: len(scene.host.list()) == 1)
            assert len(scene.board) == 0

    run(story())


def test_an_instance_waits_for_a_router_that_follows_an_earlier_life_of_the_control() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            scene.board.heard(scene.said("r", TableVersion("an earlier life", 40)))
            scene.pool.scale(1, "the test wants it")
            await asyncio.sleep(5.0)
            assert len(scene.host.list()) == 2
            scene.follow()
            scene.report()
            await reached(lambda: len(scene.host.list()) == 1)

    run(story())


def test_an_instance_waits_for_routers_that_have_not_reported_to_a_control_that_begins() -> None:
    async def story() -> None:
        async with following(PLAIN, expecting=True) as scene:
            scene.pool.scale(1, "the test wants it")
            await asyncio.sleep(5.0)
            scene.board.expire()
            assert len(scene.host.list()) == 2
            await asyncio.sleep(SILENT_S)
            scene.board.expire()
            await reached(lambda: len(scene.host.list()) == 1)

    run(story())


def test_a_stream_through_a_router_has_as_long_as_one_of_the_control() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            await reached(lambda: len(scene.followed.ready) == 2)
            scene.report()
            streamed = next(one for one in scene.followed.ready if one.slot.number == 0)
            streamed.took()
            with scene.followed.streaming(streamed):
                scene.pool.scale(0, "the test wants it")
                scene.follow()
                for _ in range(int(3 * TIMING.grace_s)):
                    await asyncio.sleep(1.0)
                    scene.report()
                assert [one.slot.number for one in scene.host.list()] == [0]
            scene.followed.released(streamed)
            scene.report()
            await reached(lambda: scene.host.list() == ())

    run(story())


def test_a_request_through_a_router_that_is_no_stream_ends_with_the_grace() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            await reached(lambda: len(scene.followed.ready) == 2)
            scene.report()
            stuck = next(one for one in scene.followed.ready if one.slot.number == 0)
            stuck.took()
            scene.pool.scale(0, "the test wants it")
            scene.follow()
            for _ in range(int(3 * TIMING.grace_s)):
                await asyncio.sleep(1.0)
                scene.report()
            assert scene.host.list() == ()
            scene.followed.released(stuck)

    run(story())


def test_the_sizer_sees_the_traffic_of_routers_and_forgets_that_of_one_that_left() -> None:
    async def story() -> None:
        async with following(SERVERLESS) as scene:
            for _ in range(3):
                scene.followed.traffic.came(scene.now())
            scene.report()
            scene.report()
            assert (scene.pool.traffic.in_flight, scene.pool.traffic.invocations) == (3, 3)
            assert scene.pool.traffic.idle_s(scene.now()) == 0.0
            scene.board.left("r")
            assert (scene.pool.traffic.in_flight, scene.pool.traffic.elsewhere) == (0, 0)

    run(story())


def test_a_router_asks_once_for_an_instance_until_the_control_has_answered() -> None:
    async def story() -> None:
        async with following(SERVERLESS) as scene:
            scene.followed.wake()
            scene.followed.wake()
            assert scene.woken == [scene.followed]
            scene.pool.wake()
            await asyncio.sleep(1.0)
            scene.follow()
            scene.followed.answered()
            await reached(lambda: len(scene.followed.ready) == 1)

    run(story())


def test_the_share_of_max_concurrency_follows_the_demand_and_returns_to_the_control() -> None:
    async def story() -> None:
        async with following(SERVERLESS) as scene:
            share = scene.report(share=0, demand=15)
            assert (share, scene.pool.share) == (17, 3)
            assert scene.report("other", share=0, demand=15) == 3  # what the control itself gave back
            assert scene.report(share=17, demand=15) == 10
            assert scene.report("other", share=3, demand=15) == 3  # the router may still use 17
            scene.report(share=10, demand=15)
            assert scene.report("other", share=3, demand=15) == 10
            for router in ("r", "other"):
                scene.board.left(router)
            assert scene.pool.share is None

    run(story())


@pytest.mark.parametrize("expecting", [True, False], ids=["by the ledger", "by a report"])
def test_a_control_that_begins_lets_no_share_grow_until_it_must_know_all_routers(expecting: bool) -> None:
    async def story() -> None:
        async with following(SERVERLESS, expecting) as scene:
            shares = {router: scene.report(router, share=10, demand=20) for router in "ab"}
            assert (shares, scene.pool.share) == ({"a": 10, "b": 10}, 0)
            assert scene.report("new", share=0, demand=5) == 0
            await asyncio.sleep(SILENT_S)
            for router in "ab":
                scene.report(router, share=10, demand=2)
            scene.board.expire()
            smaller = scene.report("a", share=10, demand=2)
            assert smaller < 10
            scene.report("a", share=smaller, demand=2)
            assert scene.report("new", share=0, demand=5) > 0
            for router in ("a", "b", "new"):
                scene.board.left(router)

    run(story())


def test_routers_that_start_with_a_control_that_begins_share_the_limit_at_once() -> None:
    async def story() -> None:
        async with following(SERVERLESS, expecting=True) as scene:
            assert scene.report("a", share=0, demand=4) >= 4
            assert scene.report("b", share=0, demand=4) >= 4
            for router in "ab":
                scene.board.left(router)

    run(story())


def test_a_limit_of_one_is_not_divided_away_after_a_restart() -> None:
    async def story() -> None:
        one = replace(SERVERLESS, serverless=Serverless(1024, 1))
        async with following(one, expecting=True) as scene:
            share = scene.report("a", share=0, demand=4)
            assert {share, scene.pool.share} == {0, 1}
            scene.board.left("a")

    run(story())


def ports(scene: Following, known: int = 0, router: str = "r") -> int:
    """The number of ports that a router is told which knows so many. It has reported now."""
    scene.report(router)
    return scene.board.ports(scene.said(router, None, ports=known))


def test_the_ports_of_all_routers_share_a_limit_and_the_controls_own_while_it_is_called() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            limit = scene.rates.of(CallKind.INVOCATIONS)
            assert limit is not None
            assert (ports(scene), limit.rate) == (1, 6.0)
            assert (ports(scene, router="other"), limit.rate) == (2, 4.0)
            assert limit.take("somebody", scene.now())
            assert (ports(scene), limit.rate) == (3, 4.0)
            await asyncio.sleep(SILENT_S + 1.0)
            assert (ports(scene), limit.rate) == (2, 4.0)
            for router in ("r", "other"):
                scene.board.left(router)
            assert limit.rate == 12.0

    run(story())


def test_a_control_that_begins_raises_no_routers_share_until_it_must_know_them_all() -> None:
    async def story() -> None:
        async with following(PLAIN) as scene:
            assert (ports(scene, known=5), ports(scene, known=0)) == (5, 1)
            await asyncio.sleep(SILENT_S)
            assert ports(scene, known=5) == 1

    run(story())
