"""What the controller makes of the status of an inference component's record, and of a restart."""

import asyncio
import time
from dataclasses import replace

import pytest

from tests.endpoint.fleet.components.helpers.component_shop import (
    CAPACITY,
    NEEDS,
    ONE,
    SHOP,
    SPECIFICATION,
    Shop,
    told,
)
from tests.endpoint.helpers.fake_host import FakeHost
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.components.component_records import (
    ComponentSpecification,
    ComponentStatus,
    CopyResources,
    PlacementStrategy,
)
from torpor_endpoint.core.resource_records import Container, EndpointStatus
from torpor_endpoint.fleet.components.component_controller import served_variants
from torpor_endpoint.host import Slot
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store


def test_a_new_component_is_in_service_once_its_copies_are_ready() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert shop.ready == 2
        shop.change(status=ComponentStatus.UPDATING, pending_copies=0)
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert (shop.ready, shop.record and shop.record.copies) == (0, 0)
        shop.change(status=ComponentStatus.DELETING)
        await reached(lambda: shop.record is None)
        assert shop.forgotten == ["one"]

    told(replace(ONE, status=ComponentStatus.CREATING), story)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"specifications": (replace(SPECIFICATION, resources=CopyResources(9000)),)}, "There is not enough hardware"),
        ({"copies": 5}, "There is not enough hardware resources on the instances"),
        ({"variant_name": "w"}, "Endpoint shop has no production variant w"),
        ({"endpoint_name": "gone"}, "The endpoint gone was deleted"),
        ({"specifications": (replace(SPECIFICATION, containers=(Container("strange/image"),)),)}, "The image strange"),
        ({"specifications": (replace(SPECIFICATION, instance_type="ml.m5.xlarge"),)}, "Inference component one has no"),
        ({"specifications": (replace(SPECIFICATION, resources=None, base_name="b"),)}, "Inference component b, of whi"),
    ],
)
def test_one_that_cannot_have_its_copies_fails_and_leaves_nothing(changed: dict[str, object], reason: str) -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.status is ComponentStatus.FAILED)
        assert shop.record is not None
        assert (shop.record.failure_reason or "").startswith(reason)
        await reached(lambda: shop.host.living == {})
        shop.change(status=ComponentStatus.DELETING)
        await reached(lambda: shop.record is None)

    told(replace(ONE, status=ComponentStatus.CREATING, **changed), story)  # type: ignore[arg-type]


def test_an_update_that_fails_leaves_the_copies_before_it_in_service() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.ready == 2)
        shop.change(status=ComponentStatus.UPDATING, pending_copies=9)
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert shop.record is not None
        assert (shop.ready, shop.record.copies, shop.record.pending_copies) == (2, 2, None)
        assert (shop.record.failure_reason or "").startswith("There is not enough hardware")

    told(ONE, story)


def test_a_restart_adopts_the_copies_that_run_and_ends_what_was_not_finished() -> None:
    slots = tuple(Slot("shop", "component.one", number) for number in (0, 3))

    async def story(shop: Shop) -> None:
        before = {slot: one.launched.incarnation for slot, one in shop.host.living.items()}
        await reached(lambda: shop.ready == 2)
        assert {slot: one.launched.incarnation for slot, one in shop.host.living.items()} == before
        assert served_variants(shop.store) == {("shop", "v"), ("shop", "component.one")}

    told(ONE, story, slots)


LORA = ComponentSpecification(base_name="one", adapter_url="s3://b/lora.tar.gz")


@pytest.mark.parametrize("status", [ComponentStatus.CREATING, ComponentStatus.IN_SERVICE])
def test_the_copies_of_a_base_serve_its_adapters_until_these_are_deleted(status: ComponentStatus) -> None:
    lora = replace(ONE, name="lora", arn="arn-lora", status=status, specifications=(LORA,), copies=0)

    async def story(shop: Shop) -> None:
        live = shop.roster.get("shop")
        assert live is not None
        await reached(lambda: live.adapters == {"lora": "one"} and shop.ready == 2)
        await reached(lambda: (shop.store.component("lora") or lora).status is ComponentStatus.IN_SERVICE)
        stored = shop.store.component("lora") or lora
        pool = live.components["one"]
        pools = live.pools
        changed = replace(SPECIFICATION, containers=(Container("torpor", environment={"A": "1"}),))
        shop.change(status=ComponentStatus.UPDATING, pending_specifications=(changed,), pending_copies=1)
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert live.components["one"] is not pool
        assert live.adapters == {"lora": "one"}
        moved = replace(LORA, adapter_url="s3://b/newer.tar.gz")
        updating = replace(stored, status=ComponentStatus.UPDATING, pending_specifications=(moved,))
        shop.store.replace_component(updating, expected_status=stored.status)
        shop.components.changed("lora")
        newer = (("lora", "s3://b/newer.tar.gz"),)
        await reached(lambda: (live.components["one"].variant.copies or NEEDS).adapters == newer)
        assert live.pools is not pools  # who remembers a way finds it out anew
        await reached(lambda: (shop.store.component("lora") or stored).specifications == (moved,))
        await reached(lambda: (shop.store.component("lora") or stored).status is ComponentStatus.IN_SERVICE)
        served = shop.store.component("lora") or stored
        shop.store.replace_component(replace(served, status=ComponentStatus.DELETING), expected_status=served.status)
        shop.components.changed("lora")
        await reached(lambda: shop.store.component("lora") is None)
        assert live.adapters == {}
        assert shop.ready == 1

    told(ONE, story, others=(lora,))


