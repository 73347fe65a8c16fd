"""An endpoint that starts again: the variants that it starts by itself, and those that it leaves asleep."""

import asyncio
import time

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.records import Container, Serverless, Variant
from torpor_endpoint.fleet.deployment import Deployment
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.roster import LiveEndpoint
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
            live = LiveEndpoint("shop", "arn")
            deployment = Deployment(live, InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), time.time))
            deployment.start(VARIANTS)
            await asyncio.sleep(1.0)
            running = {name: len(pool.ready) for name, pool in live.pools.items()}
            assert running == {"plain": 2, "kept": 1, "to-zero": 0, "serverless": 0, "provisioned": 2}
            live.pools["serverless"].wake()
            await live.pools["serverless"].until(lambda: bool(live.pools["serverless"].ready))
            await deployment.close("the test ends")

    run(story())
