"""Automatic scaling of an inference component's copies: what is read of it, and how a change is carried out."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.autoscaling.samples import VariantLoad
from torpor_endpoint.core.components.component_lifecycle import ComponentEvent, component_after
from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentSpecification, ComponentStatus
from torpor_endpoint.core.resource_records import Container, CopyNeeds, Variant
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.host import LaunchSpec
from torpor_endpoint.services.autoscaling.acting.change import Busy, NotApplied
from torpor_endpoint.services.autoscaling.acting.fleet_loads import FleetLoads
from torpor_endpoint.services.autoscaling.acting.rescaling import Rescaling
from torpor_endpoint.services.autoscaling.resources import COPIES
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.storage.schema import RECORDS
from torpor_endpoint.storage.store import Store

OF = "inference-component/one"
SERVING = ComponentStatus.IN_SERVICE
ONE = ComponentRecord("one", "arn-one", 1.0, 1.0, SERVING, "shop", "arn", 1.0, "v", (ComponentSpecification(),), 1)
COPY = Variant("component.one", "m", (Container("torpor"),), copies=CopyNeeds("one", "v", 512))


@dataclass
class Shop:
    """A component whose changes come to `event` at once."""

    store: Store
    rescaling: Rescaling
    loads: FleetLoads
    pool: InstancePool
    event: ComponentEvent = ComponentEvent.READY

    def settle(self, name: str) -> None:
        component = self.store.component(name)
        assert component is not None
        self.store.replace_component(
            component_after(component, self.event, "no room"), expected_status=component.status
        )

    def scaled(self, to: int) -> int:
        asyncio.run(self.rescaling.apply(OF, to, COPIES))
        component = self.store.component("one")
        assert component is not None
        return component.copies


@pytest.fixture
def shop() -> Iterator[Shop]:
    with FakeHost() as host:
        database = SqliteFile(":memory:", RECORDS)
        store, roster = Store(database, lambda: 1.0), FleetRoster()
        factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), lambda: 1.0)
        pool = InstancePool("shop", COPY, factory, SlotNumbers())
        roster.serve(FleetEndpoint("shop", "arn", {"component.one": pool}))
        settled: list[Shop] = []
        control = Control(
            store,
            lambda: 1.0,
            strict=False,
            observed=roster,
            changed=lambda name: None,
            component_changed=lambda name: settled[0].settle(name),
        )
        store.add_component(ONE)
        settled.append(Shop(store, Rescaling(control, "123456789012", "us-east-1"), FleetLoads(roster), pool))
        yield settled[0]
        database.close()


def test_the_load_is_that_of_the_components_copies(shop: Shop) -> None:
    shop.pool.traffic.came(1.0)
    assert shop.loads.load(OF) == VariantLoad(1, 1, 0, 0)
    assert shop.loads.load("inference-component/other") is None


def test_a_change_sets_the_copies_down_to_none_and_up_again(shop: Shop) -> None:
    assert [shop.scaled(to) for to in (0, 3)] == [0, 3]


def test_a_change_that_has_no_room_is_told_and_a_busy_component_is_tried_again(shop: Shop) -> None:
    shop.event = ComponentEvent.ROLLED_BACK
    with pytest.raises(NotApplied, match="no room"):
        shop.scaled(9)
    shop.store.replace_component(replace(ONE, status=ComponentStatus.UPDATING), expected_status=SERVING)
    with pytest.raises(Busy, match="is Updating"):
        shop.scaled(2)
    shop.store.remove_component("one")
    with pytest.raises(NotApplied, match="Could not find inference component one"):
        shop.scaled(2)
