"""Loaded models that can predict, in this process or in one of their own. Runners know nothing of residency."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Protocol, runtime_checkable

from torpor_container.core.prediction_pace import LONG_S, PredictionPace
from torpor_container.core.turns import ModelQueue
from torpor_container.errors import ContainerError, PredictionFailed, TimedOut
from torpor_container.formats import ServableModel
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.invocation import Invocation, Reply, StreamReply, in_one_part
from torpor_container.measuring.effort import CLOCKS, Effort, EffortClocks, measured
from torpor_container.measuring.server_timing import Timing
from torpor_container.processes.process_tree import descendants
from torpor_container.processes.threads import on_thread
from torpor_container.running.predicting import HeldTurn, Outcome, Predictors
from torpor_container.running.script_workers import ScriptWorkers
from torpor_container.transport.loop_batch import LoopBatch
from torpor_container.wire import WaitStep

log = logging.getLogger(__name__)

CHEAP_BYTES = 64 * 1024
"""A larger body is never predicted on the event loop."""
TOGETHER_MAX = 32
"""Unless a setting says otherwise, this many requests that are there at the same time share a prediction on the event
loop. None of them waits longer for it: their answers leave together anyway."""
PREDICT = WaitStep.PREDICT
"""Looked up once, since an enumeration looks up its member each time."""
MEASURED_EVERY = 16
"""On the event loop, a model's first prediction is measured and then one in this many: the clocks cost a part of what
they measure."""


class Runner(Protocol):
    """One loaded model."""

    format: str
    needs_folder: bool
    """Whether it may read the model's folder for as long as it is loaded."""

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        """Predict, and record in `timing` what it took. Raises the container's errors; TimedOut after `timeout_s`."""

    def stream(
        self, invocation: Invocation, timeout_s: float, timing: Timing
    ) -> AbstractAsyncContextManager[StreamReply]:
        """Predict in parts: the block begins when the first part is there, and no part is made after it.

        Raises as `invoke`; so do the parts. `timeout_s` is for each part.
        """

    async def close(self) -> Effort | None:
        """Release everything it holds. The effort of that; None where other work took part in it."""

    @property
    def alive(self) -> bool:
        """Whether it can answer again."""

    @property
    def workers(self) -> int | None:
        """How many processes of its own answer its requests, one at a time each; 0 where threads of the instance do,
        None where that is not known."""

    def processes(self) -> list[list[int]]:
        """The pids of its own processes: for each worker its own, and then those that it started; none for a model
        inside this process."""


@runtime_checkable
class TakesAdapters(Protocol):
    """A model that takes adapters, which requests name."""

    async def load_adapter(self, invocation: Invocation, timing: Timing) -> None:
        """Have the adapter that the request names. Raises the container's errors."""


Then = Callable[[Reply | ContainerError], None]
"""The runner calls it once, with the answer or with the error. It raises nothing."""


LoopRequest = tuple[Invocation, Timing, float, Then]
"""A request that is answered on the event loop: since when it waits, and who gets its answer."""


