"""Whose turn it is to predict: models share the threads by time, and requests of one model may share a turn.

Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the model that has had the least time goes first, and one
that nobody called for a while has saved nothing up. So a busy or slow model delays another by one turn, however many
wait for it. It knows no clock and no thread.
"""

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

Asked = TypeVar("Asked")

LEARNING: Final = 0.2


@dataclass(frozen=True, slots=True)
class Sharing:
    """`at_once` turns side by side, `per_model` of them one model's. A turn serves up to `batch_size` requests of a
    model whose requests may share one, and waits for them `delay_s` seconds at most."""

    at_once: int = 1
    per_model: int = 1
    batch_size: int = 1
    delay_s: float = 0.0


class ModelQueue:
    """One model's: what it has had. It lives as long as the model is loaded."""

    __slots__ = ("had_s", "last_size", "running", "shares", "usual_s")

    def __init__(self, shares: bool = False) -> None:
        """`shares`: whether several of its requests may be served by one turn."""
        self.shares = shares
        self.running = 0
        self.had_s = 0.0  # in virtual time, so that only differences mean something
        self.usual_s = 0.0
        self.last_size = 1


class Turn(Generic[Asked]):
    """Those who are served together, in order. `charged_s` was taken off their model's share beforehand."""

    __slots__ = ("asked", "charged_s", "line")

    def __init__(self, line: ModelQueue, asked: tuple[Asked, ...], charged_s: float) -> None:
        self.line = line
        self.asked = asked
        self.charged_s = charged_s


class Turns(Generic[Asked]):
    """Times are seconds of the caller's clock. A choice takes a look at each model that somebody waits for."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing
        self._at_once = sharing.at_once
        self._per_model = sharing.per_model
        self.waiting: dict[ModelQueue, deque[tuple[float, Asked]]] = {}  # since when, and who; equals go in this order
        self._running = 0
        self._virtual_s = 0.0  # where the fair share stands: of the turn that began last

    def begin(self, line: ModelQueue) -> float | None:
        """Begin a turn for one who comes while nobody waits, and who is not kept for company. What it is charged
        beforehand; None if he must wait."""
        if self.waiting or self._running == self._at_once or line.running == self._per_model or line.last_size > 1:
            return None
        if not line.running and line.had_s < self._virtual_s:
            line.had_s = self._virtual_s
        return self._charged(line)

    def wait(self, line: ModelQueue, asked: Asked, now_s: float) -> None:
        """Stand in line."""
        waiting = self.waiting.get(line)
        if waiting is None:
            waiting = self.waiting[line] = deque()
            if not line.running:
                line.had_s = max(line.had_s, self._virtual_s)
        waiting.append((now_s, asked))

    def leave(self, line: ModelQueue, asked: Asked) -> None:
        """Wait no more. Whose turn has begun is not in line any more."""
        if line not in self.waiting:
            return
        self.waiting[line] = deque(one for one in self.waiting[line] if one[1] is not asked)
        if not self.waiting[line]:
            del self.waiting[line]

    def next(self, now_s: float) -> Turn[Asked] | None:
        """Begin a turn; None if none can begin now."""
        if self._running == self._at_once:
            return None
        chosen = None
        for line in self.waiting:
            if (chosen is None or line.had_s < chosen.had_s) and self._may_begin(line, now_s):
                chosen = line
        return self._begin(chosen) if chosen is not None else None

    def due_s(self) -> float:
        """When a turn that waits for company will begin without; infinite if none does."""
        if self._running == self._at_once:
            return inf
        return min((self._gathered_s(line) for line in self.waiting if self._may_begin(line)), default=inf)

    def ended(self, line: ModelQueue, charged_s: float, took_s: float) -> None:
        """One of its turns is over, well or not. What it was charged beforehand is put right."""
        self._running -= 1
        line.running -= 1
        line.had_s += took_s - charged_s
        line.usual_s += (took_s - line.usual_s) * (LEARNING if line.usual_s else 1.0)

    def _may_begin(self, line: ModelQueue, now_s: float = inf) -> bool:
        return line.running < self._per_model and self._gathered_s(line) <= now_s

    def _gathered_s(self, line: ModelQueue) -> float:
        """From when on its turn need wait for nobody: company is expected as far as the last turn had some."""
        expected = min(self._sharing.batch_size, line.last_size)
        waiting = self.waiting[line]
        since_s, _ = waiting[0]
        return since_s + self._sharing.delay_s if len(waiting) < expected else since_s

    def _begin(self, line: ModelQueue) -> Turn[Asked]:
        waiting = self.waiting[line]
        size = min(len(waiting), self._sharing.batch_size) if line.shares else 1
        asked = tuple([waiting.popleft()[1] for _ in range(size)])
        if not waiting:
            del self.waiting[line]
        line.last_size = size
        return Turn(line, asked, self._charged(line))

    def _charged(self, line: ModelQueue) -> float:
        """What its turn, which begins, has taken off its share."""
        if self._virtual_s < line.had_s:
            self._virtual_s = line.had_s
        charged_s = line.usual_s
        self._running += 1
        line.running += 1
        line.had_s += charged_s
        return charged_s
