"""An instance of several containers: they start together, one that ends is replaced, and the last ends the instance."""

import asyncio

import pytest

from tests.endpoint.helpers.fake_host import FakeHost, Mood
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.lifecycle import InstancePhase
from torpor_endpoint.host import Slot

FIRST, SECOND = Slot("shop", "v", 0), Slot("shop", "v", 0, 1)


def test_an_instance_is_ready_once_all_of_its_containers_are() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=2)
            host.mood = Mood.BAD
            await fake.scale(1)
            await fake.pool.until(lambda: bool(fake.pool.incarnations))
            await asyncio.sleep(0.1)
            host.living[FIRST].mood = Mood.GOOD
            await asyncio.sleep(2.0)
            assert len(fake.pool.ready) == 0
            host.living[SECOND].mood = Mood.GOOD
            await fake.pool.until(lambda: len(fake.pool.ready) == 1)
            (incarnation,) = fake.pool.ready
            assert [container.name for container in incarnation.containers] == ["container-1", "container-2"]
            await fake.end()

    run(story())


@pytest.mark.parametrize("containers", [1, 2, 3])
def test_calls_stay_at_a_busy_instance_until_one_that_comes_has_loaded_the_model_of_each_container(
    containers: int,
) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=containers)
            await fake.ready(1)
            (busy,) = fake.pool.ready
            for _ in range(100):
                busy.took()
            host.mood = Mood.BAD  # as while it loads
            await fake.scale(2)
            await asyncio.sleep(1.0)
            *others, late = [host.living[Slot("shop", "v", 1, place)] for place in range(containers)]
            for other in others:
                other.mood = Mood.GOOD
            for _ in range(20):
                await asyncio.sleep(0.5)
                assert fake.pool.ready.least_busy() is busy
            late.mood = Mood.GOOD
            await fake.pool.until(lambda: len(fake.pool.ready) == 2)
            assert fake.pool.ready.least_busy() is not busy
            for _ in range(100):
                fake.pool.released(busy)
            await fake.end()

    run(story())


def test_a_container_that_ends_is_replaced_and_its_instance_takes_no_requests_meanwhile() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=2)
            await fake.ready(1)
            (incarnation,) = fake.pool.ready
            first, second = incarnation.containers
            host.living[SECOND].die()
            await asyncio.sleep(0.001)
            assert len(fake.pool.ready) == 0
            await fake.pool.until(lambda: bool(fake.pool.ready))
            assert list(fake.pool.ready) == [incarnation]
            assert incarnation.containers[0] is first
            assert incarnation.containers[1].id != second.id
            assert len({life.instance for life in fake.lives}) == 1
            await fake.end()

    run(story())


def test_a_container_whose_pings_fail_is_replaced_alone() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=2)
            await fake.ready(1)
            (incarnation,) = fake.pool.ready
            frozen, second = incarnation.containers
            host.living[FIRST].mood = Mood.SILENT
            await fake.pool.until(lambda: incarnation.containers[0] is not frozen)
            host.living[FIRST].mood = Mood.GOOD
            await fake.pool.until(lambda: bool(fake.pool.ready))
            assert (incarnation.containers[1], incarnation.phase) == (second, InstancePhase.READY)
            await fake.end()

    run(story())


def test_the_instance_ends_with_the_last_of_its_containers() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=2)
            await fake.ready(1)
            (incarnation,) = fake.pool.ready
            host.living[FIRST].die()
            host.living[SECOND].die()
            await fake.pool.until(lambda: incarnation.phase is InstancePhase.GONE)
            await fake.pool.until(lambda: bool(fake.pool.ready))
            assert incarnation not in list(fake.pool.ready)
            assert len({life.instance for life in fake.lives}) == 2
            await fake.end()

    run(story())


def test_a_container_that_cannot_start_again_is_the_pool_s_trouble_by_its_name() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=2)
            await fake.ready(1)
            (incarnation,) = fake.pool.ready
            host.launches_to_fail = 4
            host.living[SECOND].die()
            await fake.pool.until(lambda: fake.pool.hopeless)
            assert fake.pool.trouble is not None
            assert fake.pool.trouble.containers == ("container-2",)
            assert incarnation.phase is InstancePhase.READY, "the other container lives"
            await fake.pool.until(lambda: bool(fake.pool.ready))
            assert fake.pool.trouble is None
            await fake.end()

    run(story())


def test_a_late_start_names_every_container_that_is_late() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=3)
            host.mood = Mood.BAD
            await fake.scale(1)
            await asyncio.sleep(1.0)
            host.living[SECOND].mood = Mood.GOOD
            await fake.pool.until(lambda: fake.pool.trouble is not None)
            assert fake.pool.trouble is not None
            assert fake.pool.trouble.containers == ("container-1", "container-3")
            await fake.end()

    run(story())