class InProcess:
    """A model of a known format. A model that predicts cheaply, as measured, does so on the event loop, where no time
    limit holds. Others predict on a thread, as does every model that runs foreign code."""

    alive = True
    workers = 0

    def __init__(
        self,
        model: ServableModel,
        predictors: Predictors,
        clocks: EffortClocks = CLOCKS,
        batch_size: int | None = None,
        released: Callable[[], None] = lambda: None,
    ) -> None:
        """Up to `batch_size` requests that come in one turn of the event loop share a prediction if the model is
        `rowwise`; TOGETHER_MAX of them if it is None. `released` is called once the model is closed."""
        together_max = TOGETHER_MAX if batch_size is None else batch_size
        self.format = model.format
        self.needs_folder = False
        self._model = model
        self._released = released
        self._predictors = predictors
        self._queue = ModelQueue(shares=model.rowwise)
        self._clocks = clocks
        self._clock = clocks.wall
        self._pace = PredictionPace()
        self._unmeasured = MEASURED_EVERY - 1
        shares = model.rowwise and together_max > 1
        self._together = LoopBatch(self._answer_together, together_max) if shares else None

    def expect(self, predicted_s: float) -> None:
        """A row took so many processor seconds to predict elsewhere; 0 if that is not known. So its first call need not
        be measured on a thread."""
        if predicted_s:
            self._pace.took(predicted_s, predicted_s)

    def cheap(self, body: bytes) -> bool:
        """Whether a prediction takes so little time that it may hold up the event loop."""
        return self._pace.cheap and len(body) <= CHEAP_BYTES and not self._model.foreign

    def answer(self, invocation: Invocation, timing: Timing) -> Reply:
        """Predict in this call, on the event loop."""
        (outcome,) = self._predict_on_loop(((invocation, timing, self._clock(), _unheard),))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def answer_soon(self, invocation: Invocation, timing: Timing, then: Then) -> None:
        """Predict on the event loop and call `then`: now, or with the other requests of this turn of the loop."""
        since_s = self._clock()
        if self._together is not None:
            self._together.add((invocation, timing, since_s, then))
        elif self._unmeasured == MEASURED_EVERY - 1:
            self._answer_together(((invocation, timing, since_s, then),))
        else:
            self._unmeasured += 1
            then(self._unmeasured_alone(invocation, timing, since_s))

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        if self.cheap(invocation.body):
            return self.answer(invocation, timing)
        with timing.step(WaitStep.PREDICT):  # waiting for a thread included, as in SageMaker's ModelLatency
            try:
                async with asyncio.timeout(timeout_s):
                    reply = await self._predictors.predict(self._queue, self._predict, invocation)
            except TimeoutError:
                raise TimedOut(timeout_s) from None
        timing.effort = reply.effort
        return reply

    @asynccontextmanager
    async def stream(self, invocation: Invocation, timeout_s: float, timing: Timing) -> AsyncIterator[StreamReply]:
        yield in_one_part(await self.invoke(invocation, timeout_s, timing))

    def change(self, model: ServableModel, released: Callable[[], None] = lambda: None) -> Callable[[], None]:
        """Predict with another form of the model from now on. The function that is returned frees the former one."""
        former, released_former = self._model, self._released
        self._model, self._released = model, released

        def free() -> None:
            former.give_way(model)
            released_former()

        return free

    async def close(self) -> Effort:
        _, effort = await on_thread(measured, self._close)
        return effort

    def _close(self) -> None:
        self._model.close()
        self._released()

    def processes(self) -> list[list[int]]:
        return []

    def _predict(self, invocations: Sequence[Invocation]) -> Sequence[Reply | Exception]:
        if len(invocations) > 1:
            return self._measured_together(invocations)
        return [self._measured(invocations[0])]

    def _answer_together(self, requests: Sequence[LoopRequest]) -> None:
        outcomes = self._predict_on_loop(requests)
        for (_, _, _, then), outcome in zip(requests, outcomes, strict=True):
            then(outcome if isinstance(outcome, Reply) else _error_of(outcome))

    def _predict_on_loop(self, requests: Sequence[LoopRequest]) -> Sequence[Outcome]:
        """A request waits for the whole prediction, and its effort is its part of the whole."""
        self._unmeasured = unmeasured = (self._unmeasured + 1) % MEASURED_EVERY
        stopwatch = None if unmeasured else self._clocks.start()
        began_s = self._clock()
        outcomes = self._outcomes([invocation for invocation, _, _, _ in requests])
        whole = None if stopwatch is None else stopwatch()  # before the clock: an effort is within its step
        until_s = self._clock()
        for _, timing, since_s, _ in requests:
            timing.add(PREDICT, until_s - since_s)
        if whole is not None and _predicted(outcomes):
            effort = whole.shared(len(requests))
            self._pace.took(effort.work_s, effort.wall_s)
            for _, timing, _, _ in requests:
                timing.effort = effort
        if until_s - began_s > LONG_S:
            self._pace.held_up()
        return outcomes

    def _unmeasured_alone(self, invocation: Invocation, timing: Timing, since_s: float) -> Reply | ContainerError:
        """As `_predict_on_loop`, for one request that is not measured and shares nothing."""
        (outcome,) = self._outcomes((invocation,))
        took_s = self._clock() - since_s
        timing.add(PREDICT, took_s)
        if took_s > LONG_S:
            self._pace.held_up()
        return outcome if isinstance(outcome, Reply) else _error_of(outcome)

    def _outcomes(self, invocations: Sequence[Invocation]) -> Sequence[Outcome]:
        try:
            if len(invocations) > 1:
                return self._model.invoke_together(invocations)
            return [self._model.invoke(invocations[0])]
        except Exception as error:  # noqa: BLE001  a model may raise anything: it is the answer of each request
            return [error] * len(invocations)

    def _measured_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        stopwatch = self._clocks.start()
        outcomes = self._model.invoke_together(invocations)
        effort = stopwatch().shared(len(invocations))
        return [one._replace(effort=effort) if isinstance(one, Reply) else one for one in outcomes]

    def _measured(self, invocation: Invocation) -> Reply:
        stopwatch = self._clocks.start()
        reply = self._model.invoke(invocation)
        effort = stopwatch()
        self._pace.took(effort.work_s, effort.wall_s)
        return reply._replace(effort=effort)


