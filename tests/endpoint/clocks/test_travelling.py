"""The travelling clock with chores that write down when they looked."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf

import pytest

from tests.endpoint.helpers import virtual_time
from torpor_endpoint.clocks.clock import RealClock
from torpor_endpoint.clocks.travelling import ClockGoesForward, NotDone, TravellingClock

NOON_S = 1_767_268_800.0


@dataclass
class Looks:
    """Chores that look at intervals, and everything that the clock asks its company."""

    clock: TravellingClock
    quiet: dict[str, float | None] = field(default_factory=dict)
    seen: list[tuple[str, float]] = field(default_factory=list)
    work: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    going_on: str | None = None
    elsewhere_s: float = inf
    arrivals: list[float] = field(default_factory=list)

    async def chore(self, name: str, period_s: float) -> None:
        pause = self.clock.pause_of(name)
        while True:
            self.seen.append((name, self.clock.epoch() - NOON_S))
            if name in self.work:
                await self.work[name]()
            await pause(period_s)

    def quiet_s(self, chore: str, gone_s: float) -> float | None:
        return self.quiet.get(chore, 0.0)

    def under_way(self) -> str | None:
        return self.going_on

    async def arrive(self) -> float:
        self.arrivals.append(self.clock.epoch() - NOON_S)
        return self.elsewhere_s


def story(**periods: float) -> Callable[[Callable[[Looks], Awaitable[None]]], None]:
    """Runs a story in virtual time beside chores with these periods, at noon."""

    def run(told: Callable[[Looks], Awaitable[None]]) -> None:
        async def whole() -> None:
            loop = asyncio.get_running_loop()
            looks = Looks(TravellingClock(lambda: NOON_S + loop.time(), loop.time))
            others = asyncio.all_tasks()
            chores = [asyncio.create_task(looks.chore(name, period_s)) for name, period_s in periods.items()]
            try:
                await asyncio.sleep(0)
                looks.seen.clear()
                await told(looks)
            finally:
                left = {*chores, *asyncio.all_tasks()} - {asyncio.current_task(), *others}
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)

        virtual_time.run(whole())

    return run


def near(seen: list[tuple[str, float]]) -> list[tuple[str, float]]:
    return [(name, round(at_s, 3)) for name, at_s in seen]


def test_it_goes_as_real_time_does_until_it_is_moved() -> None:
    async def told(looks: Looks) -> None:
        await asyncio.sleep(25.0)
        assert near(looks.seen) == [("slow", 10.0), ("slow", 20.0)]
        assert looks.clock.ahead_s == 0.0

    story(slow=10.0)(told)


def test_each_period_is_looked_at_in_its_order_and_at_its_time() -> None:
    async def told(looks: Looks) -> None:
        await looks.clock.travel(NOON_S + 30.0, looks)
        assert near(looks.seen)[2:-2] == [
            ("fast", 10.0),
            ("slow", 15.0),
            ("fast", 20.0),
            ("fast", 30.0),
            ("slow", 30.0),
        ]
        assert round(looks.clock.epoch() - NOON_S, 3) == 30.0

    story(fast=10.0, slow=15.0)(told)


def test_what_happened_before_is_looked_at_before_the_clock_moves() -> None:
    async def told(looks: Looks) -> None:
        await asyncio.sleep(4.0)
        await looks.clock.travel(NOON_S + 30.0, looks)
        assert near(looks.seen)[0] == ("slow", 4.0)
        assert near([("", at_s) for at_s in looks.arrivals])[0] == ("", 4.0)

    story(slow=60.0)(told)


def test_a_quiet_chore_needs_no_stop_and_looks_where_another_one_has_work() -> None:
    async def told(looks: Looks) -> None:
        looks.quiet["sizer"] = 1000.0
        stops = await looks.clock.travel(NOON_S + 900.0, looks)
        assert stops == 3
        assert {at_s for name, at_s in near(looks.seen) if name == "sizer"} == {0.0, 300.0, 600.0, 900.0}

    story(sizer=1.0, alarms=300.0)(told)


def test_a_chore_that_may_wait_looks_when_the_clock_arrives() -> None:
    async def told(looks: Looks) -> None:
        looks.quiet["ledger"] = None
        await looks.clock.travel(NOON_S + 900.0, looks)
        assert {at_s for name, at_s in near(looks.seen) if name == "ledger"} == {0.0, 900.0}

    story(ledger=1.0, alarms=300.0)(told)


def test_it_stops_where_something_is_due_outside_of_the_chores() -> None:
    async def told(looks: Looks) -> None:
        looks.elsewhere_s = 250.0
        await looks.clock.travel(NOON_S + 600.0, looks)
        assert [round(at_s, 3) for at_s in looks.arrivals] == [0.0, 250.0, 500.0, 600.0]

    story()(told)


def test_it_stands_still_while_a_chore_works() -> None:
    async def told(looks: Looks) -> None:
        async def work() -> None:
            began_s = looks.clock.epoch()
            await asyncio.sleep(3.0)
            worked.append(looks.clock.epoch() - began_s)

        worked: list[float] = []
        looks.work["slow"] = work
        await looks.clock.travel(NOON_S + 20.0, looks)
        assert worked == [0.0] * 4

    story(slow=10.0)(told)


def test_it_waits_at_a_stop_until_all_that_began_there_is_done() -> None:
    async def told(looks: Looks) -> None:
        async def work() -> None:
            looks.going_on = "an instance starts"
            asyncio.get_running_loop().call_later(2.0, partial(setattr, looks, "going_on", None))

        looks.work["sizer"] = work
        await looks.clock.travel(NOON_S + 20.0, looks)
        assert looks.going_on is None
        assert [at_s for _, at_s in near(looks.seen)] == [0.0, 10.0, 20.0, 20.0]

    story(sizer=10.0)(told)


def test_what_takes_too_long_is_named_and_the_clock_stays_there() -> None:
    async def told(looks: Looks) -> None:
        looks.going_on = "1 instance(s) of houses/AllTraffic are starting"
        with pytest.raises(NotDone, match="houses/AllTraffic are starting, after 60 s of real time"):
            await looks.clock.travel(NOON_S + 20.0, looks)
        assert looks.clock.epoch() - NOON_S == pytest.approx(0.0, abs=0.1)
        looks.going_on = None
        await looks.clock.travel(NOON_S + 3600.0, looks)
        assert looks.clock.epoch() - NOON_S == pytest.approx(3600.0, abs=0.1)

    story(sizer=10.0)(told)


def test_it_only_goes_forward() -> None:
    async def told(looks: Looks) -> None:
        with pytest.raises(ClockGoesForward, match="it only goes forward"):
            await looks.clock.travel(NOON_S - 1.0, looks)

    story()(told)


def test_two_journeys_follow_each_other() -> None:
    async def told(looks: Looks) -> None:
        ways = (looks.clock.travel(NOON_S + hour * 3600.0, looks) for hour in (1, 2))
        await asyncio.gather(*ways)
        assert looks.clock.epoch() - NOON_S == pytest.approx(7200.0, abs=0.1)

    story(slow=600.0)(told)


def test_chores_go_on_in_real_time_after_a_journey() -> None:
    async def told(looks: Looks) -> None:
        await looks.clock.travel(NOON_S + 95.0, looks)
        looks.seen.clear()
        await asyncio.sleep(12.0)
        assert [round(at_s) for _, at_s in looks.seen] == [105]
        assert looks.clock.ahead_s == pytest.approx(95.0, abs=0.5)

    story(slow=10.0)(told)


def test_a_chore_that_was_woken_early_is_waited_for() -> None:
    """As the scaler is, by an alarm that another chore has found."""

    async def told(looks: Looks) -> None:
        woken, done = asyncio.Event(), []
        chores: list[asyncio.Task[None]] = []

        async def scaler() -> None:
            pause = looks.clock.pause_of("scaler")
            while True:
                sleep = asyncio.ensure_future(pause(1000.0))
                await asyncio.wait({sleep, asyncio.ensure_future(woken.wait())}, return_when=asyncio.FIRST_COMPLETED)
                sleep.cancel()
                await asyncio.gather(sleep, return_exceptions=True)
                await asyncio.sleep(1.0)
                done.append(round(looks.clock.epoch() - NOON_S))
                woken.clear()

        async def alarm() -> None:
            asyncio.get_running_loop().call_soon_threadsafe(woken.set)

        looks.work["alarms"] = alarm
        chores.append(asyncio.create_task(scaler()))
        await asyncio.sleep(0.1)
        await looks.clock.travel(NOON_S + 120.0, looks)
        assert 60 in done
        assert done[-1] == 120

    story(alarms=60.0)(told)


def test_the_real_clock_is_the_systems() -> None:
    import time

    clock = RealClock()
    assert clock.epoch is time.time
    assert clock.steady is time.perf_counter
    assert clock.pause_of("sizer") is asyncio.sleep
