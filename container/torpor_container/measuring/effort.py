"""What a piece of work took, measured in the thread that does it: of a processor, in line for one, and waiting beside.

A thread sees itself only: what other threads or processes do for it meanwhile counts as waiting.
"""

import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import local
from typing import NamedTuple, ParamSpec, TypeVar

from torpor_container import wire

P = ParamSpec("P")
T = TypeVar("T")

STANDING = "/proc/thread-self/schedstat"
"""Nanoseconds on a processor, nanoseconds in line for one, and how often it was given one (Linux,
`Documentation/scheduler/sched-stats.rst`). The first lags behind by up to a tick."""


class Effort(NamedTuple):
    """Seconds. In line for a processor is what a less busy machine would have spared."""

    wall_s: float
    work_s: float
    in_line_s: float = 0.0

    def told(self) -> wire.EffortFields:
        """Work is no more than one processor could have done: who has several at once is told as busy with one."""
        there_s = max(0.0, self.wall_s - self.in_line_s)
        work_s = min(self.work_s, there_s)
        return {"work_s": round(work_s, 6), "delay_s": round(there_s - work_s, 6)}

    def header(self) -> str:
        """The same, as `wire.EFFORT` has it."""
        told = self.told()
        return f"{told['work_s']:.6f} {told['delay_s']:.6f}"

    def shared(self, among: int) -> "Effort":
        """One part of it."""
        if among == 1:
            return self
        return Effort(self.wall_s / among, self.work_s / among, self.in_line_s / among)

    def __add__(self, other: object) -> "Effort":
        """One piece after the other."""
        assert isinstance(other, Effort)
        return Effort(*(one + another for one, another in zip(self, other, strict=True)))


class _Standing:
    """One thread's file, which stays open as long as the thread: opening it takes eight times as long as reading."""

    def __init__(self) -> None:
        self._file = -1
        with suppress(OSError):  # not Linux, or a kernel that keeps no account of it
            self._file = os.open(STANDING, os.O_RDONLY | os.O_CLOEXEC)

    def in_line_s(self) -> float:
        return int(os.pread(self._file, 64, 0).split()[1]) * 1e-9 if self._file >= 0 else 0.0

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


class _Standings(local):
    def __init__(self) -> None:
        self.own = _Standing()


_standings = _Standings()


def _begin_anew() -> None:
    """In a forked process: the file that was open is of a thread of its parent's."""
    global _standings
    _standings = _Standings()


os.register_at_fork(after_in_child=_begin_anew)


def in_line_s() -> float:
    """How long the calling thread has stood in line for a processor, ever. 0 where the system does not tell."""
    return _standings.own.in_line_s()


def process_s() -> float:
    """Processor seconds of this process, and of those below it that have ended and were waited for."""
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + below.ru_utime + below.ru_stime


@dataclass(frozen=True)
class EffortClocks:
    """Seconds: on the wall, at work, in line. The latter two are the calling thread's own, unless others are given."""

    wall: Callable[[], float] = time.monotonic
    work: Callable[[], float] = time.thread_time
    in_line: Callable[[], float] = in_line_s

    def start(self) -> Callable[[], Effort]:
        """A stopwatch, running: it tells the effort since now. The line is read between the others, or who loses the
        processor while he reads would have stood in line for longer than it took."""
        wall_s, work_s, in_line_s = self.wall(), self.work(), self.in_line()

        def told() -> Effort:
            in_line_until_s, worked_s = self.in_line(), self.work()
            return Effort(self.wall() - wall_s, worked_s - work_s, in_line_until_s - in_line_s)

        return told

    def so_far(self) -> Effort:
        """Of a thread, or a process, that has done nothing else since it began. When that was it does not know."""
        return Effort(0.0, self.work(), self.in_line())


CLOCKS = EffortClocks()


def measured(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> tuple[T, Effort]:
    """Do it in the calling thread, and tell what it took."""
    effort = CLOCKS.start()
    return work(*arguments, **named), effort()
