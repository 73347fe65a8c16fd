"""Which models leave because nobody calls them, and which come back before somebody does. It moves none itself."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from torpor_container.core.keepalive import KeepAlive


@dataclass(slots=True)
class Habit:
    """One model's callers: their keep-alive, and when the last use ended."""

    keep_alive: KeepAlive
    ended_s: float


class Resting:
    """Remembers the last `known_max` models that were used, each with a keep-alive of its own."""

    def __init__(self, make: Callable[[], KeepAlive], known_max: int = 10_000) -> None:
        self._make = make
        self._known: OrderedDict[str, Habit] = OrderedDict()
        self._known_max = known_max

    def called(self, name: str, now_s: float) -> None:
        """A use begins, with none other going on."""
        habit = self._known.get(name)
        if habit is not None:
            habit.keep_alive.used_after(now_s - habit.ended_s)

    def ended(self, name: str, now_s: float) -> None:
        """The last use that went on has ended."""
        habit = self._known.get(name)
        if habit is None:
            habit = self._known[name] = Habit(self._make(), now_s)
            if len(self._known) > self._known_max:
                self._known.popitem(last=False)
        habit.ended_s = now_s
        self._known.move_to_end(name)

    def asleep(self, names: Iterable[str], now_s: float) -> Iterator[str]:
        """Of these idle models, those that nobody is expected to call."""
        for name in names:
            habit = self._known.get(name)
            if habit is not None and not habit.keep_alive.nap().awake(now_s - habit.ended_s):
                yield name

    def due(self, now_s: float) -> Iterator[str]:
        """The models whose next call is expected."""
        return (name for name, habit in self._known.items() if habit.keep_alive.nap().due(now_s - habit.ended_s))
