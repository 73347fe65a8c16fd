"""What the controller makes of the status of an endpoint's record."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.resource_records import Container, EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.fleet.controller import Controller, wanted_variants
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.timing import InstanceTiming
from torpor_endpoint.host import LaunchSpec
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

OLD = Variant("old", "m", (Container("torpor"),))
NEW = replace(OLD, name="new")
SHOP = EndpointRecord("shop", "arn", 1.0, 1.0, EndpointStatus.IN_SERVICE, "c", (OLD,), pending_variants=(NEW,))
IMPATIENT = InstanceTiming(restart_pauses_s=(0.001,), end_pauses_s=(0.001,))


class Shop:
    """A controller of one endpoint, and its record."""

    def __init__(self, host: FakeHost, database: SqliteFile, status: EndpointStatus) -> None:
        self.host = host
        self.store = Store(database, time.time)
        self.store.add_endpoint(replace(SHOP, status=status, pending_variants=None))
        factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), time.time, timing=IMPATIENT)
        self.roster = FleetRoster()
        self.controller = Controller(self.store, self.roster, factory, time.time, lambda name: asyncio.sleep(0))

    @property
    def record(self) -> EndpointRecord | None:
        return self.store.endpoint("shop")

    def delete(self) -> None:
        record = self.record
        assert record is not None
        self.store.replace_endpoint(replace(record, status=EndpointStatus.DELETING), expected_status=record.status)
        self.controller.changed("shop")


def told(status: EndpointStatus, story: Callable[[Shop], Awaitable[None]]) -> None:
    async def whole() -> None:
        with FakeHost() as host:
            database = SqliteFile(":memory:", RECORDS)
            shop = Shop(host, database, status)
            await shop.controller.start()
            await story(shop)
            await shop.controller.close()
            database.close()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


def test_a_deleted_endpoint_has_its_record_until_the_host_has_ended_its_instances() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: bool(shop.host.living))
        shop.host.away = True
        shop.delete()
        await reached(lambda: shop.host.refusals > 3)
        assert (shop.record is None, len(shop.host.living)) == (False, 1)
        shop.host.away = False
        await reached(lambda: shop.record is None)
        assert shop.host.living == {}

    told(EndpointStatus.IN_SERVICE, story)


def test_a_failed_creation_is_recorded_though_the_host_cannot_end_its_instances() -> None:
    async def story(shop: Shop) -> None:
        await reached(lambda: shop.record is not None and shop.record.status is EndpointStatus.FAILED)
        assert "there is no room" in str(shop.record)
        shop.host.away = False

    async def away(shop: Shop) -> None:
        shop.host.away, shop.host.launches_to_fail = True, 1000
        await story(shop)

    told(EndpointStatus.CREATING, away)


@pytest.mark.parametrize(
    ("status", "names"),
    [
        (EndpointStatus.CREATING, ["old"]),
        (EndpointStatus.IN_SERVICE, ["old"]),
        (EndpointStatus.UPDATING, ["old", "new"]),
        (EndpointStatus.ROLLING_BACK, ["old"]),
        (EndpointStatus.DELETING, []),
        (EndpointStatus.FAILED, []),
    ],
)
def test_what_an_endpoint_does_not_serve_any_more_ends_with_the_next_start(
    status: EndpointStatus, names: list[str]
) -> None:
    assert [variant.name for variant in wanted_variants(replace(SHOP, status=status))] == names
