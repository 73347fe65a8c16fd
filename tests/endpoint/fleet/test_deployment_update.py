"""An endpoint that is updated while its variants sleep, wake and grow with the calls."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.virtual_time import run
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.lifecycle import EndpointEvent, move
from torpor_endpoint.core.resource_records import Container, EndpointRecord, EndpointStatus, Serverless, Variant
from torpor_endpoint.core.scaling import SHRINK_S
from torpor_endpoint.fleet.controller import Controller
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.sizer import PERIOD_S, Sizer
from torpor_endpoint.fleet.variant_change import DeploymentFailed
from torpor_endpoint.host import HostError, Launched, LaunchSpec
from torpor_endpoint.runtime.passage import Route
from torpor_endpoint.runtime.sending import RequestSender
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

SERVERLESS = Variant("a", "m", (Container("torpor"),), serverless=Serverless(1024, 20))
PROVISIONED = replace(SERVERLESS, serverless=Serverless(1024, 20, provisioned_concurrency=10))
PLAIN = Variant("a", "m", (Container("torpor"),), instance_type="ml.m5.large", instance_count=1)
MANAGED = replace(PLAIN, instances_min=1, instances_max=5)
TO_ZERO = replace(MANAGED, instances_min=0)
SLOW, BAD = replace(PLAIN, name="slow"), replace(PLAIN, name="bad")
STARTS_S = {"a": 5.0, "slow": 60.0, "bad": 0.0}
BEFORE_A_LOOK_S = PERIOD_S / 2
HOUR_S = 3600.0


class HostWithoutRoomForBad(FakeHost):
    async def launch(self, spec: LaunchSpec) -> Launched:
        if spec.slot.variant == "bad":
            await asyncio.sleep(1.0)
            raise HostError("there is no room")
        return await super().launch(spec)


class Shop:
    """An endpoint that has served a variant `a` for an hour without calls; its sizer looks once a second."""

    def __init__(self, host: FakeHost) -> None:
        self.live = FleetEndpoint("shop", "arn")
        self.lives: dict[str, InstanceLife] = {}
        self.roster = FleetRoster()
        self.roster.serve(self.live)
        self.clock = asyncio.get_running_loop().time
        factory = InstanceFactory(
            host,
            lambda variant, slot: LaunchSpec(slot),
            time.time,
            lived=lambda life: self.lives.update({life.instance: life}),
            start_delay_s=lambda variant: STARTS_S[variant.name],
        )
        self.deployment = Deployment(self.live, factory)

    @property
    def pool(self) -> InstancePool:
        return self.live.pools["a"]

    @property
    def sizes(self) -> tuple[int, int]:
        """Wanted and ready."""
        return self.pool.size, len(self.pool.ready)

    def come(self, callers: int) -> None:
        for _ in range(callers):
            self.pool.traffic.came(self.clock())

    def go(self, callers: int) -> None:
        for _ in range(callers):
            self.pool.traffic.went(self.clock())

    def update(self, *variants: Variant) -> "asyncio.Task[None]":
        return asyncio.create_task(self.deployment.become(variants))

    async def call(self) -> float:
        """How long it waited for its answer."""
        came_s = self.clock()
        await RequestSender(self.clock, strict=False).send(
            passage("shop", route=Route(self.live, "a", self.pool, None))
        )
        return self.clock() - came_s


@asynccontextmanager
async def opened_for_an_hour(variant: Variant) -> AsyncIterator[Shop]:
    with HostWithoutRoomForBad() as host:
        shop = Shop(host)
        shop.deployment.start((variant,))
        sizer = asyncio.create_task(Sizer(shop.roster, shop.clock).run())
        await asyncio.sleep(HOUR_S + BEFORE_A_LOOK_S)
        yield shop
        sizer.cancel()
        await shop.deployment.close("the test ends")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SERVERLESS, PROVISIONED),
        (TO_ZERO, replace(TO_ZERO, instance_count=2)),
        *thorough((MANAGED, replace(MANAGED, instance_count=2)), (MANAGED, replace(PLAIN, instance_count=7))),
    ],
)
def test_an_update_keeps_the_instances_that_it_waits_for_without_any_call(old: Variant, new: Variant) -> None:
    async def story() -> None:
        async with opened_for_an_hour(old) as shop:
            async with asyncio.timeout(PATIENCE_S):
                await shop.update(new)
            assert shop.sizes == (max(2, new.instance_count), max(2, new.instance_count))

    run(story(), 2 * HOUR_S)


def test_an_update_that_promotes_a_shadow_variant_is_in_the_lives_of_its_instances() -> None:
    async def story() -> None:
        async with opened_for_an_hour(replace(PLAIN, shadow=True)) as shop:
            await shop.update(PLAIN)
            (one,) = shop.pool.incarnations
            promoted_s = shop.pool.life_of(one).changed_s
            assert promoted_s is not None
            assert (shop.lives[one.id].shadow, shop.lives[one.id].changed_s) == (False, promoted_s)
            await shop.update(replace(PLAIN, weight=2.0))  # which changes neither
            assert shop.lives[one.id].changed_s == promoted_s
        assert shop.lives[one.id].stopped_s is not None
        assert shop.lives[one.id].changed_s == promoted_s

    run(story(), 2 * HOUR_S)


def test_a_count_that_is_asked_for_is_carried_out_if_it_is_the_recorded_one_and_left_for_a_while() -> None:
    async def story() -> None:
        three = replace(MANAGED, instance_count=3)
        async with opened_for_an_hour(three) as shop:
            assert shop.sizes == (1, 1)
            await shop.update(replace(three, weight=2.0))
            assert shop.sizes == (1, 1)
            await shop.deployment.become((three,), resized=("a",))
            await asyncio.sleep(SHRINK_S - 5.0)
            assert shop.sizes == (3, 3)
            await asyncio.sleep(10.0)
            assert shop.sizes == (1, 1)

    run(story(), 2 * HOUR_S)


def test_an_update_leaves_a_pool_as_large_as_its_callers_made_it_meanwhile() -> None:
    async def story() -> None:
        async with opened_for_an_hour(MANAGED) as shop:
            update = shop.update(MANAGED, SLOW)
            await asyncio.sleep(1.0)
            shop.come(30)
            await asyncio.sleep(30.0)
            assert shop.sizes == (4, 4)
            await update
            assert shop.sizes == (4, 4)
            shop.go(30)

    run(story(), 2 * HOUR_S)


def test_a_failed_update_keeps_the_instance_of_a_call_made_meanwhile() -> None:
    async def story() -> None:
        async with opened_for_an_hour(SERVERLESS) as shop:
            update = shop.update(SERVERLESS, BAD)
            await asyncio.sleep(1.0)
            call = asyncio.create_task(shop.call())
            with pytest.raises(DeploymentFailed, match="no room"):
                await update
            assert shop.sizes == (1, 0)
            assert await call == pytest.approx(STARTS_S["a"], abs=0.5)

    run(story(), 2 * HOUR_S)


@pytest.mark.parametrize(("old", "callers", "left"), [*thorough((MANAGED, 0, 1)), (MANAGED, 1, 3), (PLAIN, 1, 1)])
def test_a_failed_update_releases_unused_instances_and_restores_a_fixed_count(
    old: Variant, callers: int, left: int
) -> None:
    async def story() -> None:
        async with opened_for_an_hour(old) as shop:
            update = shop.update(replace(old, instance_count=3), BAD)
            await asyncio.sleep(1.0)
            shop.come(callers)
            with pytest.raises(DeploymentFailed):
                await update
            assert shop.pool.size == left
            await asyncio.sleep(2 * SHRINK_S)
            assert shop.sizes == (1, 1)
            shop.go(callers)

    run(story(), 2 * HOUR_S)


def test_the_controller_passes_on_which_counts_were_asked_for() -> None:
    async def story() -> None:
        with FakeHost() as host:
            database, roster = SqliteFile(":memory:", RECORDS), FleetRoster()
            store = Store(database, time.time)
            endpoint = EndpointRecord("shop", "arn", 1.0, 1.0, EndpointStatus.IN_SERVICE, "c", (TO_ZERO,))
            told = replace(endpoint, pending_variants=(TO_ZERO,), pending_told=("a",))
            store.add_endpoint(replace(told, status=move(endpoint.status, EndpointEvent.UPDATE)))
            factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), time.time)
            controller = Controller(store, roster, factory, time.time, lambda name: asyncio.sleep(0))
            await controller.start()
            await reached(
                lambda: store.endpoint("shop") == replace(endpoint, modified_s=store.endpoints()[0].modified_s),
                look_s=0.01,
            )
            assert roster.instance_counts("shop") == {"a": 1}
            await controller.close()
            database.close()

    asyncio.run(story())
