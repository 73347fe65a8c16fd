"""A loaded model that can be invoked, in this process or in one of its own. They know nothing of residency."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from torpor_container.core.pace import LONG_S, Pace
from torpor_container.core.turns import Line
from torpor_container.errors import ContainerError, PredictionFailed, TimedOut
from torpor_container.formats import Model
from torpor_container.formats.script.process import ScriptProcess
from torpor_container.invocation import Invocation, Reply
from torpor_container.one_turn import OneTurn
from torpor_container.predicting import Outcome, Predictors
from torpor_container.processes import descendants
from torpor_container.timing import Timing
from torpor_container.wire import Step

log = logging.getLogger(__name__)

G = TypeVar("G")
T = TypeVar("T")

CHEAP_BYTES = 64 * 1024
"""A larger body is never predicted on the event loop."""
MEASURED_EVERY = 16
"""Of the predictions on the event loop, one in so many is measured: the clock costs a part of what it measures."""


class Runner(Protocol):
    """One loaded model."""

    format: str
    needs_folder: bool
    """Whether it may read the model's folder for as long as it is loaded."""

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        """Predict, and tell what it took. Raises the container's errors; `TimedOut` after `timeout_s`."""

    async def close(self) -> None:
        """Let go of everything it holds."""

    @property
    def alive(self) -> bool:
        """Whether it can answer again."""

    def processes(self) -> list[int]:
        """Those of its own, the one that the others belong to first; none for a model inside this process."""


Then = Callable[[Reply | ContainerError], None]
"""Called once, with the answer or with why there is none. It raises nothing."""


class Asking(NamedTuple):
    """A request that is answered on the event loop."""

    invocation: Invocation
    lap: Callable[[Step], float]
    then: Then


class InProcess:
    """A model of a known format. What predicts cheaply, as measured, does so on the event loop, where no time limit
    holds; the rest on a thread, and always what runs code that nobody knows."""

    def __init__(
        self,
        model: Model,
        predictors: Predictors,
        cpu_clock: Callable[[], float],
        clock: Callable[[], float],
        batch_size: int = 1,
    ) -> None:
        """`cpu_clock` counts the processor seconds of the thread that asks: a busy machine makes no model dear. So many
        requests that come in one turn of the event loop share a prediction, if the model is `rowwise`."""
        self.format = model.format
        self.needs_folder = False
        self._model = model
        self._predictors = predictors
        self._line = Line(shares=model.rowwise)
        self._cpu_clock = cpu_clock
        self._clock = clock
        self._pace = Pace()
        self._unmeasured = 0
        together = batch_size > 1 and model.rowwise
        self._together = OneTurn(self._answer_together, batch_size) if together else None

    def cheap(self, body: bytes) -> bool:
        """Whether `answer` takes so little that nobody else need go on meanwhile."""
        return self._pace.cheap and len(body) <= CHEAP_BYTES and not self._model.foreign

    def answer(self, invocation: Invocation, timing: Timing) -> Reply:
        """Predict here and now."""
        return self._here(self._model.invoke, invocation, timing.add)

    def answer_soon(self, invocation: Invocation, timing: Timing, then: Then) -> None:
        """Predict on the event loop, and tell: now, or with the others that came in this turn of it."""
        if self._together is not None:
            self._together.add(Asking(invocation, timing.laps(), then))
            return
        try:
            outcome: Outcome = self.answer(invocation, timing)
        except Exception as error:  # noqa: BLE001  nobody above can tell the caller
            outcome = error
        then(_told(outcome))

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        if self.cheap(invocation.body):
            return self.answer(invocation, timing)
        with timing.step(Step.PREDICT):  # waiting for a thread included, as in SageMaker's ModelLatency
            try:
                async with asyncio.timeout(timeout_s):
                    return await self._predictors.predict(self._line, self._predict, invocation)
            except TimeoutError:
                raise TimedOut(timeout_s) from None

    async def close(self) -> None:
        await asyncio.to_thread(self._model.close)

    @property
    def alive(self) -> bool:
        return True

    def processes(self) -> list[int]:
        return []

    def _predict(self, invocations: Sequence[Invocation]) -> Sequence[Reply | Exception]:
        if len(invocations) > 1:
            return self._model.invoke_together(invocations)
        return [self._measured(invocations[0])]

    def _answer_together(self, asking: Sequence[Asking]) -> None:
        def tell(step: Step, _: float) -> None:
            for one in asking:  # each has waited for the others too, since it came
                one.lap(step)

        outcomes = self._here(self._outcomes, [one.invocation for one in asking], tell, len(asking))
        for one, outcome in zip(asking, outcomes, strict=True):
            one.then(_told(outcome))

    def _here(self, work: Callable[[G], T], given: G, tell: Callable[[Step, float], None], among: int = 1) -> T:
        """Work on the event loop. What one request takes is its part of the whole; what holds it up is the whole."""
        self._unmeasured = unmeasured = (self._unmeasured + 1) % MEASURED_EVERY
        cpu_began_s = 0.0 if unmeasured else self._cpu_clock()
        began_s = self._clock()
        try:
            return work(given)
        finally:
            took_s = self._clock() - began_s
            tell(Step.PREDICT, took_s)
            if not unmeasured:
                self._pace.took((self._cpu_clock() - cpu_began_s) / among, took_s / among)
            if took_s > LONG_S:
                self._pace.held_up()

    def _outcomes(self, invocations: Sequence[Invocation]) -> Sequence[Outcome]:
        try:
            if len(invocations) > 1:
                return self._model.invoke_together(invocations)
            return [self._model.invoke(invocations[0])]
        except Exception as error:  # noqa: BLE001  as above
            return [error] * len(invocations)

    def _measured(self, invocation: Invocation) -> Reply:
        began_s, cpu_began_s = self._clock(), self._cpu_clock()
        try:
            return self._model.invoke(invocation)
        finally:
            self._pace.took(self._cpu_clock() - cpu_began_s, self._clock() - began_s)


def _told(outcome: Outcome) -> Reply | ContainerError:
    """What is neither is a fault of ours, and its traceback is worth having."""
    if isinstance(outcome, Reply | ContainerError):
        return outcome
    log.error("a prediction ended with an error that is no model's", exc_info=outcome)
    return PredictionFailed.because(outcome)


class Scripted:
    """A user script in its own process: it may crash, leak or hang, and only it pays."""

    format = "script"
    needs_folder = True

    def __init__(self, process: ScriptProcess) -> None:
        self._process = process

    async def invoke(self, invocation: Invocation, timeout_s: float, timing: Timing) -> Reply:
        """Its time begins with its turn: to wait for others is no fault of the script, and does not end it."""
        laps = timing.laps()
        try:
            async with asyncio.timeout(timeout_s) as patience:

                def began() -> None:
                    laps(Step.QUEUE)
                    patience.reschedule(asyncio.get_running_loop().time() + timeout_s)

                return await self._process.invoke(invocation, began)
        except TimeoutError:
            raise TimedOut(timeout_s) from None
        finally:
            laps(Step.PREDICT)

    async def close(self) -> None:
        await self._process.close()

    @property
    def alive(self) -> bool:
        return self._process.alive

    def processes(self) -> list[int]:
        """The script's, and all that it started."""
        return [self._process.pid, *descendants(self._process.pid)]
