"""Measures what a piece of work took, on its own thread: processor time, wait for a processor, and other waits.

A thread sees only itself: what other threads or processes do for it meanwhile counts as a wait.
"""

import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from threading import local
from typing import NamedTuple, ParamSpec, TypeVar

from torpor_container import wire
from torpor_container.frozen_class import frozen

P = ParamSpec("P")
T = TypeVar("T")

SCHEDSTAT = "/proc/thread-self/schedstat"
"""Nanoseconds on a processor, nanoseconds of wait for one, and how often it got one (Linux,
`Documentation/scheduler/sched-stats.rst`). The first lags behind by up to a tick."""


class Effort(NamedTuple):
    """Seconds of wall time, of a processor, and of wait for one, which a less busy machine would not have."""

    wall_s: float
    work_s: float
    in_line_s: float = 0.0

    def fields(self) -> wire.EffortFields:
        """Its wire form. Work on several processors counts as work on one: it is never over the wall time."""
        active_s = max(0.0, self.wall_s - self.in_line_s)
        work_s = min(self.work_s, active_s)
        return {"work_s": round(work_s, 6), "delay_s": round(active_s - work_s, 6)}

    @property
    def part_busy(self) -> float:
        """The part of its time, from 0 to 1, in which it kept a processor busy."""
        active_s = self.wall_s - self.in_line_s
        return min(1.0, self.work_s / active_s) if active_s > 0 else 1.0

    def header(self) -> str:
        """Its form in the header `wire.EFFORT`."""
        fields = self.fields()
        return f"{fields['work_s']:.6f} {fields['delay_s']:.6f}"

    def shared(self, among: int) -> "Effort":
        """The part of one request among this many."""
        if among == 1:
            return self
        return Effort(self.wall_s / among, self.work_s / among, self.in_line_s / among)

    def __add__(self, other: object) -> "Effort":
        """The effort of two pieces of work, one after the other."""
        assert isinstance(other, Effort)
        return Effort(*(one + another for one, another in zip(self, other, strict=True)))


class _SchedStat:
    """One thread's file, open as long as the thread: to open it takes eight times as long as to read it."""

    def __init__(self) -> None:
        self.file = -1
        with suppress(OSError):  # not Linux, or a kernel without these figures
            self.file = os.open(SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)

    def in_line_s(self) -> float:
        return int(os.pread(self.file, 64, 0).split()[1]) * 1e-9 if self.file >= 0 else 0.0

    def __del__(self) -> None:
        if self.file >= 0:
            os.close(self.file)


class _ThreadSchedStats(local):
    def __init__(self) -> None:
        self.own = _SchedStat()


_thread_stats = _ThreadSchedStats()


def _reset_after_fork() -> None:
    """In a forked process: the open file belongs to a thread of the parent."""
    global _thread_stats
    _thread_stats = _ThreadSchedStats()


os.register_at_fork(after_in_child=_reset_after_fork)


def in_line_s() -> float:
    """How long the calling thread has waited for a processor so far; 0 if the system does not count it."""
    return _thread_stats.own.in_line_s()


def descriptor() -> int:
    """The descriptor by which the calling thread's waiting is measured; -1 if the system does not count it."""
    return _thread_stats.own.file


def process_s() -> float:
    """Processor seconds of this process, and of those below it that have ended and were waited for."""
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + below.ru_utime + below.ru_stime


@frozen
class EffortClocks:
    """Clocks in seconds: wall time, work, and wait for a processor. The latter two are the calling thread's."""

    wall: Callable[[], float] = time.monotonic
    work: Callable[[], float] = time.thread_time
    in_line: Callable[[], float] = in_line_s

    def start(self) -> Callable[[], Effort]:
        """Start a stopwatch; a call of it returns the effort since now.

        The wait is read between the other clocks: a thread that loses its processor while it reads would otherwise
        have waited longer than the whole took.
        """
        wall_s, work_s, in_line_s = self.wall(), self.work(), self.in_line()

        def stop() -> Effort:
            in_line_until_s, worked_s = self.in_line(), self.work()
            return Effort(self.wall() - wall_s, worked_s - work_s, in_line_until_s - in_line_s)

        return stop

    def so_far(self) -> Effort:
        """The effort so far of a thread or process that has done nothing else. Its wall time is unknown, and 0 here."""
        return Effort(0.0, self.work(), self.in_line())


CLOCKS = EffortClocks()


def measured(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> tuple[T, Effort]:
    """Do work on the calling thread. Its result, and its effort."""
    effort = CLOCKS.start()
    return work(*arguments, **named), effort()
