"""Predictions that take a while: on threads, in the order that `core.turns` gives, together where that is asked for."""

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
    """One request, from when it stands in line until it is answered."""

    work: Work
    invocation: Invocation
    answer: "asyncio.Future[Reply]"


class Predictors:
    """An instance's threads that predict."""

    def __init__(self, threads: Threads, turns: Turns[QueuedRequest], clock: Callable[[], float]) -> None:
        self._threads = threads
        self._turns = turns
        self._clock = clock
        self._serving: dict[Turn[QueuedRequest], asyncio.Task[None]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def lost(self) -> int:
        """Threads that are stuck in a model's own code."""
        return self._threads.lost

    async def predict(self, line: ModelQueue, work: Work, invocation: Invocation) -> Reply:
        """Raises what the work answers. Once all who share a turn have gone, its thread is given up."""
        asked = QueuedRequest(work, invocation, asyncio.get_running_loop().create_future())
        self._ask(line, asked)
        try:
            return await asked.answer
        finally:
            if asked.answer.cancelled():
                self._turns.leave(line, asked)
                self._give_up()

    def close(self) -> None:
        """Whoever still waits is cancelled."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        for task in self._serving.values():
            task.cancel()
        self._threads.close()
        self._go_on()

    def _ask(self, line: ModelQueue, asked: QueuedRequest) -> None:
        now_s = self._clock()
        charged_s = None if self._closed else self._turns.begin(line)
        if charged_s is None:
            self._turns.wait(line, asked, now_s)
            self._go_on()
        else:
            self._begin(Turn(line, (asked,), charged_s), now_s)

    def _go_on(self) -> None:
        """Begin every turn that can begin; look again when one that waits for company has waited enough."""
        if self._closed:
            self._send_away()
            return
        now_s = self._clock()
        while turn := self._turns.next(now_s):
            self._begin(turn, now_s)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if (due_s := self._turns.due_s()) < inf:
            self._alarm = asyncio.get_running_loop().call_later(due_s - now_s, self._go_on)

    def _send_away(self) -> None:
        while turn := self._turns.next(inf):
            for asked in turn.asked:
                asked.answer.cancel()
            self._turns.ended(turn.line, turn.charged_s, 0.0)

    def _begin(self, turn: Turn[QueuedRequest], now_s: float) -> None:
        task = asyncio.create_task(self._serve(turn))
        task.add_done_callback(lambda task: self._over(turn, task, now_s))
        self._serving[turn] = task

    async def _serve(self, turn: Turn[QueuedRequest]) -> None:
        outcomes = await self._threads.run(turn.asked[0].work, [asked.invocation for asked in turn.asked])
        for asked, outcome in zip(turn.asked, outcomes, strict=True):
            _tell(asked, outcome)

    def _over(self, turn: Turn[QueuedRequest], task: "asyncio.Task[None]", began_s: float) -> None:
        for asked in turn.asked:  # those who were told are done, and the rest must not wait for ever
            if task.cancelled():
                asked.answer.cancel()
            elif isinstance(error := task.exception(), Exception):
                _tell(asked, error)
        del self._serving[turn]
        self._turns.ended(turn.line, turn.charged_s, self._clock() - began_s)
        self._go_on()

    def _give_up(self) -> None:
        for turn, task in self._serving.items():
            if all(asked.answer.done() for asked in turn.asked):
                task.cancel()


def _tell(asked: QueuedRequest, outcome: Outcome) -> None:
    if asked.answer.done():  # the caller has gone
        return
    if isinstance(outcome, Exception):
        asked.answer.set_exception(outcome)
    else:
        asked.answer.set_result(outcome)
