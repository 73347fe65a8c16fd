"""Gives the requests of an instance their turns, in the order that `core.turns` decides.

A model of a known format predicts on a thread, and one call may serve several of its requests. A model with workers of
its own answers there, and its request only holds the turn.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import cast

from torpor_container.core.turns import ModelQueue, Turn, Turns
from torpor_container.invocation import Invocation, Reply
from torpor_container.measuring.effort import Effort
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


@dataclass(slots=True, eq=False)
class HeldTurn:
    """The turn of a request whose model has workers of its own. Whoever holds it sets `effort`, if it was measured."""

    charged_s: float
    began_s: float
    effort: Effort | None = None

    def measured(self, effort: Effort) -> None:
        self.effort = effort


@dataclass(frozen=True, slots=True, eq=False)
class AwaitedTurn:
    """Such a request, from when it joins its model's queue until its turn has come."""

    answer: "asyncio.Future[HeldTurn]"


AnyRequest = QueuedRequest | AwaitedTurn


class Predictors:
    """The threads of one instance that predict, and the turns of all its requests."""

    def __init__(self, threads: Threads, turns: Turns[AnyRequest], clock: Callable[[], float]) -> None:
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

    @asynccontextmanager
    async def turn(self, queue: ModelQueue) -> AsyncIterator[HeldTurn]:
        """Wait for a turn of a model that has workers of its own. The turn is over at the end of the block."""
        request = AwaitedTurn(asyncio.get_running_loop().create_future())
        self._enqueue(queue, request)
        try:
            held = await request.answer
        except asyncio.CancelledError:
            if request.answer.cancelled():
                self._turns.leave(queue, request)
            else:  # its turn had just come
                self._give_back(queue, request.answer.result())
            raise
        try:
            yield held
        finally:
            self._give_back(queue, held)

    def close(self) -> None:
        """Cancel every request that waits, and end the threads."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        for task in self._serving.values():
            task.cancel()
        self._threads.close()
        self._begin_turns()

    def _enqueue(self, queue: ModelQueue, request: AnyRequest) -> None:
        now_s = self._clock()
        charged_s = None if self._closed else self._turns.begin(queue, now_s)
        if charged_s is None:
            self._turns.wait(queue, request, now_s)
            self._begin_turns()
        else:
            self._begin(Turn[AnyRequest](queue, (request,), charged_s), now_s)

    def _begin_turns(self) -> None:
        """Begin every turn that can begin; set an alarm for the next one that may begin although none ends."""
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
        for request in self._turns.leave_all():
            request.answer.cancel()

    def _begin(self, turn: Turn[AnyRequest], now_s: float) -> None:
        first = turn.requests[0]
        if isinstance(first, AwaitedTurn):
            held = HeldTurn(turn.charged_s, now_s)
            if first.answer.done():  # its caller has just left, and is about to leave the queue
                self._turns.worker_ended(turn.queue, held.charged_s, held.began_s, now_s, None)
            else:
                first.answer.set_result(held)
        else:
            self._begin_on_thread(cast(Turn[QueuedRequest], turn), now_s)  # all requests of a queue are of one kind

    def _give_back(self, queue: ModelQueue, held: HeldTurn) -> None:
        part = None if held.effort is None else held.effort.part_busy
        self._turns.worker_ended(queue, held.charged_s, held.began_s, self._clock(), part)
        self._begin_turns()

    def _begin_on_thread(self, turn: Turn[QueuedRequest], now_s: float) -> None:
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
