"""Which models leave because nobody calls them, and which come back before somebody does. It moves none itself.

A model is looked at when its nap turns, and not at every look: the turns wait in a heap, each model's earliest. A use
that came before the turn is seen then, and the next turn is entered.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf

from torpor_container.core.keepalive import KeepAlive

SWEEP_S = 60.0
"""How often every idle model is looked at: one may have come in after its turn, as when all its callers gave up."""

EARLY_S = 1e-6
"""So long before its turn a model is looked at, since sums of times are rounded. Its nap then says whether it is."""


@dataclass(slots=True)
class Habit:
    """One model's callers: their keep-alive, and when the last use ended."""

    keep_alive: KeepAlive
    ended_s: float
    awaited: bool = True  # the next call has not come, nor was the model brought in for it
    turn_s: float = inf  # when it is looked at next


@dataclass(frozen=True)
class Moves:
    """What to do after one look."""

    leaving: tuple[str, ...]  # nobody is expected to call them
    coming: tuple[str, ...]  # their next call is expected


class Resting:
    """Remembers the last `known_max` models that were used, each with a keep-alive of its own."""

    def __init__(self, make: Callable[[], KeepAlive], known_max: int = 10_000) -> None:
        self._make = make
        self._known: OrderedDict[str, Habit] = OrderedDict()
        self._known_max = known_max
        self._turns: list[tuple[float, str]] = []
        self._swept_s = -inf

    def called(self, name: str, now_s: float) -> None:
        """A use begins, with none other going on."""
        habit = self._known.get(name)
        if habit is not None:
            habit.keep_alive.used_after(now_s - habit.ended_s)
            habit.awaited = False

    def ended(self, name: str, now_s: float) -> None:
        """The last use that went on has ended."""
        habit = self._known.get(name)
        if habit is None:
            habit = self._known[name] = Habit(self._make(), now_s)
            if len(self._known) > self._known_max:
                self._known.popitem(last=False)
        habit.ended_s, habit.awaited = now_s, True
        self._known.move_to_end(name)
        self._enter(name, habit, now_s + habit.keep_alive.nap().sleep_s)

    def look(self, idle: Iterable[str], now_s: float) -> Moves:
        """To be asked once a second or so. `idle` are the models in memory that nobody uses: read only if need be.

        A model is told to come once: if it leaves before its call, for lack of room, it stays away. Where the memory is
        full, those that are expected would only drive out each other, again and again.
        """
        turned = self._turned(now_s)
        due = [(name, habit) for name, habit in turned.items() if habit.awaited and _due(habit, now_s)]
        due.sort(key=lambda one: one[1].ended_s)
        for _, habit in due:
            habit.awaited = False
        return Moves(self._asleep(idle, turned, now_s), tuple(name for name, _ in due))

    # -- inside ----------------------------------------------------------------------------------------------------
    def _asleep(self, idle: Iterable[str], turned: dict[str, Habit], now_s: float) -> tuple[str, ...]:
        """Of these, those whose nap has turned to sleep; now and then of all."""
        among = turned
        if now_s - self._swept_s >= SWEEP_S:
            among, self._swept_s = self._known, now_s
        if not among:
            return ()
        return tuple(name for name in idle if (habit := among.get(name)) is not None and not _awake(habit, now_s))

    def _turned(self, now_s: float) -> dict[str, Habit]:
        """Those whose turn it is. Their next one is entered."""
        turned: dict[str, Habit] = {}
        while self._turns and self._turns[0][0] <= now_s + EARLY_S:
            turn_s, name = heappop(self._turns)
            habit = self._known.get(name)
            if habit is not None and habit.turn_s == turn_s:
                habit.turn_s = inf
                turned[name] = habit
        for name, habit in turned.items():
            self._enter(name, habit, _next_turn_s(habit, now_s))
        return turned

    def _enter(self, name: str, habit: Habit, turn_s: float) -> None:
        """Only if it is the model's earliest: an entry that was put off is skipped when it comes up."""
        if turn_s >= habit.turn_s:
            return
        habit.turn_s = turn_s
        heappush(self._turns, (turn_s, name))
        if len(self._turns) > 4 * len(self._known) + 8:
            self._turns = [(one.turn_s, name) for name, one in self._known.items() if one.turn_s < inf]
            heapify(self._turns)


def _awake(habit: Habit, now_s: float) -> bool:
    return habit.keep_alive.nap().awake(now_s - habit.ended_s)


def _due(habit: Habit, now_s: float) -> bool:
    return habit.keep_alive.nap().due(now_s - habit.ended_s)


def _next_turn_s(habit: Habit, now_s: float) -> float:
    """Infinity: it has none before the next use has ended."""
    nap, idle_s = habit.keep_alive.nap(), now_s - habit.ended_s
    return habit.ended_s + next((turn_s for turn_s in (nap.sleep_s, nap.wake_s, nap.until_s) if turn_s > idle_s), inf)
