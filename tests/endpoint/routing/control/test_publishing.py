"""What one change of the fleet costs the control and its routers, by the number of endpoints that do not change."""

import asyncio
import json
from collections.abc import Callable
from typing import NamedTuple

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import run
from tests.helpers.counted_calls import calls_of
from torpor_endpoint.core.lifecycle import InstancePhase
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.host import Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.protocol.routing_table import RoutingTable, table_text
from torpor_endpoint.routing.router.control_client import ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower

SLEEPY = Variant("v", "m", (Container("torpor"),), instances_min=0)


class Fleet:
    """A control with so many endpoints that sleep, and one router that knows them."""

    def __init__(self, host: FakeHost, endpoints: int) -> None:
        self.tables = TablePublisher(lambda: self.roster, "control")
        self.roster = FleetRoster(self.tables.changed)
        factory = InstanceFactory(
            host, lambda variant, slot: LaunchSpec(slot), lambda: 1e9, changed=self.tables.changed
        )
        for number in range(endpoints):
            name = f"endpoint-{number:04}"
            pool = InstancePool(name, SLEEPY, factory, SlotNumbers())
            self.roster.serve(FleetEndpoint(name, "arn", {"v": pool}))
        self.follower = TableFollower(ControlClient("http://nowhere"), FollowedRoster())
        self.follow()

    def pool(self, number: int) -> InstancePool:
        live = self.roster.get(f"endpoint-{number:04}")
        assert live is not None
        return live.pools["v"]

    def told(self) -> str:
        """What the router lacks."""
        told = self.tables.since(self.follower.version)
        assert told is not None
        return table_text(told)

    def follow(self) -> None:
        self.follower.apply(RoutingTable.read(json.loads(self.told())))


class Cost(NamedTuple):
    """Of one change: calls of functions in the control and in the router, and bytes and rows between them."""

    control: int
    router: int
    told_bytes: int
    rows: int


def cost(fleet: Fleet, change: Callable[[], object]) -> Cost:
    texts: list[str] = []

    def in_control() -> None:
        change()
        texts.append(fleet.told())

    control = calls_of(in_control)
    table = RoutingTable.read(json.loads(texts[0]))
    router = calls_of(lambda: fleet.follower.apply(table))
    number = len(str(table.version.number)) + len(str(table.since))  # the digits of versions
    return Cost(control, router, len(texts[0]) - number, len(table.endpoints) + len(table.gone))


def costs(endpoints: int, change: Callable[[Fleet], object]) -> Cost:
    found: list[Cost] = []

    async def story() -> None:
        with FakeHost() as host:
            fleet = Fleet(host, endpoints)
            found.append(cost(fleet, lambda: change(fleet)))
            await asyncio.sleep(1.0)
            assert len(host.list()) == fleet.pool(2).size
            for live in fleet.roster:
                await asyncio.gather(*(pool.close("the test ends") for pool in live.every_pool))
            fleet.follower.close()

    run(story())
    return found[0]


def test_a_wake_costs_the_same_however_many_endpoints_there_are() -> None:
    few, many = costs(10, lambda fleet: fleet.pool(2).wake()), costs(1000, lambda fleet: fleet.pool(2).wake())
    assert few == many
    assert many.rows == 1


def test_an_endpoint_that_goes_costs_the_same_however_many_stay() -> None:
    few, many = (costs(count, lambda fleet: fleet.roster.stop("endpoint-0007")) for count in (10, 1000))
    assert few == many
    assert many.rows == 1


def test_an_instance_that_comes_or_goes_is_one_row_however_many_stay() -> None:
    few, many = changes_of_instances(5), changes_of_instances(500)
    assert [one[0] for one in many] == [(0, 1, ()), (0, 0, ("endpoint-0002/i-new",))]
    assert few == many


def changes_of_instances(count: int) -> list[tuple[tuple[int, int, tuple[str, ...]], int]]:
    """What a router gets of an instance that comes beside so many, and of its end: rows, and bytes."""
    found: list[tuple[tuple[int, int, tuple[str, ...]], int]] = []

    async def story() -> None:
        with FakeHost() as host:
            fleet = Fleet(host, 3)
            ready = fleet.pool(2).ready
            for number in range(count):
                ready.offer(number, incarnation(number, f"i-{number}"))
            fleet.tables.changed("endpoint-0002")
            fleet.follow()

            def told() -> None:
                fleet.tables.changed("endpoint-0002")
                text = fleet.told()
                table = RoutingTable.read(json.loads(text))
                found.append(((len(table.endpoints), len(table.instances), table.gone), len(text)))
                fleet.follow()

            ready.offer(count, incarnation(1, "i-new"))
            told()
            ready.withdraw(count)
            told()
            fleet.follower.close()

    run(story())
    return found


def incarnation(number: int, name: str) -> Incarnation:
    slot, ended = Slot("endpoint-0002", "v", number), asyncio.get_running_loop().create_future()
    launched = Launched(slot, name, ("10.0.0.1", 8080), Phase.RUNNING)
    return Incarnation(slot, name, [LiveContainer.of(SLEEPY.containers[0], launched, ended)], InstancePhase.READY)


def test_a_router_that_was_away_gets_each_endpoint_once_as_it_is_now() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fleet = Fleet(host, 10)
            for _ in range(5):
                fleet.pool(2).scale(1, "the test wants it")
                assert fleet.tables.version
                fleet.pool(2).scale(0, "the test wants it")
                assert fleet.tables.version
            fleet.pool(2).scale(1, "the test wants it")
            table = RoutingTable.read(json.loads(fleet.told()))
            assert [(one.name, one.variants[0].wanted) for one in table.endpoints] == [("endpoint-0002", 1)]
            await asyncio.sleep(1.0)
            await fleet.pool(2).close("the test ends")

    run(story())


def test_all_routers_get_an_endpoint_from_one_text() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fleet = Fleet(host, 10)
            first, second = fleet.tables.since(None), fleet.tables.since(None)
            assert first is not None
            assert second is not None
            assert all(first.rows[name].text is second.rows[name].text for name in first.rows)

    run(story())
