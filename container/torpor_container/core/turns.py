"""Decides which model predicts next: models share the threads by time, and requests of one model may share a turn.

Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the model that has used the least time goes first, and a
model without requests saves up no time. So a busy or slow model delays another by one turn, however many requests wait
for it. The module knows no clock and no thread.
"""

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, TypeVar

Request = TypeVar("Request")

LEARNING: Final = 0.2


@dataclass(frozen=True, slots=True)
class Sharing:
    """At most `parallel` turns run side by side, `per_model` of them one model's. A turn serves up to `batch_size`
    requests of a model whose requests may share one, and waits for them `delay_s` seconds at most."""

    parallel: int = 1
    per_model: int = 1
    batch_size: int = 1
    delay_s: float = 0.0


class ModelQueue:
    """One model's place in the fair queue, for as long as the model is loaded."""

    __slots__ = ("last_size", "running", "shares", "used_s", "usual_s")

    def __init__(self, shares: bool = False) -> None:
        """`shares`: whether one turn may serve several of its requests."""
        self.shares = shares
        self.running = 0
        self.used_s = 0.0  # in virtual time, so that only differences mean something
        self.usual_s = 0.0  # what a turn usually takes
        self.last_size = 1


class Turn(Generic[Request]):
    """The requests that are served together, in order. `charged_s` was charged to their queue in advance."""

    __slots__ = ("charged_s", "queue", "requests")

    def __init__(self, queue: ModelQueue, requests: tuple[Request, ...], charged_s: float) -> None:
        self.queue = queue
        self.requests = requests
        self.charged_s = charged_s


class Turns(Generic[Request]):
    """The queues of all models. Times are seconds of the caller's clock. `next` looks at each model with requests."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing
        self._parallel = sharing.parallel
        self._per_model = sharing.per_model
        self.waiting: dict[ModelQueue, deque[tuple[float, Request]]] = {}
        """Requests with the time since when they wait. Of models that have used equal time, the first goes first."""
        self._running = 0
        self._virtual_s = 0.0  # where the fair share stands: that of the turn that began last

    def begin(self, queue: ModelQueue) -> float | None:
        """Begin a turn for one new request if no request waits and none is expected to share the turn.

        The seconds charged in advance; None if the request must wait.
        """
        if self.waiting or self._running == self._parallel or queue.running == self._per_model or queue.last_size > 1:
            return None
        if not queue.running and queue.used_s < self._virtual_s:
            queue.used_s = self._virtual_s
        return self._charge(queue)

    def wait(self, queue: ModelQueue, request: Request, now_s: float) -> None:
        """Put a request at the end of its model's queue."""
        waiting = self.waiting.get(queue)
        if waiting is None:
            waiting = self.waiting[queue] = deque()
            if not queue.running:
                queue.used_s = max(queue.used_s, self._virtual_s)
        waiting.append((now_s, request))

    def leave(self, queue: ModelQueue, request: Request) -> None:
        """Remove a request that waits. One whose turn has begun does not wait any more."""
        if queue not in self.waiting:
            return
        self.waiting[queue] = deque(entry for entry in self.waiting[queue] if entry[1] is not request)
        if not self.waiting[queue]:
            del self.waiting[queue]

    def next(self, now_s: float) -> Turn[Request] | None:
        """Begin the next turn; None if none can begin now."""
        if self._running == self._parallel:
            return None
        chosen = None
        for queue in self.waiting:
            if (chosen is None or queue.used_s < chosen.used_s) and self._may_begin(queue, now_s):
                chosen = queue
        return self._begin(chosen) if chosen is not None else None

    def due_s(self) -> float:
        """When a turn that waits for more requests begins without them; infinite if no turn does."""
        if self._running == self._parallel:
            return inf
        return min((self._gathered_s(queue) for queue in self.waiting if self._may_begin(queue)), default=inf)

    def ended(self, queue: ModelQueue, charged_s: float, took_s: float) -> None:
        """A turn is over, successful or not. Replaces what it was charged in advance by what it took."""
        self._running -= 1
        queue.running -= 1
        queue.used_s += took_s - charged_s
        queue.usual_s += (took_s - queue.usual_s) * (LEARNING if queue.usual_s else 1.0)

    def _may_begin(self, queue: ModelQueue, now_s: float = inf) -> bool:
        return queue.running < self._per_model and self._gathered_s(queue) <= now_s

    def _gathered_s(self, queue: ModelQueue) -> float:
        """When the queue's next turn need wait no longer: it expects as many requests as the last turn had."""
        expected = min(self._sharing.batch_size, queue.last_size)
        waiting = self.waiting[queue]
        since_s, _ = waiting[0]
        return since_s + self._sharing.delay_s if len(waiting) < expected else since_s

    def _begin(self, queue: ModelQueue) -> Turn[Request]:
        waiting = self.waiting[queue]
        size = min(len(waiting), self._sharing.batch_size) if queue.shares else 1
        requests = tuple([waiting.popleft()[1] for _ in range(size)])
        if not waiting:
            del self.waiting[queue]
        queue.last_size = size
        return Turn(queue, requests, self._charge(queue))

    def _charge(self, queue: ModelQueue) -> float:
        """Count a turn that begins, and charge its queue what a turn usually takes."""
        if self._virtual_s < queue.used_s:
            self._virtual_s = queue.used_s
        charged_s = queue.usual_s
        self._running += 1
        queue.running += 1
        queue.used_s += charged_s
        return charged_s