def _predicted(outcomes: Sequence[Outcome]) -> bool:
    """Whether any request has an answer: a refusal or a failure does not show what a prediction takes."""
    return any(isinstance(outcome, Reply) for outcome in outcomes)


def _unheard(outcome: Reply | ContainerError) -> None:
    """For a request whose caller takes the outcome itself."""


def _error_of(outcome: Exception) -> ContainerError:
    """Log any other exception with its traceback: it is a fault of this package, not of a model."""
    if isinstance(outcome, ContainerError):
        return outcome
    log.error("a prediction failed with an error that is not the model's", exc_info=outcome)
    return PredictionFailed.because(outcome)


class Scripted:
    """A user script in processes of its own: it may crash, leak or hang without harm to other models."""

    format = "script"
    needs_folder = True

    def __init__(
        self, processes: Sequence[ScriptProcess], closed: Callable[[], Awaitable[None]], predictors: Predictors
    ) -> None:
        """Each of `processes` answers one request at a time, at the turns that `predictors` gives. `closed` ends them
        and removes what they leave behind."""
        self.workers = len(processes)
        self._workers = ScriptWorkers(processes)
        self._closed = closed
        self._predictors = predictors
        self._queue = ModelQueue(workers=len(processes))

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        """The timeout begins once a worker is free for it: the script is not at fault for the wait before it."""
        laps = timing.laps()
        try:
            async with asyncio.timeout(timeout_s) as patience, self._turn(invocation) as (number, turn):
                laps(WaitStep.QUEUE)
                patience.reschedule(asyncio.get_running_loop().time() + timeout_s)
                reply = await self._workers.processes[number].invoke(invocation)
                self._answered(number, turn, reply)
        except TimeoutError:
            raise TimedOut(timeout_s) from None
        finally:
            laps(WaitStep.PREDICT)
        timing.effort = reply.effort
        return reply

    @asynccontextmanager
    async def stream(self, invocation: Invocation, timeout_s: float, timing: Timing) -> AsyncIterator[StreamReply]:
        """The step predict is the time to the first part."""
        laps = timing.laps()
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(timeout_s):
                    number, turn = await stack.enter_async_context(self._turn(invocation))
                laps(WaitStep.QUEUE)
                streamed = self._workers.processes[number].stream(invocation, timeout_s, turn.measured)
                reply = await stack.enter_async_context(streamed)
            except TimeoutError:
                raise TimedOut(timeout_s) from None
            finally:
                laps(WaitStep.PREDICT)
            self._answered(number, turn, reply.head)
            timing.effort = reply.head.effort
            yield reply

    async def close(self) -> None:
        await self._closed()

    async def retire(self, within_s: float) -> None:
        """Once one worker has ended: wait until the others have answered what they have, for so long at most. Other
        requests raise NotCalled from now on."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._workers.retire()

    @property
    def alive(self) -> bool:
        return all(process.alive for process in self._workers.processes)

    def processes(self) -> list[list[int]]:
        return [[worker.pid, *descendants(worker.pid)] for worker in self._workers.processes]

    @asynccontextmanager
    async def _turn(self, invocation: Invocation) -> AsyncIterator[tuple[int, HeldTurn]]:
        """The number of the worker that answers the request, once it is the request's turn and the worker is free."""
        workers = self._workers
        async with (
            workers.line(invocation),
            self._predictors.turn(self._queue) as turn,
            workers.taken(invocation) as number,
        ):
            yield number, turn

    def _answered(self, number: int, turn: HeldTurn, reply: Reply) -> None:
        turn.effort = reply.effort
        if reply.more:
            self._workers.answered(number, reply)
