"""A model predicts on the event loop while it blocks no other call, and otherwise on a thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.helpers.waiting import PATIENCE_S, reached
from torpor_container.core.prediction_pace import CHEAP_S, LONG_S, TRIAL
from torpor_container.core.turns import Sharing, Turns
from torpor_container.errors import BadInput, ContainerError, PredictionFailed, TimedOut
from torpor_container.formats.format import Mapped
from torpor_container.invocation import Invocation, Reply
from torpor_container.measuring.effort import Effort, EffortClocks
from torpor_container.measuring.server_timing import Timing
from torpor_container.processes.threads import Threads
from torpor_container.running.predicting import Predictors
from torpor_container.running.runners import MEASURED_EVERY, InProcess
from torpor_container.wire import WaitStep


class Model:
    """Each prediction takes what `cpu_s` and `waits_s` say, on its own clocks. `threads` has the predicting threads."""

    format = "scikit-learn"
    rowwise = False
    mapped: Mapped | None = None

    def __init__(self, *, cpu_s: float = 0.0, waits_s: float = 0.0, foreign: bool = False) -> None:
        self.foreign = foreign
        self.cpu_s, self.waits_s = cpu_s, waits_s
        self.computed_s = self.now_s = 0.0
        self.clocks = EffortClocks(lambda: self.now_s, lambda: self.computed_s, lambda: 0.0)
        self.threads: list[int] = []
        self.companies: list[list[bytes]] = []  # who was predicted together

    def invoke(self, invocation: Invocation) -> Reply:
        self.threads.append(threading.get_ident())
        self.computed_s += self.cpu_s
        self.now_s += self.cpu_s + self.waits_s
        if invocation.body == b"bad":
            raise ValueError
        return Reply(b"", "")

    def give_way(self, other: object) -> None: ...

    def invoke_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        self.companies.append([invocation.body for invocation in invocations])
        if b"broken" in self.companies[-1]:
            raise RuntimeError("this is no model's fault")
        self.computed_s += self.cpu_s
        self.now_s += self.cpu_s
        refused = BadInput("not these rows")
        return [refused if invocation.body == b"bad" else Reply(invocation.body, "") for invocation in invocations]

    def close(self) -> None: ...


Ask = Callable[[], Coroutine[Any, Any, Timing]]


def run(
    model: Model, story: Callable[[Ask], Coroutine[Any, Any, None]], body: bytes = b"", timeout_s: float = 20.0
) -> None:
    async def told() -> None:
        predictors = Predictors(Threads(1, "test"), Turns(Sharing()), lambda: model.now_s)
        runner = InProcess(model, predictors, model.clocks)

        async def ask() -> Timing:
            timing = Timing(lambda: model.now_s)
            with suppress(ValueError):
                await runner.invoke(Invocation(body), timeout_s, timing)
            return timing

        await story(ask)
        predictors.close()

    asyncio.run(asyncio.wait_for(told(), PATIENCE_S))


def on_loop(model: Model) -> list[bool]:
    """Of each prediction, whether it ran on the event loop."""
    return [thread == threading.get_ident() for thread in model.threads]


def test_a_cheap_model_predicts_on_the_loop_once_it_was_measured() -> None:
    model = Model(cpu_s=0.0001)

    async def story(ask: Ask) -> None:
        timings = [await ask() for _ in range(40)]
        assert all(timing.steps[WaitStep.PREDICT] == pytest.approx(0.0001) for timing in timings)

    run(model, story)
    assert on_loop(model) == [False] + [True] * 39


def test_the_effort_is_measured_on_a_thread_and_for_every_nth_prediction_on_the_loop() -> None:
    model = Model(cpu_s=0.0001, waits_s=0.0003)

    async def story(ask: Ask) -> None:
        efforts = [(await ask()).effort for _ in range(2 * MEASURED_EVERY + 1)]
        told = [number for number, effort in enumerate(efforts) if effort is not None]
        assert told == [0, 1, 1 + MEASURED_EVERY]
        assert efforts[0] == efforts[1] == pytest.approx(Effort(wall_s=0.0004, work_s=0.0001))

    run(model, story)


def test_an_effort_is_within_its_step_however_long_the_clocks_take() -> None:
    """Between two reads of the clocks the thread may lose its processor."""
    model = Model(cpu_s=0.0001)

    def slow() -> float:
        model.now_s += 0.00005
        return 0.0

    model.clocks = replace(model.clocks, in_line=slow)

    async def story(ask: Ask) -> None:
        for told in [await ask() for _ in range(2 * MEASURED_EVERY + 1)]:
            if told.effort is not None:
                assert told.effort.wall_s <= told.steps[WaitStep.PREDICT]

    run(model, story)


def test_a_model_with_foreign_code_never_predicts_on_the_loop() -> None:
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


def test_a_long_wait_on_the_loop_returns_a_model_to_threads_until_it_is_quick_again() -> None:
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


def test_a_model_that_starts_to_wait_a_little_leaves_the_loop_after_a_few_measurements() -> None:
    model = Model(cpu_s=0.0001)

    async def story(ask: Ask) -> None:
        await ask()
        model.waits_s = 0.02
        for _ in range(6 * MEASURED_EVERY):
            await ask()

    run(model, story)
    assert on_loop(model)[1:] == [True] * (4 * MEASURED_EVERY + 1) + [False] * (2 * MEASURED_EVERY - 1)


def test_a_model_that_waits_too_long_is_given_up_each_time() -> None:
    """Its predictions end after the callers went, and are measured all the same."""
    begun, let = threading.Event(), threading.Event()

    class Stuck(Model):
        def invoke(self, invocation: Invocation) -> Reply:
            begun.set()
            assert let.wait(60.0)
            return super().invoke(invocation)

    model = Stuck(waits_s=0.5)

    async def story(ask: Ask) -> None:
        for number in range(1, 4):
            let.clear()
            begun.clear()
            while not begun.is_set():  # a busy machine may not begin it in time
                with pytest.raises(TimedOut):
                    await ask()
            let.set()
            await reached(lambda: len(model.threads) >= number, look_s=0.001)  # noqa: B023  it is awaited here

    run(model, story, timeout_s=0.01)


class Together:
    """Requests on the event loop, in each turn of it those that `turns` says."""

    def __init__(self, model: Model, batch_size: int, rowwise: bool = True) -> None:
        model.rowwise = rowwise
        self.model = model
        self.batch_size = batch_size
        self.outcomes: list[Reply | ContainerError] = []
        self.timings: list[Timing] = []
        self.cheap = True

    def ask(self, *turns: Sequence[bytes]) -> "Together":
        async def told() -> None:
            def clock() -> float:
                return self.model.now_s

            predictors = Predictors(Threads(1, "test"), Turns(Sharing()), clock)
            runner = InProcess(self.model, predictors, self.model.clocks, self.batch_size)
            for bodies in turns:
                for body in bodies:
                    self.timings.append(timing := Timing(clock))
                    runner.answer_soon(Invocation(body), timing, self.outcomes.append)
                await asyncio.sleep(0)
            self.cheap = runner.cheap(b"")
            predictors.close()

        asyncio.run(asyncio.wait_for(told(), PATIENCE_S))
        return self


def test_calls_of_the_same_turn_of_the_loop_are_predicted_together() -> None:
    asked = Together(Model(cpu_s=0.0001), batch_size=8).ask([b"a", b"b", b"c"], [b"d"], [b"e", b"f"])
    assert asked.model.companies == [[b"a", b"b", b"c"], [b"e", b"f"]]
    bodies = [outcome.body for outcome in asked.outcomes if isinstance(outcome, Reply)]
    assert bodies == [b"a", b"b", b"c", b"", b"e", b"f"]  # one that is alone is asked as ever, and answers nothing
    assert [timing.steps[WaitStep.PREDICT] for timing in asked.timings] == [pytest.approx(0.0001)] * 6


def test_each_call_of_a_batch_gets_its_share_of_the_effort() -> None:
    asked = Together(Model(cpu_s=0.0004), batch_size=8).ask([b"a", b"b", b"c", b"d"])
    assert [timing.effort for timing in asked.timings] == [pytest.approx(Effort(0.0001, 0.0001))] * 4


def test_a_batch_never_exceeds_its_size() -> None:
    asked = Together(Model(), batch_size=2).ask([b"a", b"b", b"c", b"d", b"e"])
    assert asked.model.companies == [[b"a", b"b"], [b"c", b"d"]]
    assert len(asked.outcomes) == 5


@pytest.mark.parametrize(("batch_size", "rowwise"), [(1, True), (8, False)])
def test_no_calls_are_batched_without_a_batch_size_or_a_rowwise_model(batch_size: int, rowwise: bool) -> None:
    asked = Together(Model(), batch_size, rowwise).ask([b"a", b"b", b"bad"])
    assert asked.model.companies == []
    assert [type(outcome) for outcome in asked.outcomes] == [Reply, Reply, PredictionFailed]


def test_a_bad_request_in_a_batch_fails_alone_and_every_caller_gets_an_outcome(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = Together(Model(), batch_size=8).ask([b"a", b"bad", b"c"], [b"a", b"broken"], [b"bad"])
    kinds = [Reply, BadInput, Reply, PredictionFailed, PredictionFailed, PredictionFailed]
    assert [type(outcome) for outcome in asked.outcomes] == kinds
    assert "RuntimeError: this is no model's fault" in caplog.text


def test_a_company_is_as_cheap_as_its_part_for_each_of_them() -> None:
    turns = [[b"a"] * 8] * 3 * MEASURED_EVERY
    assert Together(Model(cpu_s=3 * CHEAP_S), batch_size=8).ask(*turns).cheap
    assert not Together(Model(cpu_s=9 * CHEAP_S), batch_size=8).ask(*turns).cheap


def test_a_company_that_holds_up_the_loop_is_the_last_there_however_many_share_it() -> None:
    turns = [[b"a"] * 1000] * 3 * MEASURED_EVERY
    assert Together(Model(cpu_s=0.9 * LONG_S), batch_size=1000).ask(*turns).cheap
    assert not Together(Model(cpu_s=1.1 * LONG_S), batch_size=1000).ask(*turns).cheap


@pytest.mark.parametrize("rowwise", [False, True])
def test_refused_calls_do_not_count_for_the_pace_of_predictions(rowwise: bool) -> None:
    model = Model(cpu_s=10 * CHEAP_S)
    model.rowwise = rowwise

    async def story(ask: Ask) -> None:
        await ask()
        model.cpu_s = 0.0
        for _ in range(10 * MEASURED_EVERY):
            await ask()
        model.cpu_s = 10 * CHEAP_S

    run(model, story, body=b"bad")
    assert threading.get_ident() not in model.threads


def test_a_company_that_is_refused_does_not_make_the_model_cheap_again() -> None:
    model = Model(cpu_s=9 * CHEAP_S)
    asked = Together(model, batch_size=8).ask(*[[b"a"] * 8] * MEASURED_EVERY, *[[b"bad"] * 8] * 3 * MEASURED_EVERY)
    assert not asked.cheap
