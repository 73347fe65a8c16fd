"""Where a model predicts: on the event loop while it holds nobody up there, and else on a thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

import pytest

from torpor_container.core.pace import TRIAL
from torpor_container.core.turns import Sharing, Turns
from torpor_container.errors import TimedOut
from torpor_container.invocation import Invocation, Reply
from torpor_container.predicting import Predictors
from torpor_container.runners import MEASURED_EVERY, InProcess
from torpor_container.threads import Threads
from torpor_container.timing import Timing
from torpor_container.wire import Step


class Model:
    """Each prediction takes what `cpu_s` and `waits_s` say, on clocks of its own. `threads` has who predicted."""

    format = "scikit-learn"
    rowwise = False

    def __init__(self, *, cpu_s: float = 0.0, waits_s: float = 0.0, foreign: bool = False) -> None:
        self.foreign = foreign
        self.cpu_s, self.waits_s = cpu_s, waits_s
        self.computed_s = self.now_s = 0.0
        self.threads: list[int] = []

    def invoke(self, invocation: Invocation) -> Reply:
        self.threads.append(threading.get_ident())
        self.computed_s += self.cpu_s
        self.now_s += self.cpu_s + self.waits_s
        if invocation.body == b"bad":
            raise ValueError
        return Reply(b"", "")

    def invoke_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        return [self.invoke(invocation) for invocation in invocations]

    def close(self) -> None: ...


Ask = Callable[[], Coroutine[Any, Any, Timing]]


def run(
    model: Model, story: Callable[[Ask], Coroutine[Any, Any, None]], body: bytes = b"", timeout_s: float = 20.0
) -> None:
    async def told() -> None:
        predictors = Predictors(Threads(1, "test"), Turns(Sharing()), lambda: model.now_s)
        runner = InProcess(model, predictors, lambda: model.computed_s, lambda: model.now_s)

        async def ask() -> Timing:
            timing = Timing(lambda: model.now_s)
            with suppress(ValueError):
                await runner.invoke(Invocation(body), timeout_s, timing)
            return timing

        await story(ask)
        predictors.close()

    asyncio.run(asyncio.wait_for(told(), 20.0))


def on_loop(model: Model) -> list[bool]:
    """Of each prediction, whether it ran on the event loop."""
    return [thread == threading.get_ident() for thread in model.threads]


def test_a_cheap_model_predicts_on_the_loop_once_it_was_measured() -> None:
    model = Model(cpu_s=0.0001)

    async def story(ask: Ask) -> None:
        timings = [await ask() for _ in range(40)]
        assert all(timing.steps[Step.PREDICT] == pytest.approx(0.0001) for timing in timings)

    run(model, story)
    assert on_loop(model) == [False] + [True] * 39


def test_a_model_with_code_that_nobody_knows_never_predicts_on_the_loop() -> None:
    model = Model(cpu_s=0.0001, foreign=True)

    async def story(ask: Ask) -> None:
        for _ in range(40):
            await ask()

    run(model, story)
    assert not any(on_loop(model))


@pytest.mark.parametrize("body", [b"", b"bad"])
def test_a_model_that_waits_never_predicts_on_the_loop(body: bytes) -> None:
    model = Model(waits_s=0.5)

    async def story(ask: Ask) -> None:
        for _ in range(40):
            await ask()

    run(model, story, body)
    assert not any(on_loop(model))


def test_one_long_wait_on_the_loop_sends_a_model_back_to_threads_until_it_is_quick_again() -> None:
    model = Model(cpu_s=0.0001)

    async def story(ask: Ask) -> None:
        await ask()
        await ask()
        model.waits_s = 0.5
        for _ in range(10):
            await ask()
        model.waits_s = 0.0
        for _ in range(TRIAL + 1):
            await ask()

    run(model, story)
    assert on_loop(model) == [False, True, True] + [False] * (9 + TRIAL) + [True]


def test_a_model_that_begins_to_wait_a_little_leaves_the_loop_once_it_was_measured_a_few_times() -> None:
    model = Model(cpu_s=0.0001)

    async def story(ask: Ask) -> None:
        await ask()
        model.waits_s = 0.02
        for _ in range(6 * MEASURED_EVERY):
            await ask()

    run(model, story)
    assert on_loop(model)[1:] == [True] * 5 * MEASURED_EVERY + [False] * MEASURED_EVERY


def test_a_model_that_waits_too_long_is_given_up_each_time() -> None:
    """Its predictions end after the callers went, and are measured all the same."""
    let = threading.Event()

    class Stuck(Model):
        def invoke(self, invocation: Invocation) -> Reply:
            assert let.wait(20.0)
            return super().invoke(invocation)

    model = Stuck(waits_s=0.5)

    async def story(ask: Ask) -> None:
        for number in range(1, 4):
            let.clear()
            with pytest.raises(TimedOut):
                await ask()
            let.set()
            while len(model.threads) < number:
                await asyncio.sleep(0.001)

    run(model, story, timeout_s=0.01)
