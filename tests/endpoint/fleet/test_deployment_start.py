"""An endpoint that starts again: the variants that it starts by itself, and those that it leaves asleep."""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.resource_records import Container, Serverless, Variant
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.host import Launched, LaunchSpec, Slot

TORPOR = (Container("torpor"),)
VARIANTS = (
    Variant("plain", "m", TORPOR, instance_count=2),
    Variant("kept", "m", TORPOR, instance_count=1, instances_min=1),
    Variant("to-zero", "m", TORPOR, instance_count=2, instances_min=0),
    Variant("serverless", "m", TORPOR, serverless=Serverless(1024, 20)),
    Variant("provisioned", "m", TORPOR, serverless=Serverless(1024, 20, provisioned_concurrency=10)),
)


def test_a_variant_that_may_sleep_sleeps_after_a_restart_until_a_call() -> None:
    async def story() -> None:
        with FakeHost() as host:
            live = FleetEndpoint("shop", "arn")
            deployment = Deployment(live, InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), time.time))
            deployment.start(VARIANTS)
            await asyncio.sleep(1.0)
            running = {name: len(pool.ready) for name, pool in live.pools.items()}
            assert running == {"plain": 2, "kept": 1, "to-zero": 0, "serverless": 0, "provisioned": 2}
            live.pools["serverless"].wake()
            await live.pools["serverless"].until(lambda: bool(live.pools["serverless"].ready))
            await deployment.close("the test ends")

    run(story())


def test_what_an_earlier_process_left_running_is_adopted_with_its_life() -> None:
    async def story() -> None:
        with FakeHost() as host:
            lives: list[InstanceLife] = []
            factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), lambda: 1e9, lives.append)
            first = Deployment(FleetEndpoint("shop", "arn"), factory)
            first.start(VARIANTS[:3])
            first.live.pools["to-zero"].scale(3, "wanted")
            await asyncio.sleep(1.0)
            running = {one.slot: one.incarnation for one in host.list()}
            await first.detach()
            assert {one.slot: one.incarnation for one in host.list()} == running
            assert not any(life.why_stopped for life in lives)

            host.left = set(running)
            again = Deployment(FleetEndpoint("shop", "arn"), factory)
            again.start(VARIANTS[:3])
            await asyncio.sleep(1.0)
            assert {one.slot: one.incarnation for one in host.list()} == running
            assert {name: len(pool.ready) for name, pool in again.live.pools.items()} == {
                "plain": 2,
                "kept": 1,
                "to-zero": 3,
            }
            again.live.pools["to-zero"].scale(4, "one more")
            await asyncio.sleep(1.0)
            assert {one.slot.number for one in host.list() if one.slot.variant == "to-zero"} == {0, 1, 2, 3}
            await again.close("the test ends")
            assert host.list() == ()

    run(story())


OLD = Variant("v", "old", (Container("torpor", environment={"MODEL": "old"}),), instance_count=2)
NEW = replace(OLD, containers=(Container("torpor", environment={"MODEL": "new"}),))
TWO = replace(OLD, containers=OLD.containers * 2)


async def left_running(host: FakeHost, variant: Variant, numbers: Collection[int]) -> None:
    """Have the host run instances of this variant, as an earlier process that was killed left them."""
    factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), time.time)
    for number in numbers:
        for slot in factory.slots(variant, Slot("shop", variant.name, number)):
            await host.launch(factory.launch_spec(variant, slot))
    host.left = set(host.living)


@pytest.mark.parametrize(
    ("left", "served", "adopted"),
    [
        ([(OLD, [0, 1]), (NEW, [2, 3])], NEW, [2, 3]),  # the process ended after the swap of an update
        ([(OLD, [0, 1]), (NEW, [2, 3])], OLD, [0, 1]),  # and before it
        ([(NEW, [0, 1, 2, 3])], NEW, [0, 1]),  # an update to fewer instances was not over
        ([(NEW, [0, 1, 2, 3])], replace(NEW, instance_count=1, instances_min=1, instances_max=4), [0, 1, 2, 3]),
        ([(NEW, [0]), (OLD, [1])], replace(NEW, instances_min=0), [0]),
        ([(TWO, [0]), (NEW, [1, 2])], NEW, [1, 2]),
    ],
)
def test_only_what_was_launched_for_the_served_configuration_is_adopted(
    left: Sequence[tuple[Variant, Collection[int]]], served: Variant, adopted: list[int]
) -> None:
    async def story() -> None:
        with FakeHost() as host:
            for variant, numbers in left:
                await left_running(host, variant, numbers)
            before = {one.slot: one.incarnation for one in host.list()}
            deployment = Deployment(
                FleetEndpoint("shop", "arn"), InstanceFactory(host, lambda v, slot: LaunchSpec(slot), time.time)
            )
            deployment.start([served])
            await asyncio.sleep(5.0)
            running = {one.slot: one.incarnation for one in host.list()}
            assert running == {slot: before[slot] for slot in before if slot.number in adopted}
            assert sorted(one.slot.number for one in deployment.live.pools["v"].ready) == adopted
            await deployment.close("the test ends")
            assert host.list() == ()

    run(story())


class HostThatLearnsLate(FakeHost):
    """It learns what an instance was launched for when somebody asks for that instance."""

    async def launch(self, spec: LaunchSpec) -> Launched:
        if spec.slot in self.left:
            self.left.discard(spec.slot)
            return self.living[spec.slot].launched
        return await super().launch(spec)

    def list(self) -> tuple[Launched, ...]:
        return tuple(replace(one, configuration="") for one in super().list())


def test_an_instance_that_proves_to_be_of_another_configuration_is_replaced() -> None:
    async def story() -> None:
        with HostThatLearnsLate() as host:
            await left_running(host, OLD, [0, 1])
            factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), time.time)
            deployment = Deployment(FleetEndpoint("shop", "arn"), factory)
            deployment.start([NEW])
            await asyncio.sleep(5.0)
            configurations = [instance.launched.configuration for instance in host.living.values()]
            assert (configurations, len(deployment.live.pools["v"].ready)) == ([factory.digest(NEW)] * 2, 2)
            await deployment.close("the test ends")

    run(story())
