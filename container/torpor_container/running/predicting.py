"""Predicts on threads, in the order that `core.turns` gives; one call of a model may serve several of its requests."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from torpor_container.core.turns import ModelQueue, Turn, Turns
from torpor_container.invocation import Invocation, Reply
from torpor_container.processes.threads import Threads

Outcome = Reply | Exception
Work = Callable[[Sequence[Invocation]], Sequence[Outcome]]
"""Predicts in the calling thread: an outcome for each invocation, in order. What it raises is the outcome of all."""


@dataclass(frozen=True, slots=True, eq=False)
class QueuedRequest:
    """One request, from when it joins its model's queue until it is answered."""

    work: Work
    invocation: Invocation
    answer: "asyncio.Future[Reply]"


class Predictors:
    """The threads of one instance that predict."""

    def __init__(self, threads: Threads, turns: Turns[QueuedRequest], clock: Callable[[], float]) -> None:
        self._threads = threads
        self._turns = turns
        self._clock = clock
        self._serving: dict[Turn[QueuedRequest], asyncio.Task[None]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def lost(self) -> int:
        """How many threads are stuck in a model's own code."""
        return self._threads.lost

    async def predict(self, queue: ModelQueue, work: Work, invocation: Invocation) -> Reply:
        """Wait for a turn and predict. Raises the exception that `work` returns.

        Once the callers of all requests of a turn are gone, its thread is given up as lost.
        """
        request = QueuedRequest(work, invocation, asyncio.get_running_loop().create_future())
        self._enqueue(queue, request)
        try:
            return await request.answer
        finally:
            if request.answer.cancelled():
                self._turns.leave(queue, request)
                self._give_up_unawaited()

    def close(self) -> None:
        """Cancel every request that waits, and end the threads."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        for task in self._serving.values():
            task.cancel()
        self._threads.close()
        self._begin_turns()

    def _enqueue(self, queue: ModelQueue, request: QueuedRequest) -> None:
        now_s = self._clock()
        charged_s = None if self._closed else self._turns.begin(queue)
        if charged_s is None:
            self._turns.wait(queue, request, now_s)
            self._begin_turns()
        else:
            self._begin(Turn(queue, (request,), charged_s), now_s)

    def _begin_turns(self) -> None:
        """Begin every turn that can begin; set an alarm for the next one that waits for more requests."""
        if self._closed:
            self._cancel_waiting()
            return
        now_s = self._clock()
        while turn := self._turns.next(now_s):
            self._begin(turn, now_s)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if (due_s := self._turns.due_s()) < inf:
            self._alarm = asyncio.get_running_loop().call_later(due_s - now_s, self._begin_turns)

    def _cancel_waiting(self) -> None:
        while turn := self._turns.next(inf):
            for request in turn.requests:
                request.answer.cancel()
            self._turns.ended(turn.queue, turn.charged_s, 0.0)

    def _begin(self, turn: Turn[QueuedRequest], now_s: float) -> None:
        task = asyncio.create_task(self._serve(turn))
        task.add_done_callback(lambda task: self._end(turn, task, now_s))
        self._serving[turn] = task

    async def _serve(self, turn: Turn[QueuedRequest]) -> None:
        outcomes = await self._threads.run(turn.requests[0].work, [request.invocation for request in turn.requests])
        for request, outcome in zip(turn.requests, outcomes, strict=True):
            _answer(request, outcome)

    def _end(self, turn: Turn[QueuedRequest], task: "asyncio.Task[None]", began_s: float) -> None:
        for request in turn.requests:  # those without an answer must not wait for ever
            if task.cancelled():
                request.answer.cancel()
            elif isinstance(error := task.exception(), Exception):
                _answer(request, error)
        del self._serving[turn]
        self._turns.ended(turn.queue, turn.charged_s, self._clock() - began_s)
        self._begin_turns()

    def _give_up_unawaited(self) -> None:
        """Cancel the turns of which no caller awaits an answer."""
        for turn, task in self._serving.items():
            if all(request.answer.done() for request in turn.requests):
                task.cancel()


def _answer(request: QueuedRequest, outcome: Outcome) -> None:
    if request.answer.done():  # the caller is gone
        return
    if isinstance(outcome, Exception):
        request.answer.set_exception(outcome)
    else:
        request.answer.set_result(outcome)
