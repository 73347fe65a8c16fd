"""An endpoint for inference components on a fake host, with the controllers of both and their records."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from tests.endpoint.helpers.fake_host import FakeHost
from tests.helpers.waiting import PATIENCE_S
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.components.component_records import (
    ComponentRecord,
    ComponentSpecification,
    ComponentStatus,
    CopyResources,
)
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.resource_records import Container, CopyNeeds, EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.fleet.components.component_controller import ComponentController
from torpor_endpoint.fleet.controller import Controller
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.timing import InstanceTiming
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

CAPACITY = Variant("v", "", (), instance_type="ml.m5.large", instance_count=1, instances_min=0, instances_max=2)
SHOP = EndpointRecord("shop", "arn", 1.0, 1.0, EndpointStatus.IN_SERVICE, "c", (CAPACITY,))
SPECIFICATION = ComponentSpecification((Container("torpor"),), resources=CopyResources(3000), startup_timeout_s=20.0)
ONE = ComponentRecord(
    "one", "arn-one", 1.0, 1.0, ComponentStatus.IN_SERVICE, "shop", "arn", 1.0, "v", (SPECIFICATION,), copies=2
)
NEEDS = CopyNeeds("one", "v", 3000)
TIMING = InstanceTiming(restart_pauses_s=(0.001,), end_pauses_s=(0.001,), grace_s=0.2)


class Shop:
    """The controllers of one endpoint and its component, and their records."""

    def __init__(
        self, host: FakeHost, database: SqliteFile, component: ComponentRecord, capacity: Variant = CAPACITY
    ) -> None:
        self.host = host
        self.lives: dict[str, InstanceLife] = {}
        self.store = Store(database, time.time)
        self.store.add_endpoint(replace(SHOP, variants=(capacity,)))
        self.store.add_component(component)
        self.forgotten: list[str] = []
        factory = InstanceFactory(
            host,
            lambda variant, slot: LaunchSpec(slot),
            time.time,
            lived=lambda life: self.lives.update({life.instance: life}),
            timing=TIMING,
        )
        self.roster = FleetRoster()
        self.controller = Controller(self.store, self.roster, factory, time.time, self._endpoint_deleted)
        self.components = ComponentController(
            self.store,
            self.roster,
            factory,
            time.time,
            self._component_deleted,
            self.controller.resized,
            strict=False,
        )

    async def _component_deleted(self, component: ComponentRecord) -> None:
        self.forgotten.append(component.name)

    async def _endpoint_deleted(self, name: str) -> None:
        await self.components.endpoint_deleted(name)

    @property
    def record(self) -> ComponentRecord | None:
        return self.store.component("one")

    @property
    def status(self) -> ComponentStatus | None:
        return None if self.record is None else self.record.status

    @property
    def ready(self) -> int:
        live = self.roster.get("shop")
        pool = None if live is None else live.components.get("one")
        return 0 if pool is None else len(pool.ready)

    def change(self, **members: object) -> None:
        record = self.record
        assert record is not None
        self.store.replace_component(replace(record, **members), expected_status=record.status)  # type: ignore[arg-type]
        self.components.changed("one")

    @property
    def endpoint(self) -> EndpointRecord:
        found = self.store.endpoint("shop")
        assert found is not None
        return found

    def update_endpoint(self, variant: Variant) -> None:
        updated = replace(self.endpoint, status=EndpointStatus.UPDATING, pending_variants=(variant,))
        self.store.replace_endpoint(updated, expected_status=self.endpoint.status)
        self.controller.changed("shop")

    def delete_endpoint(self) -> None:
        record = self.store.endpoint("shop")
        assert record is not None
        self.store.replace_endpoint(replace(record, status=EndpointStatus.DELETING), expected_status=record.status)
        self.controller.changed("shop")


def told(
    component: ComponentRecord,
    story: Callable[[Shop], Awaitable[None]],
    left: tuple[Slot, ...] = (),
    others: tuple[ComponentRecord, ...] = (),
    *,
    capacity: Variant = CAPACITY,
) -> None:
    async def whole() -> None:
        with FakeHost() as host:
            for slot in left:
                await host.launch(LaunchSpec(slot))
                host.left.add(slot)
            database = SqliteFile(":memory:", RECORDS)
            shop = Shop(host, database, component, capacity)
            for other in others:
                shop.store.add_component(other)
            await shop.controller.start()
            await shop.components.start()
            await story(shop)
            await shop.components.close()
            await shop.controller.close()
            assert host.living == {}
            database.close()

    asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))
