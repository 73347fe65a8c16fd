"""Time limits on a busy machine: they count the time in which a process gets a processor when it wants one."""

import asyncio
from pathlib import Path

import pytest

from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.waiting.quiet_time import QuietClock, busy_s, is_quiet
from torpor_container.waiting.quiet_timeout import patiently

LIMIT_S = 0.2
PRESSURE = """some avg10={} avg60=10.49 avg300=5.76 total=29363369
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
"""


def over_after_s(busy_share: float) -> float:
    """When a wait without an end is over, on a machine where processes wait this share of the time."""

    async def story() -> float:
        clock = asyncio.get_running_loop().time
        began_s = clock()
        with pytest.raises(TimeoutError):
            async with patiently(LIMIT_S, lambda: clock() * busy_share) as limit:
                await asyncio.Event().wait()
        assert limit.expired()
        return clock() - began_s

    return asyncio.run(story())


@pytest.mark.parametrize(("busy_share", "times"), [(0.0, 1.0), (0.5, 2.0), (1.0, WALL_MULTIPLE), (2.0, WALL_MULTIPLE)])
def test_a_limit_is_as_much_longer_as_the_machine_is_busy_and_ends_all_the_same(
    busy_share: float, times: float
) -> None:
    assert over_after_s(busy_share) >= LIMIT_S * times * 0.99


def test_a_block_that_ends_in_time_is_not_interrupted_later() -> None:
    async def story() -> None:
        async with patiently(LIMIT_S, lambda: 0.0) as limit:
            pass
        await asyncio.sleep(1.5 * LIMIT_S)
        assert not limit.expired()

    asyncio.run(story())


def test_an_error_and_a_cancellation_leave_the_block_as_they_are() -> None:
    async def failing() -> None:
        async with patiently(60.0):
            raise KeyError("mine")

    async def cancelled() -> None:
        async with patiently(60.0):
            await asyncio.Event().wait()

    async def story() -> None:
        with pytest.raises(KeyError, match="mine"):
            await failing()
        task = asyncio.create_task(cancelled())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())


def test_the_clock_goes_on_by_what_is_quiet_of_each_stretch() -> None:
    readings = iter([(0.0, 0.0), (10.0, 0.0), (20.0, 5.0), (32.0, 17.0)])
    at_s = busy = 0.0

    def look() -> float:
        nonlocal at_s, busy
        at_s, busy = next(readings)
        return at_s

    clock = QuietClock(look, lambda: busy)
    assert [clock(), clock(), clock()] == [10.0, 15.0, 16.0]


def test_what_the_kernel_says_is_read(tmp_path: Path) -> None:
    pressure, waits, none = tmp_path / "cpu", tmp_path / "schedstat", tmp_path / "none"
    pressure.write_text(PRESSURE.format("8.03"))
    waits.write_text("96785 1358210000 2\n")
    assert busy_s(pressure, waits) == 29.363369
    assert busy_s(none, waits) == 1.35821
    assert busy_s(none, none) == 0.0
    assert is_quiet(pressure)
    pressure.write_text(PRESSURE.format("80.00"))
    assert not is_quiet(pressure)
    assert isinstance(is_quiet(none), bool)


def test_the_time_of_waits_never_goes_back() -> None:
    looks = [busy_s() for _ in range(50)]
    assert looks == sorted(looks)
