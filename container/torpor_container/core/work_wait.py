"""Decides whether to go on waiting for a piece of work: rules over looks at it. They know no clock and no process.

A busy machine makes any work late, so the clock alone says nothing of the work. What says something is the processor
time that it used, and how long it wanted no processor at all. The clock ends the wait too, at WALL_MULTIPLE times the
limit, and what was decided by then holds no longer than the machine is busy: `starved` says so.
"""

from enum import Enum, auto

from torpor_container.frozen_class import frozen

WALL_MULTIPLE = 12
"""Work that gets a twelfth of a processor still comes to its end."""
FAIR_SHARE = 0.5
"""Work that got less than this share of one processor, of the time in which it wanted one, was starved."""
GAP_MAX_S = 1.0
"""Two looks tell of no longer time between them: whoever looks may have been starved as well."""


class GaveUp(Enum):
    """What there was too much of."""

    WORK = auto()  # processor time
    REST = auto()  # time in which it wanted no processor, and came no further
    CLOCK = auto()


@frozen
class WorkLook:
    """What one look at the work shows.

    `at_s` is the time of the look, and `cpu_s` the processor time that the limit counts. `all_cpu_s` also has that of
    processes beside it that have limits of their own. `resting`: none of its threads runs, wants a processor, waits for
    a disk, or is stopped.
    """

    at_s: float
    cpu_s: float
    all_cpu_s: float
    resting: bool


class WorkWait:
    """The wait for one piece of work, which may use `limit_s` of processor time, and rest as long without a pause."""

    def __init__(self, limit_s: float, first: WorkLook) -> None:
        self.limit_s = limit_s
        self._first = self._last = first
        self._resting_s = 0.0  # since it last used a processor
        self._rested_s = 0.0  # at all

    @property
    def wall_s(self) -> float:
        """When the clock ends the wait."""
        return self.limit_s * WALL_MULTIPLE

    def gave_up(self, look: WorkLook) -> GaveUp | None:
        """Why to wait no longer, as of this look; None to go on."""
        last, self._last = self._last, look
        used_s = look.all_cpu_s - last.all_cpu_s
        rested_s = min(look.at_s - last.at_s, GAP_MAX_S) if last.resting and look.resting else 0.0
        self._rested_s += max(0.0, rested_s - used_s)
        self._resting_s = self._resting_s + rested_s if rested_s and not used_s else 0.0
        if look.cpu_s - self._first.cpu_s > self.limit_s:
            return GaveUp.WORK
        if self._resting_s > self.limit_s:
            return GaveUp.REST
        return GaveUp.CLOCK if look.at_s - self._first.at_s > self.wall_s else None

    @property
    def starved(self) -> bool:
        """Whether it got little of the processor time that it wanted, as of the last look."""
        first, last = self._first, self._last
        wanted_s = last.at_s - first.at_s - self._rested_s
        return last.all_cpu_s - first.all_cpu_s < wanted_s * FAIR_SHARE


class QuietTime:
    """A time that goes on while the machine is quiet, and a twelfth as fast while it is busy.

    A time limit that counts it holds on a quiet machine as on any clock, and is up to WALL_MULTIPLE times as long on a
    busy one.
    """

    def __init__(self, at_s: float, busy_s: float) -> None:
        """`at_s` is the time of a clock, `busy_s` the time so far in which processes waited for a processor."""
        self._at_s, self._busy_s = at_s, busy_s
        self._so_far_s = 0.0

    def so_far_s(self, at_s: float, busy_s: float) -> float:
        """The quiet time since the beginning."""
        passed_s, busy_passed_s = at_s - self._at_s, busy_s - self._busy_s
        self._at_s, self._busy_s = at_s, busy_s
        self._so_far_s += max(passed_s - max(0.0, busy_passed_s), passed_s / WALL_MULTIPLE)
        return self._so_far_s
