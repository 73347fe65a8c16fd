"""Copies of inference components: placed where there is room, on instances that come and go with them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.packing.copy_placement import NOT_ENOUGH
from torpor_endpoint.core.packing.scale_in_plans import IDLE_S
from torpor_endpoint.core.resource_records import Container, CopyNeeds, ScaleIn, ScaleInStrategy, Variant
from torpor_endpoint.fleet.components.component_deployment import ComponentDeployment, ComponentFailed
from torpor_endpoint.fleet.components.component_pool import ComponentPool
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.sizer import Sizer
from torpor_endpoint.host import LaunchSpec

FIXED = Variant("v", "", (), instance_type="ml.m5.large", instance_count=1)  # 2 vCPUs, 8 GiB
MANAGED = replace(FIXED, instances_min=0, instances_max=2)


def component(name: str, copies: int, memory_mib: int = 3000, *, image: str = "torpor", cores: float = 0.0) -> Variant:
    needs = CopyNeeds(name, "v", memory_mib, cores=cores)
    variant = Variant(
        f"component.{name}",
        "m",
        (Container(image),),
        instance_type="ml.m5.large",
        instance_count=copies,
        startup_timeout_s=20.0,
        copies=needs,
    )
    return variant if copies else replace(variant, instances_min=0, instances_max=1)


class Shop:
    """An endpoint for components, on a fake host."""

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        self.lives: dict[str, InstanceLife] = {}
        self.sizes: list[int] = []
        self.live = FleetEndpoint("shop", "arn")
        self.roster = FleetRoster()
        self.roster.serve(self.live)
        self.clock = asyncio.get_running_loop().time
        factory = InstanceFactory(
            host,
            lambda variant, slot: LaunchSpec(slot),
            time.time,
            lived=lambda life: self.lives.update({life.instance: life}),
        )
        self.variants = Deployment(self.live, factory)
        self.components = ComponentDeployment(self.live, factory, lambda variant, size: self.sizes.append(size))
        self.sizer = Sizer(self.roster, self.clock)

    def copies(self, name: str) -> InstancePool:
        return self.live.components[name]

    @property
    def instances(self) -> int:
        return len(self.live.pools["v"].ready)

    @property
    def ready(self) -> dict[str, int]:
        return {name: len(pool.ready) for name, pool in self.live.components.items()}

    async def look(self) -> None:
        while True:
            self.components.look(self.clock())
            await asyncio.sleep(1.0)


@asynccontextmanager
async def opened(capacity: Variant) -> AsyncIterator[Shop]:
    with FakeHost() as host:
        shop = Shop(host)
        await shop.variants.become((capacity,))
        beside = [asyncio.create_task(shop.sizer.run()), asyncio.create_task(shop.look())]
        yield shop
        for one in beside:
            one.cancel()
        await shop.variants.close("the test ends")
        assert host.living == {}
        assert all(life.stopped_s is not None for life in shop.lives.values())


def test_two_components_share_an_instance_and_a_third_copy_that_does_not_fit_is_refused() -> None:
    async def story() -> None:
        async with opened(FIXED) as shop:
            assert shop.instances == 1
            await shop.components.become(component("a", 1))
            await shop.components.become(component("b", 1))
            assert shop.ready == {"a": 1, "b": 1}
            with pytest.raises(ComponentFailed, match=NOT_ENOUGH):
                await shop.components.become(component("c", 1))
            with pytest.raises(ComponentFailed, match=NOT_ENOUGH):
                await shop.components.become(component("a", 2))
            assert shop.ready == {"a": 1, "b": 1}
            await shop.components.drop("component.b", "deleted")
            await shop.components.become(component("a", 2))
            assert (shop.ready, shop.instances) == ({"a": 2}, 1)

    run(story())


def test_cores_are_set_aside_as_memory_is() -> None:
    async def story() -> None:
        async with opened(FIXED) as shop:
            await shop.components.become(component("a", 1, 128, cores=1.5))
            with pytest.raises(ComponentFailed, match=NOT_ENOUGH):
                await shop.components.become(component("b", 1, 128, cores=1.0))
            await shop.components.become(component("b", 1, 128, cores=0.5))
            assert shop.ready == {"a": 1, "b": 1}

    run(story())


def test_instances_come_with_the_copies_that_need_them_and_leave_ten_minutes_after_the_last() -> None:
    async def story() -> None:
        async with opened(MANAGED) as shop:
            await shop.components.become(component("a", 4))
            assert (shop.ready, shop.instances, shop.sizes) == ({"a": 4}, 2, [2])
            with pytest.raises(ComponentFailed, match=NOT_ENOUGH):
                await shop.components.become(component("a", 5))
            await shop.components.become(component("a", 0))
            await asyncio.sleep(IDLE_S - 5.0)
            assert (shop.ready, shop.instances) == ({"a": 0}, 2)
            await asyncio.sleep(10.0)
            assert (shop.instances, shop.live.pools["v"].size, shop.sizes) == (0, 0, [2, 1, 0])
            paid = [life for life in shop.lives.values() if life.size]
            assert [life.variant for life in paid] == ["v", "v"]  # the copies cost nothing of their own

    run(story(), 2 * 3600.0)


def test_a_request_wakes_a_component_without_copies_and_waits_for_one() -> None:
    async def story() -> None:
        async with opened(MANAGED) as shop:
            await shop.components.become(component("a", 0))
            await asyncio.sleep(IDLE_S + 5.0)
            assert shop.instances == 0
            pool = shop.copies("a")
            pool.wake()
            await pool.until(lambda: bool(pool.ready))
            assert (shop.ready, shop.instances) == ({"a": 1}, 1)
            await asyncio.sleep(1200.0 + 60.0 + IDLE_S + 60.0)  # TORPOR_IDLE_SECONDS, then the instance
            assert (shop.ready, shop.instances) == ({"a": 0}, 0)

    run(story(), 2 * 3600.0)


def test_a_wake_that_finds_no_room_tells_those_who_wait() -> None:
    async def story() -> None:
        async with opened(FIXED) as shop:
            await shop.components.become(component("a", 2))
            await shop.components.become(component("b", 0))
            shop.copies("b").wake()
            assert shop.copies("b").hopeless
            assert shop.copies("b").trouble is not None
            assert shop.copies("b").trouble.reason == NOT_ENOUGH  # type: ignore[union-attr]

    run(story())


def test_a_new_specification_starts_its_copies_before_the_old_ones_leave() -> None:
    async def story() -> None:
        async with opened(FIXED) as shop:
            await shop.components.become(component("a", 1))
            (before,) = shop.copies("a").incarnations
            before.took()
            changed = component("a", 1)
            changed = replace(changed, containers=(Container("torpor", environment={"A": "1"}),))
            await shop.components.become(changed)
            (after,) = shop.copies("a").incarnations
            assert after.slot.number != before.slot.number
            assert before.in_flight == 1  # it drains
            before.answered()
            await asyncio.sleep(40.0)
            with pytest.raises(ComponentFailed, match=NOT_ENOUGH):
                await shop.components.become(component("b", 2))  # one place is free again, and no more

    run(story())


def test_an_update_of_the_endpoint_leaves_its_components_alone() -> None:
    async def story() -> None:
        async with opened(FIXED) as shop:
            await shop.components.become(component("a", 1))
            pool = shop.copies("a")
            await shop.variants.become((replace(FIXED, instance_count=2),))
            assert shop.copies("a") is pool
            assert (shop.instances, shop.ready) == (2, {"a": 1})

    run(story())


@pytest.mark.parametrize("managed", [False, True])
def test_copies_move_from_instances_that_an_update_takes_away(managed: bool) -> None:
    async def story() -> None:
        sized = replace(MANAGED, instances_min=2, instances_max=3, instance_count=3) if managed else FIXED
        async with opened(replace(sized, instance_count=3)) as shop:
            for name in ("a", "b", "c"):
                await shop.components.become(component(name, 1))
            (moves,) = shop.copies("c").incarnations
            moves.took()
            fewer = replace(MANAGED, instances_min=1) if managed else replace(FIXED, instance_count=2)
            await shop.variants.become((fewer,))
            assert shop.ready == {"a": 1, "b": 1, "c": 1}
            await asyncio.sleep(20.0)
            assert shop.ready == {"a": 1, "b": 1, "c": 1}
            assert (shop.instances, moves.in_flight) == (3, 1)  # what the copy began before, it finishes in its place
            shop.copies("c").released(moves)
            await asyncio.sleep(5.0)
            assert (shop.ready, shop.instances) == ({"a": 1, "b": 1, "c": 1}, 2)
            assert shop.sizes == ([2] if managed else [])

    run(story())


def test_an_empty_instance_leaves_before_one_with_copies_whatever_their_numbers() -> None:
    async def story() -> None:
        async with opened(replace(FIXED, instance_count=2)) as shop:
            for name in ("a", "b"):
                await shop.components.become(component(name, 1))
            await shop.components.drop("component.a", "deleted")
            (present,) = shop.copies("b").incarnations
            await shop.variants.become((FIXED,))
            await asyncio.sleep(5.0)
            assert (shop.instances, shop.copies("b").incarnations) == (1, [present])
            assert shop.live.pools["v"].numbers == [1]

    run(story())


def test_an_instance_whose_copies_have_no_room_elsewhere_stays() -> None:
    async def story() -> None:
        async with opened(replace(FIXED, instance_count=2)) as shop:
            await shop.components.become(component("a", 3))
            await shop.variants.become((FIXED,))
            await asyncio.sleep(120.0)
            assert (shop.instances, shop.ready) == (2, {"a": 3})
            await shop.components.become(component("a", 2))
            await asyncio.sleep(60.0)
            assert (shop.instances, shop.ready) == (1, {"a": 2})

    run(story())


def test_copies_move_to_fewer_instances_without_a_request_that_fails() -> None:
    async def story() -> None:
        scale_in = ScaleIn(ScaleInStrategy.CONSOLIDATION, step_max=1, cooldown_s=300.0)
        async with opened(replace(MANAGED, scale_in=scale_in)) as shop:
            await shop.components.become(component("a", 2))
            await shop.components.become(component("b", 1))
            assert (shop.ready, shop.instances) == ({"a": 2, "b": 1}, 2)
            await shop.components.become(component("a", 1))  # one copy each on two instances
            (alone,) = shop.copies("b").incarnations
            alone.took()
            await asyncio.sleep(290.0)
            assert shop.copies("b").incarnations == [alone]
            await asyncio.sleep(20.0)
            moved = {name: shop.copies(name).incarnations for name in ("a", "b")}
            assert [len(one) for one in moved.values()] == [1, 1]  # each had one that took requests all the time
            assert alone.in_flight == 1  # what it had began before, it finishes
            alone.answered()
            await asyncio.sleep(IDLE_S + 60.0)
            assert (shop.ready, shop.instances) == ({"a": 1, "b": 1}, 1)

    run(story(), 2 * 3600.0)


def test_a_move_whose_successor_does_not_start_leaves_the_copy_where_it_is() -> None:
    async def story() -> None:
        async with opened(replace(FIXED, instance_count=2)) as shop:
            await shop.components.become(component("a", 1))
            pool = shop.copies("a")
            assert isinstance(pool, ComponentPool)
            (present,) = pool.incarnations
            shop.host.launches_to_fail = 1_000
            assert not await pool.move(present.slot.number, 1)
            shop.host.launches_to_fail = 0
            assert pool.incarnations == [present]
            assert not await pool.move(present.slot.number, 7)  # there is no such instance
            assert await pool.move(present.slot.number, 1)
            assert [one.slot.number for one in pool.incarnations] != [present.slot.number]

    run(story())


def test_copies_wait_for_those_that_leave_to_give_their_room_back() -> None:
    async def story() -> None:
        async with opened(FIXED) as shop:
            await shop.components.become(component("a", 2))
            held = shop.copies("a").incarnations
            for one in held:
                one.took()
            await shop.components.become(component("a", 0))
            growing = asyncio.create_task(shop.components.become(component("b", 2)))
            await asyncio.sleep(1.0)
            shop.copies("a").wake()  # a request waits as well, behind it
            await asyncio.sleep(10.0)
            assert (growing.done(), shop.copies("a").size, shop.copies("a").hopeless) == (False, 1, False)
            for one in held:
                shop.copies("a").released(one)
            await growing
            assert shop.ready["b"] == 2
            await asyncio.sleep(1.0)
            assert shop.copies("a").hopeless  # nothing leaves any more, and there is no room

    run(story())
