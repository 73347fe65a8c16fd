"""The collector reads instances and pools: the levels are the same, however often a reader asks."""

import asyncio
from pathlib import Path

import pytest

from tests.endpoint.helpers.busy_instance import DIMENSIONS, busy, collecting
from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_account.metrics import metrics
from torpor_container.wire import DeviceStatus


def test_requests_that_are_held_count_whether_or_not_an_instance_is_ready(tmp_path: Path) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            registry, collector = collecting(fake)
            series = registry.series(metrics.CONCURRENT_REQUESTS_PER_MODEL, DIMENSIONS)

            async def told() -> list[tuple[float, float]]:
                await collector.refresh()
                return [(tally.count, tally.sum) for _, tally in series.buckets(0, 2e9)]

            await asyncio.sleep(-fake.epoch() % 60)
            assert await told() == []
            fake.pool.traffic.held = 3
            assert await told() == [(1, 3)]
            async with busy(tmp_path / "i") as incarnation:
                fake.pool.offer(incarnation)
                fake.pool.traffic.held, incarnation.in_flight = 0, 2
                assert await told() == [(2, 2)]
                await asyncio.sleep(60.0)
                assert await told() == [(2, 2), (1, 2)]
                fake.pool.traffic.held = 5
                assert await told() == [(2, 2), (2, 7)]

    run(story())


def test_a_pool_without_instances_has_levels_too_and_rare_counters_begin_at_0() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            registry, collector = collecting(fake)
            fake.pool.traffic.held = 2
            await collector.refresh()
            levels = {
                metric: registry.series(metric, DIMENSIONS).total().sum
                for metric in (metrics.READY_INSTANCES, metrics.HELD_REQUESTS)
            }
            assert levels == {metrics.READY_INSTANCES: 0, metrics.HELD_REQUESTS: 2}
            (refused,) = registry.find(metrics.TORPOR, metrics.MODEL_LOADS_REFUSED.name)
            assert refused.total().sum == 0
            assert not list(registry.find(metrics.TORPOR, metrics.SHADOW_COPIES_DROPPED.name))

    run(story())


def test_each_refused_load_counts_once_however_often_the_instance_is_read(tmp_path: Path) -> None:
    decisions = [
        {"seq": number, "at_s": 1e9, "model": "a", "action": action, "reason": "", "bytes": 1, "took_s": 0.1}
        for number, action in enumerate(("load", "refuse", "loaded", "refuse"), start=1)
    ]

    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            registry, collector = collecting(fake)
            async with busy(tmp_path / "i", decisions) as incarnation:
                fake.pool.offer(incarnation)
                for _ in range(3):
                    await collector.refresh()
            assert registry.series(metrics.MODEL_LOADS_REFUSED, DIMENSIONS).total().sum == 2
            assert registry.series(metrics.MODEL_LOADING_TIME, DIMENSIONS).total().count == 1
            assert registry.series(metrics.READY_INSTANCES, DIMENSIONS).total().sum == 1

    run(story())


@pytest.mark.parametrize("gap_s", [0.0, 0.004, 0.011, 1.0, 4.0])
def test_processor_use_is_the_same_when_it_is_asked_for_again_and_again(tmp_path: Path, gap_s: float) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            registry, collector = collecting(fake)
            cpu = registry.series(metrics.CPU_UTILIZATION, DIMENSIONS)
            async with busy(tmp_path / "i") as incarnation:
                fake.pool.offer(incarnation)
                for pause_s in (20.0, gap_s, gap_s, 20.0, gap_s, gap_s, gap_s):
                    await collector.refresh()
                    assert [tally.sum for _, tally in cpu.buckets(0, 2e9)] in ([], [pytest.approx(50.0, abs=0.3)])
                    await asyncio.sleep(pause_s)
            assert cpu.total().count == 1

    run(story())


def test_an_instance_on_a_gpu_tells_its_use_and_one_on_the_processor_has_no_such_series(tmp_path: Path) -> None:
    device: DeviceStatus = {
        "name": "cuda:0",
        "model": "NVIDIA T4",
        "busy_percent": 37.5,
        "used_bytes": 9_000,
        "total_bytes": 16_000,
        "own_bytes": 4_000,
        "kept_bytes": 500,
        "budget_bytes": 8_000,
        "bound_models": [],
        "models": ["a"],
    }

    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            registry, collector = collecting(fake)
            async with busy(tmp_path / "i", device=device) as incarnation:
                fake.pool.offer(incarnation)
                await collector.refresh()
                gpu = [metrics.GPU_UTILIZATION, metrics.GPU_MEMORY_UTILIZATION]
                assert [registry.series(one, DIMENSIONS).total().sum for one in gpu] == [37.5, 25.0]

    async def plain() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            registry, collector = collecting(fake)
            async with busy(tmp_path / "j") as incarnation:
                fake.pool.offer(incarnation)
                await collector.refresh()
                assert registry.series(metrics.GPU_UTILIZATION, DIMENSIONS).total().count == 0

    run(story())
    run(plain())


def test_models_that_answer_by_a_mapped_file_are_counted_beside_all(tmp_path: Path) -> None:
    model = {"name": "a", "size_bytes": 1, "in_flight": 0, "idle_s": 0.0, "format": "xgboost", "hits": 1}
    models = [model, {**model, "name": "b", "mapped": True}, {**model, "name": "c", "mapped": True}]

    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            registry, collector = collecting(fake)
            async with busy(tmp_path / "i", models=models) as incarnation:
                fake.pool.offer(incarnation)
                await collector.refresh()
            assert registry.series(metrics.LOADED_MODEL_COUNT, DIMENSIONS).total().sum == 3
            assert registry.series(metrics.MAPPED_MODEL_COUNT, DIMENSIONS).total().sum == 2

    run(story())