def test_an_adapter_that_comes_while_its_base_is_updated_is_served_after_that() -> None:
    lora = replace(ONE, name="lora", arn="arn-lora", status=ComponentStatus.CREATING, specifications=(LORA,), copies=0)

    async def story(shop: Shop) -> None:
        await reached(lambda: shop.ready == 2)
        live = shop.roster.get("shop")
        assert live is not None
        shop.host.launches_to_fail = 1_000_000
        changed = replace(SPECIFICATION, containers=(Container("torpor", environment={"A": "1"}),))
        shop.change(status=ComponentStatus.UPDATING, pending_specifications=(changed,), pending_copies=1)
        await reached(lambda: len(shop.host.tries_s) > 2)
        shop.store.add_component(lora)
        shop.components.changed("lora")
        await reached(lambda: live.adapters == {"lora": "one"})
        shop.host.launches_to_fail = 0
        await reached(lambda: shop.status is ComponentStatus.IN_SERVICE)
        assert live.components["one"].variant.containers == changed.containers
        assert live.adapters == {"lora": "one"}

    told(ONE, story)


def test_an_endpoint_that_is_deleted_ends_all_copies_also_those_that_are_to_serve() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.ready == 2)
        shop.host.launches_to_fail = 1_000_000
        changed = replace(SPECIFICATION, containers=(Container("torpor", environment={"A": "1"}),))
        shop.change(status=ComponentStatus.UPDATING, pending_specifications=(changed,), pending_copies=1)
        await reached(lambda: len(shop.host.tries_s) > 2)
        shop.delete_endpoint()
        await reached(lambda: shop.store.endpoint("shop") is None)
        assert shop.host.living == {}
        await reached(lambda: shop.status is not ComponentStatus.UPDATING)
        shop.change(status=ComponentStatus.DELETING)
        await reached(lambda: shop.record is None)

    told(ONE, story)


def test_copies_follow_an_update_of_their_endpoint_to_another_instance_type() -> None:
    larger = replace(CAPACITY, instance_type="ml.m5.xlarge")

    async def story(shop: Shop) -> None:
        await reached(lambda: shop.ready == 2)
        before = set(shop.host.living)
        shop.update_endpoint(larger)
        live = shop.roster.get("shop")
        assert live is not None
        await reached(lambda: live.production["v"].variant.instance_type == "ml.m5.xlarge")
        assert shop.ready == 2
        shop.components.look(1.0)
        await reached(lambda: live.components["one"].variant.instance_type == "ml.m5.xlarge")
        await reached(lambda: len(shop.host.living) == 2)
        assert shop.ready == 2
        assert before.isdisjoint(shop.host.living)
        shop.components.look(2.0)
        assert (shop.components.under_way(), shop.status) == (None, ComponentStatus.IN_SERVICE)

    told(ONE, story)


def test_every_size_that_instances_come_to_is_recorded_however_soon_they_follow() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.ready == 2)
        for size in (2, 3, 2, 3, 4):
            shop.controller.resized("shop", "v", size)
        await reached(lambda: shop.endpoint.status is EndpointStatus.UPDATING)
        shop.controller.resized("shop", "v", 5)
        await reached(lambda: shop.endpoint.status is EndpointStatus.IN_SERVICE and shop.controller.under_way() is None)
        assert shop.endpoint.variants[0].instance_count == 5

    told(ONE, story)


@pytest.mark.parametrize("status", [ComponentStatus.IN_SERVICE, ComponentStatus.CREATING, ComponentStatus.UPDATING])
@pytest.mark.parametrize("gone", [False, True])
def test_a_restart_in_the_deletion_of_an_endpoint_leaves_no_copy_and_no_component_in_service(
    status: ComponentStatus, gone: bool
) -> None:
    async def whole() -> None:
        with FakeHost() as host:
            database = SqliteFile(":memory:", RECORDS)
            shop = Shop(host, database, replace(ONE, status=status))
            deleting = replace(SHOP, status=EndpointStatus.DELETING)  # the record is written, and the process ended
            shop.store.replace_endpoint(deleting, expected_status=SHOP.status)
            if gone:
                shop.store.remove_endpoint("shop")
                shop.store.add_endpoint(replace(SHOP, created_s=2.0))  # another one of its name
            assert ("shop", "component.one") not in served_variants(shop.store)
            await shop.controller.start()
            await shop.components.start()
            await reached(lambda: shop.status is ComponentStatus.FAILED)
            assert "The endpoint shop was deleted" in ((shop.record and shop.record.failure_reason) or "")
            if not gone:
                await reached(lambda: shop.store.endpoint("shop") is None)
            shop.change(status=ComponentStatus.DELETING)
            await reached(lambda: shop.record is None)
            await shop.components.close()
            await shop.controller.close()
            assert host.living == {}
            database.close()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


@pytest.mark.parametrize("status", [ComponentStatus.DELETING, ComponentStatus.FAILED])
def test_a_restart_keeps_no_copy_of_a_component_that_is_deleted_or_failed(status: ComponentStatus) -> None:
    database = SqliteFile(":memory:", RECORDS)
    store = Store(database, time.time)
    store.add_endpoint(SHOP)
    store.add_component(replace(ONE, status=status))
    assert served_variants(store) == {("shop", "v")}
    database.close()


def test_a_restart_places_the_largest_copies_first() -> None:
    small = replace(SPECIFICATION, resources=CopyResources(2000), strategy=PlacementStrategy.BINPACK)

    large = replace(SPECIFICATION, resources=CopyResources(4500), strategy=PlacementStrategy.BINPACK)
    others = tuple(replace(ONE, name=name, specifications=(small,), copies=1) for name in ("a", "b"))
    all_of_them = {"one": 2, "a": 1, "b": 1}

    async def story(shop: Shop) -> None:
        live = shop.roster.get("shop")
        assert live is not None
        await reached(lambda: {name: len(pool.ready) for name, pool in live.components.items()} == all_of_them)

    told(replace(ONE, specifications=(large,)), story, others=others)
