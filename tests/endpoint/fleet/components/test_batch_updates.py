"""Updates of an inference component by batches: a share each, alarms, time limits, restarts; they end in new or old."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.virtual_time import ThreadlessTime
from tests.helpers.thorough_values import thorough
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.components.component_records import (
    ComponentRecord,
    ComponentSpecification,
    ComponentStatus,
    CopyResources,
)
from torpor_endpoint.core.resource_records import Container, EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.core.rollouts.rollout import FleetSizes, Rollout, RolloutPhase
from torpor_endpoint.core.rollouts.rollout_policy import CapacitySize, RolloutPolicy, SizeType, Strategy
from torpor_endpoint.fleet.components.component_controller import ComponentController
from torpor_endpoint.fleet.controller import Controller
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

CAPACITY = Variant("v", "", (), instance_type="ml.m5.large", instance_count=1, instances_min=0, instances_max=3)
SHOP = EndpointRecord("shop", "arn", 1.0, 1.0, EndpointStatus.IN_SERVICE, "c", (CAPACITY,))
OLD = ComponentSpecification((Container("torpor"),), resources=CopyResources(3000), startup_timeout_s=20.0)
NEW = replace(OLD, containers=(Container("torpor", environment={"A": "1"}),))
ONE = ComponentRecord("one", "a", 1.0, 1.0, ComponentStatus.IN_SERVICE, "shop", "arn", 1.0, "v", (OLD,), copies=4)
HALVES = RolloutPolicy(
    Strategy.ROLLING,
    CapacitySize(SizeType.INSTANCE_COUNT, 2),
    wait_s=120.0,
    execution_timeout_s=600.0,
    alarms=("errors",),
)
HEADER = (b"x-amzn-sagemaker-inference-component", b"one")


class Shop:
    """One component with four copies, on instances for two each, and the controllers of a process."""

    def __init__(self, host: FakeHost, store: Store) -> None:
        self.host = host
        self.store = store
        self.on: set[str] = set()
        self.roster = FleetRoster()
        self.clock = asyncio.get_running_loop().time
        factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), self.epoch)
        self.controller = Controller(store, self.roster, factory, self.epoch, lambda name: asyncio.sleep(0))
        self.components = ComponentController(
            store,
            self.roster,
            factory,
            self.epoch,
            lambda component: asyncio.sleep(0),
            self.controller.resized,
            False,
            alarms_on=lambda names: self.on.intersection(names),
        )
        self.draws = random.Random(7)
        self.router = Router(self.roster, self.draws.random, strict=False)

    def epoch(self) -> float:
        return 1e9 + self.clock()

    @property
    def record(self) -> ComponentRecord:
        found = self.store.component("one")
        assert found is not None
        return found

    @property
    def phase(self) -> RolloutPhase | None:
        return None if self.record.rollout is None else self.record.rollout.phase

    @property
    def ready(self) -> dict[str, int]:
        live = self.roster.get("shop")
        assert live is not None
        return {pool.variant.name: len(pool.ready) for pool in live.generations.get("one", [])}

    def share(self, requests: int = 4000) -> float:
        """Of so many requests, the part that goes to the second generation."""
        to = []
        for _ in range(requests):
            request = passage("shop", HEADER)
            self.router.route(request)
            assert request.route is not None
            to.append(request.route.variant)
        return to.count("component.one.2") / requests

    async def start(self) -> None:
        await self.controller.start()
        await self.components.start()

    def update(self, policy: RolloutPolicy = HALVES) -> None:
        pending = replace(
            self.record, status=ComponentStatus.UPDATING, pending_specifications=(NEW,), rollout=Rollout(policy)
        )
        assert self.store.replace_component(pending, expected_status=ComponentStatus.IN_SERVICE)
        self.components.changed("one")

    async def passes(self, seconds: float) -> None:
        """So many seconds with a look in each."""
        for _ in range(int(seconds)):
            self.components.look(self.clock())
            await asyncio.sleep(1.0)

    async def settled(self) -> None:
        for _ in range(3600):
            if self.record.status is not ComponentStatus.UPDATING:
                return
            await self.passes(1)
        raise AssertionError(self.record)

    async def stop(self) -> None:
        await self.components.close()
        await self.controller.close()


@contextmanager
def stored(most: int = 3) -> Iterator[Store]:
    """`most`: of instances; three have room for one batch more than the copies."""
    database = SqliteFile(":memory:", RECORDS)
    store = Store(database, lambda: 1.0)
    store.add_endpoint(replace(SHOP, variants=(replace(CAPACITY, instances_max=most),)))
    store.add_component(ONE)
    yield store
    database.close()


def told(story: Callable[[Shop], Awaitable[None]], most: int = 3) -> None:
    async def whole() -> None:
        with FakeHost() as host, stored(most) as store:
            shop = Shop(host, store)
            await shop.start()
            await shop.passes(2)
            assert shop.ready == {"component.one": 4}
            await story(shop)
            await shop.stop()
            assert host.living == {}

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(whole())


def test_batches_come_and_go_with_their_shares_and_the_new_copies_are_left() -> None:
    async def story(shop: Shop) -> None:
        shop.update()
        await shop.passes(10)
        assert shop.phase is RolloutPhase.BAKING
        assert shop.ready == {"component.one": 4, "component.one.2": 2}
        assert shop.share() == pytest.approx(0.5, abs=0.03)
        await shop.passes(120)
        assert shop.ready == {"component.one": 2, "component.one.2": 4}
        assert shop.share() == 1.0
        await shop.settled()
        assert (shop.ready, shop.record.specifications) == ({"component.one.2": 4}, (NEW,))
        assert (shop.record.status, shop.record.rollout, shop.record.generation) == (
            ComponentStatus.IN_SERVICE,
            None,
            1,
        )
        assert shop.record.failure_reason is None
        shop.update()
        await shop.settled()
        assert shop.ready == {"component.one": 4}  # and back in the next update

    told(story)


@pytest.mark.thorough
def test_the_instances_of_the_new_copies_stay_and_those_of_the_old_ones_leave() -> None:
    async def story(shop: Shop) -> None:
        live = shop.roster.get("shop")
        assert live is not None
        shop.update()
        await shop.settled()
        assert live.production["v"].size == 3  # one batch more than four copies need
        await shop.passes(1300)
        assert live.production["v"].size == 2
        shop.update()
        await shop.settled()
        await shop.passes(1300)
        assert (live.production["v"].size, shop.ready) == (2, {"component.one": 4})

    told(story)


@pytest.mark.parametrize("most", [3, 4])  # three have no room for all old copies beside the new ones
def test_an_alarm_while_it_bakes_brings_the_old_copies_back(most: int) -> None:
    async def story(shop: Shop) -> None:
        shop.update()
        await shop.passes(140)  # in the second batch
        assert shop.share() == 1.0
        shop.on.add("errors")
        await shop.settled()
        assert (shop.ready, shop.share()) == ({"component.one": 4}, 0.0)
        assert (shop.record.status, shop.record.specifications) == (ComponentStatus.IN_SERVICE, (OLD,))
        assert "errors" in (shop.record.failure_reason or "")

    told(story, most)


@pytest.mark.parametrize(
    ("policy", "reason"), [(HALVES, "there is no room"), (replace(HALVES, wait_s=3600.0), "exceeded")]
)
def test_copies_that_do_not_start_and_a_time_limit_end_it_with_the_old_copies(
    policy: RolloutPolicy, reason: str
) -> None:
    async def story(shop: Shop) -> None:
        if policy is HALVES:
            shop.host.launches_to_fail = 1_000_000
        shop.update(policy)
        await shop.settled()
        shop.host.launches_to_fail = 0
        assert (shop.ready, shop.record.specifications) == ({"component.one": 4}, (OLD,))
        assert reason in (shop.record.failure_reason or "")

    told(story)


def test_a_rollback_waits_for_old_copies_that_cannot_start_for_a_while() -> None:
    async def story(shop: Shop) -> None:
        shop.update()
        await shop.passes(125)
        assert shop.ready == {"component.one": 2, "component.one.2": 4}
        shop.host.launches_to_fail = 40
        shop.on.add("errors")
        await shop.settled()
        assert (shop.ready, shop.record.status) == ({"component.one": 4}, ComponentStatus.IN_SERVICE)

    told(story)


def test_a_rollback_that_cannot_start_the_old_copies_ends_with_those_that_most_are_ready_of() -> None:
    async def story(shop: Shop) -> None:
        shop.update()
        await shop.passes(125)
        assert shop.ready == {"component.one": 2, "component.one.2": 4}
        shop.host.launches_to_fail = 1_000_000
        shop.on.add("errors")
        await shop.settled()
        assert (shop.ready, shop.record.specifications) == ({"component.one.2": 4}, (NEW,))
        assert (shop.record.status, shop.record.generation) == (ComponentStatus.IN_SERVICE, 1)
        assert "The rollback failed" in (shop.record.failure_reason or "")
        assert len(shop.host.living) == 4

    told(story, most=4)


STRANGE = replace(OLD, containers=(Container("a-strange-image"),))


@pytest.mark.parametrize("by_batches", [False, True])
@pytest.mark.parametrize("lost", [(OLD,), (OLD, NEW)])
def test_a_restart_without_the_old_image_serves_the_new_specification(
    by_batches: bool, lost: tuple[ComponentSpecification, ...]
) -> None:
    async def whole() -> None:
        with stored() as store, FakeHost() as host:
            shop = Shop(host, store)
            for slot in [Slot("shop", "component.one", number) for number in range(3)] if NEW not in lost else []:
                await host.launch(LaunchSpec(slot))
                host.left.add(slot)
            baking = Rollout(HALVES, RolloutPhase.BAKING, (FleetSizes("one", 4, 4),), step=1, active=1)
            pending = (STRANGE,) if NEW in lost else (NEW,)
            updating = replace(ONE, status=ComponentStatus.UPDATING, pending_specifications=pending)
            updating = replace(updating, specifications=(STRANGE,), rollout=baking if by_batches else None)
            store.replace_component(updating, expected_status=ONE.status)
            await shop.start()
            await shop.settled()
            await shop.passes(60)
            assert shop.record.status is ComponentStatus.IN_SERVICE
            assert "a-strange-image" in (shop.record.failure_reason or "")
            if NEW in lost:
                assert (shop.record.specifications, shop.ready) == ((STRANGE,), {})
            else:
                assert "the old specification cannot be served" in (shop.record.failure_reason or "")
                assert (shop.record.specifications, list(shop.ready.values())) == ((NEW,), [4])
                assert len(host.living) == 4
            await shop.stop()

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(whole())


@pytest.mark.parametrize("after_s", [1, 60, 125, 200, *thorough(5, 131, 300)])
@pytest.mark.parametrize("alarm", [False, True])
def test_after_a_restart_it_goes_on_or_back_and_ends_in_new_or_old(after_s: int, alarm: bool) -> None:
    async def whole() -> None:
        with stored() as store:
            with FakeHost() as host:
                before = Shop(host, store)
                await before.start()
                await before.passes(2)
                before.update()
                await before.passes(after_s)
                await before.stop()
            with FakeHost() as host:
                after = Shop(host, store)
                if alarm:
                    after.on.add("errors")
                await after.start()
                await after.settled()
                await after.passes(60)
                going_back = after.record.specifications == (OLD,)
                assert going_back or after.record.specifications == (NEW,)
                assert after.record.status is ComponentStatus.IN_SERVICE
                assert list(after.ready.values()) == [4]
                assert going_back == (alarm and after_s < 300)
                await after.stop()

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(whole())


def test_an_update_of_the_endpoint_meanwhile_leaves_no_copy_behind() -> None:
    async def story(shop: Shop) -> None:
        await shop.passes(5)
        shop.update()
        await shop.passes(10)
        assert shop.phase is RolloutPhase.BAKING
        larger = replace(CAPACITY, instance_type="ml.m5.xlarge")
        endpoint = shop.store.endpoint("shop")
        assert endpoint is not None
        updating = replace(endpoint, status=EndpointStatus.UPDATING, pending_variants=(larger,))
        assert shop.store.replace_endpoint(updating, expected_status=endpoint.status)
        shop.controller.changed("shop")
        await shop.settled()
        await shop.passes(60)
        assert shop.record.specifications == (NEW,)
        assert shop.ready == {"component.one.2": 4}
        assert len(shop.host.living) == 4

    told(story)


async def leave_half(host: FakeHost) -> None:
    """Has the host run two old copies and two new ones, of an earlier process."""
    for slot in (Slot("shop", ("component.one", "component.one.2")[number > 1], number) for number in range(4)):
        await host.launch(LaunchSpec(slot))
        host.left.add(slot)


def test_after_a_restart_old_and_new_copies_have_numbers_of_their_own() -> None:
    async def whole() -> None:
        with stored() as store, FakeHost() as host:
            await leave_half(host)
            shop = Shop(host, store)
            restoring = Rollout(HALVES, RolloutPhase.RESTORING, (FleetSizes("one", 4, 4),), step=1, active=1, back=1)
            restoring = replace(restoring, since_s=shop.epoch(), started_s=shop.epoch())
            updating = replace(ONE, status=ComponentStatus.UPDATING, pending_specifications=(NEW,), rollout=restoring)
            store.replace_component(updating, expected_status=ONE.status)
            await shop.start()
            live = shop.roster.get("shop")
            assert live is not None
            old, new = (list(pool.numbers) for pool in live.generations["one"])
            assert (len(old), new) == (4, [2, 3])
            assert not {*old} & {*new}
            await shop.settled()
            assert shop.ready == {"component.one": 4}
            await shop.stop()

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(whole())


def test_a_restart_without_the_new_image_leaves_all_old_copies_and_none_of_the_new() -> None:
    async def whole() -> None:
        with stored() as store, FakeHost() as host:
            await leave_half(host)
            shop = Shop(host, store)
            baking = Rollout(HALVES, RolloutPhase.BAKING, (FleetSizes("one", 4, 4),), step=2, active=1)
            updating = replace(ONE, status=ComponentStatus.UPDATING, pending_specifications=(STRANGE,), rollout=baking)
            store.replace_component(updating, expected_status=ONE.status)
            await shop.start()
            await shop.settled()
            await shop.passes(60)
            assert (shop.record.specifications, shop.ready) == ((OLD,), {"component.one": 4})
            assert "a-strange-image" in (shop.record.failure_reason or "")
            assert len(host.living) == 4
            await shop.stop()

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(whole())
