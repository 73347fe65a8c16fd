"""An endpoint that starts again: the variants that it starts by itself, and those that it leaves asleep."""

import asyncio
import time

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.records import Container, Serverless, Variant
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.endpoints import FleetEndpoint
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.host import LaunchSpec

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
