"""Decides which models leave because no calls come, and which come back before their next call. It moves no model.

A look checks only the models whose nap changes now (they fall asleep, or wake): a heap has the time of each model's
next change. A use before that time is noticed at the check, which enters the next change.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf

from torpor_container.core.keepalive import KeepAlive

SWEEP_S = 60.0
"""How often every idle model is checked: one may have come in after its change, as when all its callers gave up."""

EARLY_S = 1e-6
"""A model is checked up to this long before its change, since sums of times are rounded. The nap then decides."""


@dataclass(slots=True)
class Habit:
    """The habit of one model's callers: its keep-alive, and when the last use ended."""

    keep_alive: KeepAlive
    ended_s: float
    awaited: bool = True  # no call has come since, and the model was not loaded for one
    check_s: float = inf  # when it is checked next


@dataclass(frozen=True)
class Moves:
    """What to do after one look."""

    leaving: tuple[str, ...]  # no call is expected
    coming: tuple[str, ...]  # their next call is expected


class Resting:
    """Remembers the last `known_max` models that were used, each with its own keep-alive."""

    def __init__(self, make: Callable[[], KeepAlive], known_max: int = 10_000) -> None:
        self._make = make
        self._known: OrderedDict[str, Habit] = OrderedDict()
        self._known_max = known_max
        self._checks: list[tuple[float, str]] = []
        self._swept_s = -inf

    def called(self, name: str, now_s: float) -> None:
        """A use begins while no other goes on."""
        habit = self._known.get(name)
        if habit is not None:
            habit.keep_alive.used_after(now_s - habit.ended_s)
            habit.awaited = False

    def ended(self, name: str, now_s: float) -> None:
        """The last use in progress has ended."""
        habit = self._known.get(name)
        if habit is None:
            habit = self._known[name] = Habit(self._make(), now_s)
            if len(self._known) > self._known_max:
                self._known.popitem(last=False)
        habit.ended_s, habit.awaited = now_s, True
        self._known.move_to_end(name)
        self._enter(name, habit, now_s + habit.keep_alive.nap().sleep_s)

    def look(self, idle: Iterable[str], now_s: float) -> Moves:
        """What to do now: call it about once a second. `idle` has the models in memory that are not in use.

        A model comes back once: if it leaves before its call, for lack of room, it stays away. In a full memory the
        expected models would otherwise evict each other again and again.
        """
        checked = self._due_for_check(now_s)
        due = [(name, habit) for name, habit in checked.items() if habit.awaited and _due(habit, now_s)]
        due.sort(key=lambda one: one[1].ended_s)
        for _, habit in due:
            habit.awaited = False
        return Moves(self._asleep(idle, checked, now_s), tuple(name for name, _ in due))

    def next_check_s(self) -> float | None:
        """When the next look finds a model to check, unless a use ends before; None if none is expected."""
        times = (check_s for check_s, name in self._checks if (one := self._known.get(name)) and one.check_s == check_s)
        return min(times, default=None)

    # -- inside ----------------------------------------------------------------------------------------------------
    def _asleep(self, idle: Iterable[str], checked: dict[str, Habit], now_s: float) -> tuple[str, ...]:
        """The idle models among these whose nap says sleep; among all models, once in SWEEP_S."""
        among = checked
        if now_s - self._swept_s >= SWEEP_S:
            among, self._swept_s = self._known, now_s
        if not among:
            return ()
        return tuple(name for name in idle if (habit := among.get(name)) is not None and not _awake(habit, now_s))

    def _due_for_check(self, now_s: float) -> dict[str, Habit]:
        """The models to check now. Enters their next check."""
        due: dict[str, Habit] = {}
        while self._checks and self._checks[0][0] <= now_s + EARLY_S:
            check_s, name = heappop(self._checks)
            habit = self._known.get(name)
            if habit is not None and habit.check_s == check_s:
                habit.check_s = inf
                due[name] = habit
        for name, habit in due.items():
            self._enter(name, habit, _next_check_s(habit, now_s))
        return due

    def _enter(self, name: str, habit: Habit, check_s: float) -> None:
        """Enter a check if it is the model's earliest. `_due_for_check` skips entries that are out of date."""
        if check_s >= habit.check_s:
            return
        habit.check_s = check_s
        heappush(self._checks, (check_s, name))
        if len(self._checks) > 4 * len(self._known) + 8:
            self._checks = [(one.check_s, name) for name, one in self._known.items() if one.check_s < inf]
            heapify(self._checks)


def _awake(habit: Habit, now_s: float) -> bool:
    return habit.keep_alive.nap().awake(now_s - habit.ended_s)


def _due(habit: Habit, now_s: float) -> bool:
    return habit.keep_alive.nap().due(now_s - habit.ended_s)


def _next_check_s(habit: Habit, now_s: float) -> float:
    """Infinity: no change comes before the next use has ended."""
    nap, idle_s = habit.keep_alive.nap(), now_s - habit.ended_s
    return habit.ended_s + next((at_s for at_s in (nap.sleep_s, nap.wake_s, nap.until_s) if at_s > idle_s), inf)
