"""A clock that goes as real time does, until it is moved forward: then every chore does what falls due on the way.

While it travels, the clock stands still at each stop (`core.testing.travel`), and goes on only when all that is due
there is done. So the outcome does not depend on how long the work takes.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from torpor_container.waiting.quiet_time import QuietClock
from torpor_endpoint.clocks.clock import Pause
from torpor_endpoint.core.testing.travel import Appointment, due, next_stop

DONE_WITHIN_S = 60.0
"""How long, in real seconds, everything that is due at one stop may take."""

PAUSE_MIN_S = 0.001
"""The shortest pause: a date in seconds since 1970 cannot tell much shorter ones apart."""
TURNS = 12
"""Turns of the event loop until a task that another one woke has begun: by a future, an event, or from a thread."""


class ClockGoesForward(Exception):
    """The clock cannot be set to an earlier time."""


class NotDone(Exception):
    """What was due at a stop took too long. The clock stays at that stop. The message says what is not done."""


class Company(Protocol):
    """What travels with the clock."""

    def quiet_s(self, chore: str, gone_s: float) -> float | None:
        """Seconds in which the chore has nothing to do, if nothing else happens. 0: each of its periods matters. None:
        it need not look before the clock arrives. The clock has gone `gone_s` of its way."""

    def under_way(self) -> str | None:
        """What began at this stop, or before, and is not done yet; None if all is done."""

    async def arrive(self) -> float:
        """Follow the clock to where it stands. Return the seconds until something else is due; infinity for nothing."""


@dataclass(eq=False)
class SleepingChore:
    """One chore that sleeps. `timer` rings it in real time, except while the clock travels."""

    due_s: float
    rung: "asyncio.Future[None]"
    timer: asyncio.TimerHandle | None = None

    def ring(self) -> None:
        if not self.rung.done():
            self.rung.set_result(None)

    def disarm(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class TravellingClock:
    """`ahead_s` is how far it is ahead of real time. For the event loop's thread, except `epoch` and `steady`."""

    def __init__(self, epoch: Callable[[], float] = time.time, steady: Callable[[], float] = time.perf_counter) -> None:
        self._real_epoch, self._real_steady = epoch, steady
        self._ahead_s = 0.0
        self._since_1970_s = 0.0  # of steady second 0, while it travels
        self._stands_s: float | None = None  # steady seconds, while it travels
        self._waits: dict[str, SleepingChore] = {}
        self._busy: set[str] = set()
        self._paused = asyncio.Event()
        self._journey = asyncio.Lock()

    def epoch(self) -> float:
        """Seconds since 1970."""
        stands_s = self._stands_s
        return self._real_epoch() + self._ahead_s if stands_s is None else stands_s + self._since_1970_s

    def steady(self) -> float:
        """Seconds that only go forward."""
        stands_s = self._stands_s
        return self._real_steady() + self._ahead_s if stands_s is None else stands_s

    @property
    def ahead_s(self) -> float:
        """How far the clock is ahead of real time now."""
        return self.epoch() - self._real_epoch()

    def pause_of(self, chore: str) -> Pause:
        return partial(self._pause, chore)

    async def travel(self, to_s: float, company: Company) -> int:
        """Move forward to this time, in epoch seconds, and return the number of stops when all that is due is done.

        Raises ClockGoesForward and NotDone. Calls wait for each other.
        """
        async with self._journey:
            if to_s < self.epoch():
                raise ClockGoesForward(
                    f"the clock shows {self.epoch():.3f} and cannot be set to {to_s:.3f}: it only goes forward"
                )
            self._stop()
            try:
                return await self._travel(self.steady() + (to_s - self.epoch()), company)
            finally:
                self._go_on()

    # -- on the way ------------------------------------------------------------------------------------------------
    async def _travel(self, target_s: float, company: Company) -> int:
        stops, began_s = 0, self.steady()
        await self._look(tuple(self._waits), company)  # what has happened until now, at its own time
        elsewhere_s = await company.arrive()
        while self.steady() < target_s:
            appointments = self._appointments(company, self.steady() - began_s)
            self._stands_s = next_stop(appointments, self.steady(), target_s, self.steady() + elsewhere_s)
            stops += 1
            await self._look(due(appointments, self.steady()), company)
            elsewhere_s = await company.arrive()
            await self._done(company)
        await self._look(tuple(sorted(self._waits)), company)
        return stops

    async def _look(self, chores: tuple[str, ...], company: Company) -> None:
        """Let the chores look, one after the other, and wait until all that they began is done."""
        for chore in chores:
            if chore in self._busy:
                await self._until(partial(self._still_busy, chore))
            if (wait := self._waits.get(chore)) is not None:
                self._busy.add(chore)
                wait.ring()
                await self._until(partial(self._still_busy, chore))
        await self._done(company)

    async def _done(self, company: Company) -> None:
        await self._until(lambda: next(map(self._still_busy, sorted(self._busy)), None) or company.under_way())

    async def _until(self, missing: Callable[[], str | None]) -> None:
        """SleepingChore until nothing is missing, also after other tasks had their turns. Raises NotDone."""
        clock = QuietClock(self._real_steady)
        pause_s = 0.001
        while True:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            self._paused.clear()
            if (what := missing()) is None:
                return
            if clock() > DONE_WITHIN_S:
                raise NotDone(f"{what}, after {DONE_WITHIN_S:g} s of real time; the clock shows {self.epoch():.3f}")
            with suppress(TimeoutError):  # a chore says when it is done; all else is looked at again and again
                async with asyncio.timeout(pause_s):
                    await self._paused.wait()
            pause_s = min(2 * pause_s, 0.02)

    def _still_busy(self, chore: str) -> str | None:
        return f"the chore {chore!r} is still at work" if chore in self._busy else None

    def _appointments(self, company: Company, gone_s: float) -> list[Appointment]:
        now_s = self.steady()
        quiet = ((name, one.due_s, company.quiet_s(name, gone_s)) for name, one in self._waits.items())
        return [Appointment(name, due_s, now_s + quiet_s) for name, due_s, quiet_s in quiet if quiet_s is not None]

    # -- standing and going ----------------------------------------------------------------------------------------
    def _stop(self) -> None:
        steady_s = self.steady()
        self._since_1970_s = self.epoch() - steady_s
        self._stands_s = steady_s
        for wait in self._waits.values():
            wait.disarm()

    def _go_on(self) -> None:
        self._ahead_s = self.steady() - self._real_steady()
        self._stands_s = None
        for wait in self._waits.values():
            self._arm(wait)

    # -- pauses ----------------------------------------------------------------------------------------------------
    async def _pause(self, chore: str, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        wait = self._waits[chore] = SleepingChore(self.steady() + max(seconds, PAUSE_MIN_S), loop.create_future())
        self._busy.discard(chore)
        self._paused.set()
        if self._stands_s is None:
            self._arm(wait)
        try:
            await wait.rung
        finally:
            wait.disarm()
            self._waits.pop(chore, None)
            self._busy.add(chore)

    def _arm(self, wait: SleepingChore) -> None:
        loop = asyncio.get_running_loop()
        wait.timer = loop.call_later(max(0.0, wait.due_s - self.steady()), wait.ring)
