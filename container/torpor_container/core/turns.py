"""Decides which model predicts next: models share the processors by time, and requests of one may share a turn.

Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the model that has used the least time goes first, and a
model without requests saves up no time. So a busy or slow model delays another by one turn, however many requests wait
for it. The module knows no clock, no thread and no process.

A model with workers of its own, such as a user script, may wait while it answers: for a network, a disk, or this
instance itself. What waits needs no processor, so a turn of such a model counts by the part of a processor that its
turns usually keep busy. One that takes long counts no more after SLICE_S, and the system shares the processors from
then on, as on any machine: so a script that hangs holds up no other model, and one that calls its own endpoint is
answered.
"""

from collections import deque
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, inf
from typing import Final, Generic, TypeVar

Request = TypeVar("Request")

LEARNING: Final = 0.2
SLICE_S: Final = 1.0
"""How long a turn of a model with workers of its own counts."""
GRAIN: Final = 64
"""Parts of a processor are counted in this many, so that their sums are exact."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """A turn begins while those that run keep fewer than `parallel` processors busy; at most `per_model` of them are
    one model's, or as many as it has workers of its own. A turn serves up to `batch_size` requests of a model whose
    requests may share one, and waits for them `delay_s` seconds at most."""

    parallel: int = 1
    per_model: int = 1
    batch_size: int = 1
    delay_s: float = 0.0


class ModelQueue:
    """One model's place in the fair queue, for as long as the model is loaded."""

    __slots__ = (
        "_usually_busy", "began_s", "busy", "last_size", "place", "running", "shares", "used_s", "usual_s", "workers",
    )  # fmt: skip

    def __init__(self, shares: bool = False, workers: int = 0) -> None:
        """`shares`: whether one turn may serve several of its requests. `workers`: how many processes of its own answer
        them; 0 for the threads that all models share."""
        self.shares = shares
        self.workers = workers
        self.busy = 1.0  # the part of a processor that one of its turns keeps busy: all of it, until that is known
        self._usually_busy: float | None = None
        self.began_s: list[float] = []  # of its turns that count, if it has workers
        self.running = 0
        self.used_s = 0.0  # in virtual time, so that only differences mean something
        self.usual_s = 0.0  # what a turn usually takes
        self.last_size = 1
        self.place = 0  # among the models with requests that wait, in the order in which they came; 0: none waits

    def worked(self, part: float) -> None:
        """Learn from one turn which part of its time it kept a processor busy."""
        kept = min(1.0, max(0.0, part))
        usually = kept if self._usually_busy is None else self._usually_busy
        self._usually_busy = usually = usually + (kept - usually) * LEARNING
        self.busy = ceil(usually * GRAIN) / GRAIN


class Turn(Generic[Request]):
    """The requests that are served together, in order. `charged_s` was charged to their queue in advance."""

    __slots__ = ("charged_s", "queue", "requests")

    def __init__(self, queue: ModelQueue, requests: tuple[Request, ...], charged_s: float) -> None:
        self.queue = queue
        self.requests = requests
        self.charged_s = charged_s


