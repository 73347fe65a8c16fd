"""The wall clock jumps by a day: no variant sleeps or wakes, and no cost or metric is wrong because of it."""

import asyncio
from pathlib import Path

import pytest

from tests.endpoint.helpers.busy_instance import DIMENSIONS, busy, collecting, fleet_of
from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import DAY_S, PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from tests.helpers.ledger_with_pages import NOON_S, LedgerWithPages, invocation, life
from torpor_account.metrics import metrics
from torpor_container.settings import DEFAULTS
from torpor_endpoint.fleet.sizer import Sizer

JUMPS_S = pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])


@JUMPS_S
def test_a_variant_falls_asleep_after_its_keep_alive_without_calls_and_not_before(jump_s: float) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            sizer = asyncio.create_task(Sizer(fleet_of(fake), fake.now).run())
            await fake.wake(0)
            fake.pool.traffic.came(fake.now())
            fake.pool.traffic.went(fake.now())
            for _ in range(10):
                fake.clock_is_off_s += jump_s
                await asyncio.sleep((DEFAULTS.idle_s - 5.0) / 10)
                assert len(fake.pool.ready) == 1
            await asyncio.sleep(10.0)
            assert (fake.pool.size, fake.lives[-1].why_stopped) == (0, "nobody calls")
            sizer.cancel()
            await fake.pool.close("the test ends")

    run(story())


@JUMPS_S
def test_the_ledger_has_no_life_that_ends_before_it_began_and_no_negative_cost(tmp_path: Path, jump_s: float) -> None:
    recorded = LedgerWithPages(tmp_path, now_s=NOON_S)
    recorded.ledger.lived(life())
    recorded.ledger.lived(life(instance="i-2"))
    for off_s in (0.0, jump_s, 0.0):
        recorded.now_s = NOON_S + 60.0 + off_s
        recorded.ledger.invoked(invocation(recorded.now_s, {"load": 0.2, "predict": 0.1}))
        recorded.flush()
    recorded.ledger.lived(life(NOON_S, NOON_S + 120.0))
    recorded.flush()
    again = recorded.again()  # the first one never said good-bye to i-2
    rows = again.ledger.tables.database.rows("SELECT started_s, stopped_s FROM lives")
    assert [started_s <= stopped_s for started_s, stopped_s in rows] == [True, True]
    assert len(again.reading.cold_starts()) == 3
    for until_s in (NOON_S - 2 * DAY_S, NOON_S + 60.0, NOON_S + 2 * DAY_S):
        again.now_s = until_s
        for bill in again.reading.costs(None, 0.0, until_s).bills:
            assert (bill.costs.usd or 0.0) >= 0.0
            assert all(part.instance_s >= 0.0 for part in bill.costs.sizes)
    again.ledger.close()
    recorded.ledger.close()


@JUMPS_S
def test_the_collector_continues_and_no_level_is_negative(tmp_path: Path, jump_s: float) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            registry, collector = collecting(fake)
            async with busy(tmp_path / "i") as incarnation:
                fake.pool.offer(incarnation)
                for off_s in (0.0, 0.0, jump_s, jump_s, 0.0, 0.0):
                    fake.clock_is_off_s = off_s
                    await asyncio.sleep(60.0)
                    await collector.refresh()
            cpu = registry.series(metrics.CPU_UTILIZATION, DIMENSIONS).total()
            assert cpu.count >= 2
            assert 0.0 <= cpu.minimum <= cpu.maximum == pytest.approx(50.0)
            assert registry.series(metrics.MEMORY_UTILIZATION, DIMENSIONS).total().count >= 3

    run(story())
