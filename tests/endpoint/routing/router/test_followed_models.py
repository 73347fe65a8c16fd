"""A router that starts: it sends calls where their model is in memory, though it was not there when it was loaded."""

import asyncio

import pytest

from tests.endpoint.helpers.fake_host import FakeHost, Mood
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.in_service.first_meeting import WAITS_S
from torpor_endpoint.routing.protocol.routing_table import RoutedVariant
from torpor_endpoint.routing.router.followed_pool import FollowedPool
from torpor_endpoint.routing.router.reports.pool_news import PoolNews

NAMES = tuple(f"m{number}" for number in range(40))
MANY = Variant("v", "m", (Container("torpor", multi_model=True),))


async def launched(host: FakeHost, *models: tuple[str, ...]) -> RoutedVariant:
    """An instance for each, with these models in memory, as a table has them."""
    instances = {}
    for number, each in enumerate(models):
        slot = Slot("shop", "v", number)
        one = await host.launch(LaunchSpec(slot))
        host.living[slot].models = each
        instances[one.incarnation] = (one,)
    return RoutedVariant(MANY, len(models), None, instances)


def followed(routed: RoutedVariant) -> FollowedPool:
    return FollowedPool("shop", routed, lambda pool: None, PoolNews())


def slots(pool: FollowedPool) -> set[int]:
    return {pool.ready.pick(name).slot.number for name in NAMES}


def test_the_first_call_of_a_model_goes_where_it_is_in_memory() -> None:
    async def story(host: FakeHost) -> None:
        pool = followed(await launched(host, (), NAMES, ()))
        await pool.until(lambda: pool.ready.count > 0)
        assert (pool.ready.count, slots(pool)) == (3, {1})
        pool.close()
        for slot in list(host.living):
            await host.terminate(slot, 0.0)

    with FakeHost() as host:
        run(story(host))


def test_an_instance_that_does_not_answer_holds_up_the_others_for_a_moment() -> None:
    async def story(host: FakeHost) -> None:
        routed = await launched(host, (), NAMES, ())
        silent = host.living[Slot("shop", "v", 2)]
        silent.mood = Mood.SILENT
        pool, clock = followed(routed), asyncio.get_running_loop().time
        began_s = clock()
        await pool.until(lambda: pool.ready.count == 2)
        assert clock() - began_s == pytest.approx(WAITS_S)
        assert slots(pool) == {1}
        pool.close()
        for slot in list(host.living):
            await host.terminate(slot, 0.0)

    with FakeHost() as host:
        run(story(host))