class Turns(Generic[Request]):
    """The queues of all models. Times are seconds of the caller's clock."""

    def __init__(self, sharing: Sharing) -> None:
        self.sharing = sharing
        self._parallel = sharing.parallel
        self._per_model = sharing.per_model
        self.waiting: dict[ModelQueue, deque[tuple[float, Request]]] = {}
        """Requests with the time since when they wait. Of models that have used equal time, the first goes first."""
        self.sliced: dict[ModelQueue, None] = {}
        """Models with workers of their own that have a turn which counts."""
        self.gathers = sharing.delay_s > 0  # whether a turn may wait for more requests
        self._line: list[tuple[float, int, ModelQueue]] = []
        """A heap of the models with requests that wait, by the time that they have used, and by place. A model whose
        time has changed since has another entry; one that is full has none until a turn of it ends."""
        self._places = 0  # how many places were given
        self._busy = 0.0  # processors that the turns keep busy, as far as they count
        self._virtual_s = 0.0  # where the fair share stands: that of the turn that began last

    def begin(self, queue: ModelQueue, now_s: float) -> float | None:
        """Begin a turn for one new request if no request waits and none is expected to share the turn.

        The seconds charged in advance; None if the request must wait.
        """
        if self.waiting or self._busy >= self._parallel or queue.last_size > 1:
            return None
        if queue.running == (queue.workers or self._per_model):
            return None
        if queue.used_s < self._virtual_s and not (_counts(queue, now_s) if queue.workers else queue.running):
            queue.used_s = self._virtual_s
        if queue.workers:
            return self._charge(queue, now_s)
        if self._virtual_s < queue.used_s:  # as `_charge` does, without a call
            self._virtual_s = queue.used_s
        charged_s = queue.usual_s
        self._busy += queue.busy
        queue.running += 1
        queue.used_s += charged_s
        return charged_s

    def wait(self, queue: ModelQueue, request: Request, now_s: float) -> None:
        """Put a request at the end of its model's queue."""
        waiting = self.waiting.get(queue)
        if waiting is None:
            waiting = self.waiting[queue] = deque()
            if not _counts(queue, now_s):
                queue.used_s = max(queue.used_s, self._virtual_s)
            self._places += 1
            queue.place = self._places
            self._enter_line(queue)
        waiting.append((now_s, request))

    def leave(self, queue: ModelQueue, request: Request) -> None:
        """Remove a request that waits. One whose turn has begun does not wait any more."""
        if queue not in self.waiting:
            return
        self.waiting[queue] = deque(entry for entry in self.waiting[queue] if entry[1] is not request)
        if not self.waiting[queue]:
            del self.waiting[queue]
            queue.place = 0

    def leave_all(self) -> list[Request]:
        """Remove all requests that wait, and return them."""
        left = [request for waiting in self.waiting.values() for _, request in waiting]
        for queue in self.waiting:
            queue.place = 0
        self.waiting.clear()
        return left

    def next(self, now_s: float) -> Turn[Request] | None:
        """Begin the next turn; None if none can begin now."""
        if self._busy >= self._parallel and not self._count_fewer(now_s):
            return None
        line, gathering = self._line, list[tuple[float, int, ModelQueue]]()
        chosen = None
        while line and chosen is None:
            used_s, place, queue = entry = heappop(line)
            if place != queue.place or used_s != queue.used_s or self._is_full(queue):
                continue
            if self._gathered_s(queue) > now_s:
                gathering.append(entry)
            else:
                chosen = queue
        for entry in gathering:
            heappush(line, entry)
        return self._begin(chosen, now_s) if chosen is not None else None

    def _enter_line(self, queue: ModelQueue) -> None:
        """The model waits for its next turn. Entries that are out of date leave once they are the majority."""
        if len(self._line) > 2 * len(self.waiting) + 8:
            self._line = [(one.used_s, one.place, one) for one in self.waiting if one is not queue]
            heapify(self._line)
        heappush(self._line, (queue.used_s, queue.place, queue))

    def due_s(self) -> float:
        """When a turn may begin although no other one ends before: one that waits for more requests begins without
        them, or a slice is over. Infinite if none may."""
        if self._busy >= self._parallel:
            if not (self.sliced and any(map(self._may_begin, self.waiting))):
                return inf
            return min(queue.began_s[0] for queue in self.sliced) + SLICE_S
        return min((self._gathered_s(queue) for queue in self.waiting if self._may_begin(queue)), default=inf)

    def ended(self, queue: ModelQueue, charged_s: float, took_s: float) -> None:
        """A turn is over, successful or not. Replaces what it was charged in advance by what it took."""
        self._busy -= 1.0
        queue.running -= 1  # as `_settle` does, without a call
        queue.used_s += took_s - charged_s
        if queue.place:
            self._enter_line(queue)
        queue.usual_s += (took_s - queue.usual_s) * (LEARNING if queue.usual_s else 1.0)

    def worker_ended(
        self, queue: ModelQueue, charged_s: float, began_s: float, now_s: float, part: float | None
    ) -> None:
        """The same for a turn of a model with workers of its own, which began then. `part`: the part of its time that
        it kept a processor busy; None if that is not known. It is charged for no longer than it counts."""
        if began_s in queue.began_s:
            self._count_no_more(queue, began_s)
        if part is not None:
            counted = queue.busy
            queue.worked(part)
            self._busy += (queue.busy - counted) * len(queue.began_s)
        self._settle(queue, charged_s, min(now_s - began_s, SLICE_S) * queue.busy)

    def _settle(self, queue: ModelQueue, charged_s: float, took_s: float) -> None:
        queue.running -= 1
        queue.used_s += took_s - charged_s
        if queue.place:
            self._enter_line(queue)
        queue.usual_s += (took_s - queue.usual_s) * (LEARNING if queue.usual_s else 1.0)

    def _count_fewer(self, now_s: float) -> bool:
        """Count no more the turns whose slice is over: whether another turn may begin."""
        for queue in tuple(self.sliced):
            for began_s in [one for one in queue.began_s if one + SLICE_S <= now_s]:
                self._count_no_more(queue, began_s)
        return self._busy < self._parallel

    def _count_no_more(self, queue: ModelQueue, began_s: float) -> None:
        queue.began_s.remove(began_s)
        self._busy -= queue.busy
        if not queue.began_s:
            del self.sliced[queue]

    def _is_full(self, queue: ModelQueue) -> bool:
        return queue.running == (queue.workers or self._per_model)

    def _may_begin(self, queue: ModelQueue, now_s: float = inf) -> bool:
        return not self._is_full(queue) and self._gathered_s(queue) <= now_s

    def _gathered_s(self, queue: ModelQueue) -> float:
        """When the queue's next turn need wait no longer: it expects as many requests as the last turn had."""
        expected = min(self.sharing.batch_size, queue.last_size)
        waiting = self.waiting[queue]
        since_s, _ = waiting[0]
        return since_s + self.sharing.delay_s if len(waiting) < expected else since_s

    def _begin(self, queue: ModelQueue, now_s: float) -> Turn[Request]:
        waiting = self.waiting[queue]
        size = min(len(waiting), self.sharing.batch_size) if queue.shares else 1
        requests = tuple([waiting.popleft()[1] for _ in range(size)])
        queue.last_size = size
        charged_s = self._charge(queue, now_s)
        if waiting:
            self._enter_line(queue)
        else:
            del self.waiting[queue]
            queue.place = 0
        return Turn(queue, requests, charged_s)

    def _charge(self, queue: ModelQueue, now_s: float) -> float:
        """Count a turn that begins, and charge its queue what a turn usually takes."""
        if self._virtual_s < queue.used_s:
            self._virtual_s = queue.used_s
        charged_s = queue.usual_s
        self._busy += queue.busy
        if queue.workers:
            queue.began_s.append(now_s)
            self.sliced[queue] = None
        queue.running += 1
        queue.used_s += charged_s
        return charged_s


def _counts(queue: ModelQueue, now_s: float) -> bool:
    """Whether the model has a turn that counts: one that has none saves up no time."""
    if not queue.workers:
        return queue.running > 0
    return any(began_s + SLICE_S > now_s for began_s in queue.began_s)
