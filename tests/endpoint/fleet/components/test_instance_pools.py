"""Copies on a variant with InstancePools: on instances of the pool with the highest priority on whose type they fit."""

from dataclasses import replace

import pytest

from tests.endpoint.fleet.components.helpers.component_shop import CAPACITY, ONE, SPECIFICATION, Shop, told
from tests.helpers.waiting import reached
from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentStatus, CopyResources
from torpor_endpoint.core.resource_records import EndpointStatus, InstanceTypePool
from torpor_endpoint.dashboard.snapshot import snapshot

LARGE, XLARGE, BIG = "ml.m5.large", "ml.m5.xlarge", "ml.m5.4xlarge"  # 8, 16 and 64 GiB
POOLS = tuple(InstanceTypePool(kind, priority) for priority, kind in enumerate((LARGE, XLARGE, BIG), start=1))
POOLED = replace(CAPACITY, instances_min=1, pools=POOLS)
FOUR = replace(SPECIFICATION, resources=CopyResources(11_000))  # fits on XLARGE first


def named(name: str, memory_mib: int, copies: int = 1) -> ComponentRecord:
    specification = replace(SPECIFICATION, resources=CopyResources(memory_mib))
    return replace(ONE, name=name, arn=f"arn-{name}", specifications=(specification,), copies=copies)


def placed(shop: Shop, name: str = "one") -> dict[str, int]:
    record = shop.store.component(name)
    assert record is not None
    return {kind: count for kind, count in shop.roster.copy_counts(record).items() if count}


def instances(shop: Shop) -> dict[str, int]:
    return shop.roster.type_counts("shop")["v"]


def paid(shop: Shop) -> list[str]:
    """The types of the instances that are paid for now."""
    return sorted(life.size for life in shop.lives.values() if life.size and life.stopped_s is None)


def test_a_copy_that_fits_on_no_instance_of_the_first_pool_brings_one_of_the_next() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert (placed(shop), instances(shop), paid(shop)) == ({XLARGE: 1}, {LARGE: 1, XLARGE: 1}, [LARGE, XLARGE])
        shop.change(status=ComponentStatus.UPDATING, pending_copies=2)  # the empty instance makes way
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert (placed(shop), paid(shop)) == ({XLARGE: 2}, [XLARGE, XLARGE])
        shop.change(status=ComponentStatus.UPDATING, pending_copies=3)  # no more than two instances may come
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert shop.record is not None
        assert "not enough hardware" in (shop.record.failure_reason or "")
        assert (placed(shop), paid(shop)) == ({XLARGE: 2}, [XLARGE, XLARGE])

    one = replace(ONE, status=ComponentStatus.CREATING, specifications=(FOUR,), copies=1)
    told(one, story, capacity=POOLED)


def test_a_smaller_component_has_the_room_that_is_left_on_a_larger_instance() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        small = replace(named("small", 3000, 3), status=ComponentStatus.CREATING)
        shop.store.add_component(small)
        shop.components.changed("small")
        await reached(lambda: placed(shop, "small") != {} and sum(placed(shop, "small").values()) == 3)
        assert (placed(shop, "small"), paid(shop)) == ({LARGE: 2, XLARGE: 1}, [LARGE, XLARGE])

    one = replace(ONE, status=ComponentStatus.CREATING, specifications=(FOUR,), copies=1)
    told(one, story, capacity=POOLED)


def test_copies_with_a_specification_for_each_type_are_only_where_theirs_is_for() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert (placed(shop), paid(shop)) == ({XLARGE: 3}, [XLARGE, XLARGE])

    each = {LARGE: 9000, XLARGE: 7000, BIG: 7000}
    specifications = tuple(
        replace(SPECIFICATION, instance_type=kind, resources=CopyResources(memory)) for kind, memory in each.items()
    )
    one = replace(ONE, status=ComponentStatus.CREATING, specifications=specifications, copies=3)
    told(one, story, capacity=POOLED)


def test_after_a_restart_every_component_has_its_place_again() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.ready == 2 and placed(shop, "large") != {})
        assert (placed(shop), placed(shop, "large")) == ({LARGE: 1, XLARGE: 1}, {XLARGE: 1})
        assert paid(shop) == [LARGE, XLARGE]

    told(named("one", 3000, 2), story, others=(named("large", 11_000),), capacity=replace(POOLED, instance_count=2))


def test_instances_whose_number_is_fixed_are_all_of_the_first_pool() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.FAILED)
        assert paid(shop) == [LARGE]

    fixed = replace(POOLED, instances_min=None, instances_max=None)
    told(replace(ONE, status=ComponentStatus.CREATING, specifications=(FOUR,)), story, capacity=fixed)


@pytest.mark.parametrize("pools", [POOLS[:1] + POOLS[2:], POOLS[1:]], ids=["its pool goes", "the first pool goes"])
def test_copies_follow_an_update_of_the_pools(pools: tuple[InstanceTypePool, ...]) -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        await reached(lambda: shop.endpoint.variants[0].instance_count == 2)  # as many as the copies have brought
        await reached(lambda: shop.endpoint.status is EndpointStatus.IN_SERVICE)
        before = {life.instance for life in shop.lives.values() if life.placed_on}
        shop.update_endpoint(replace(POOLED, instance_type=pools[0].instance_type, pools=pools, instances_max=3))
        await reached(lambda: shop.endpoint.status is EndpointStatus.IN_SERVICE)
        kind = XLARGE if pools[0].instance_type == XLARGE else BIG

        def followed() -> bool:
            shop.components.look(0.0)
            living = {life.instance for life in shop.lives.values() if life.placed_on and life.stopped_s is None}
            return bool(living) and living.isdisjoint(before) and placed(shop) == {kind: 1}

        await reached(followed)

    one = replace(ONE, status=ComponentStatus.CREATING, specifications=(FOUR,), copies=1)
    told(one, story, capacity=POOLED)


def test_the_dashboard_shows_each_copy_where_it_is_and_the_status_of_its_component() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        found = snapshot([], shop.roster, {}, {}, {}, components={"one": "InService"})
        below, one = found["variants"]["shop/v"], found["variants"]["shop/component.one"]
        assert (below["capacity"], "component" in below) == (True, False)
        assert (one["component"], one["status"], one["ready"], one["wanted"]) == ("one", "InService", 1, 1)
        by_variant = {each["variant"]: each for each in found["instances"].values()}
        assert by_variant["component.one"]["place"] == f"v/1, {XLARGE}"
        assert sorted(each["type"] for each in found["instances"].values() if "type" in each) == [LARGE, XLARGE]

    one = replace(ONE, status=ComponentStatus.CREATING, specifications=(FOUR,), copies=1)
    told(one, story, capacity=POOLED)


def test_no_instance_comes_for_a_copy_once_the_endpoint_is_leaving() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        live = shop.roster.get("shop")
        assert live is not None
        pool, capacity = live.components["one"], live.pools["v"]
        await capacity.close("the endpoint is deleted")
        pool.scale(3, "somebody asks for more")
        assert (capacity.size, pool.size) == (0, 1)

    one = replace(ONE, status=ComponentStatus.CREATING, specifications=(FOUR,), copies=1)
    told(one, story, capacity=POOLED)
