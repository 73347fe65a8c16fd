"""A look reads the instances that are called, and leaves the quiet ones to the collector's own period."""

import asyncio
from typing import Any, cast

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.record_table import Card
from torpor_endpoint.dashboard.looking import LINGER_LOOKS, Looking
from torpor_endpoint.fleet.collector import Wanted
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.readings import InstanceReading, Readings
from torpor_endpoint.storage.store import ComponentCard


async def cards() -> list[Card]:
    return [Card("shop", 1.0, 1.0, "InService")]


async def no_components() -> list[ComponentCard]:
    raise AssertionError("the endpoint has instances of its own")


async def no_record(name: str) -> None:
    raise AssertionError(name)


def test_only_instances_that_are_called_are_read_again() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(2)
            roster, readings, read = FleetRoster(), Readings(), list[int]()
            roster.serve(FleetEndpoint("shop", "arn", {"v": fake.pool}))

            async def refresh(wanted: Wanted) -> None:
                asked = [one for one in fake.pool.ready if wanted(fake.pool, one)]
                read.append(len(asked))
                for one in asked:
                    readings.read(one.id, InstanceReading(0.0, {"primary": cast("Any", REPORT)}, {}))

            looking = Looking(
                roster, cards, MetricRegistry(fake.epoch), readings, refresh, fake.epoch, no_record, no_components
            )

            async def looks(count: int) -> list[int]:
                read.clear()
                for _ in range(count):
                    await looking.look({})
                return list(read)

            assert await looks(3) == [2, 0, 0]  # nothing has read them before
            fake.pool.traffic.came(1.0)
            assert await looks(2) == [2, 2]
            fake.pool.traffic.went(2.0)
            assert await looks(LINGER_LOOKS + 1) == [2] * LINGER_LOOKS + [0]
            await fake.ready(3)
            assert await looks(2) == [1, 0]  # the new instance has not been read yet
            await asyncio.sleep(0)
            await fake.end()

    run(story())


REPORT = {
    "kept": True,
    "models": [],
    "budget_bytes": 1,
    "used_bytes": 1,
    "disk_bytes": 0,
    "disk_budget_bytes": 1,
}
