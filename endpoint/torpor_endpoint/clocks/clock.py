"""Defines the clock of an endpoint's decisions, and the real one.

Dates, idle times and periods are of this clock. Latencies, time limits of requests, and the life of processes are of
real time: a stopwatch (`time.perf_counter`) or the event loop's own timers.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

Pause = Callable[[float], Awaitable[None]]
"""Sleeps for so many seconds."""


class EndpointClock(Protocol):
    """What decides when something is due."""

    @property
    def epoch(self) -> Callable[[], float]:
        """Gives seconds since 1970."""

    @property
    def steady(self) -> Callable[[], float]:
        """Gives seconds that only go forward."""

    def pause_of(self, chore: str) -> Pause:
        """What this chore sleeps by between two looks."""


class RealClock:
    """The system's clocks."""

    epoch = staticmethod(time.time)
    steady = staticmethod(time.perf_counter)

    def pause_of(self, chore: str) -> Pause:
        return asyncio.sleep
