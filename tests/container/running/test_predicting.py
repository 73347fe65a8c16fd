"""Predictions on threads: fair turns, shared turns, and cancelled calls."""

import asyncio
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from tests.helpers.waiting import PATIENCE_S, reached
from torpor_container.core.turns import ModelQueue, Sharing, Turns
from torpor_container.invocation import Invocation, Reply
from torpor_container.measuring.effort import Effort
from torpor_container.processes.threads import Threads
from torpor_container.running.predicting import Outcome, Predictors


class Model:
    """Answers with the body of the call, once the test allows it. `turns` has the bodies of each turn."""

    def __init__(self, *, shares: bool = False) -> None:
        self.line = ModelQueue(shares=shares)
        self.let = threading.Event()
        self.turns: list[list[bytes]] = []

    def work(self, invocations: Sequence[Invocation]) -> Sequence[Outcome]:
        bodies = [invocation.body for invocation in invocations]
        self.turns.append(bodies)
        assert self.let.wait(60.0)
        if b"all" in bodies:
            raise ValueError("nobody is answered")
        return [KeyError("mine") if body == b"bad" else Reply(body, "text/plain") for body in bodies]


def made(sharing: Sharing) -> Predictors:
    return Predictors(Threads(sharing.parallel, "test"), Turns(sharing), time.monotonic)


def asked(predictors: Predictors, model: Model, body: bytes) -> "asyncio.Task[Reply]":
    return asyncio.ensure_future(predictors.predict(model.line, model.work, Invocation(body)))


async def turns_of(model: Model, count: int) -> None:
    """Return once the model has begun so many turns."""
    await reached(lambda: len(model.turns) >= count, look_s=0.001)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def test_a_quiet_model_is_served_next_however_many_wait_for_a_busy_one() -> None:
    async def story() -> None:
        predictors, busy, quiet = made(Sharing()), Model(), Model()
        quiet.let.set()
        many = [asked(predictors, busy, b"%d" % number) for number in range(20)]
        await turns_of(busy, 1)
        one = asked(predictors, quiet, b"quiet")
        one.add_done_callback(lambda _: served.append(len(busy.turns)))
        served: list[int] = []
        busy.let.set()
        assert (await one).body == b"quiet"
        assert [(await each).body for each in many] == [b"%d" % number for number in range(20)]
        assert served[0] <= 2  # the turn that went on, and one that may have begun before this was noticed
        predictors.close()

    run(story())


def test_calls_that_arrive_during_a_turn_share_the_next_one() -> None:
    async def story() -> None:
        predictors, model = made(Sharing(batch_size=8)), Model(shares=True)
        first = asked(predictors, model, b"0")
        await turns_of(model, 1)
        rest = [asked(predictors, model, b"%d" % number) for number in range(1, 12)]
        await asyncio.sleep(0)  # they stand in line
        model.let.set()
        replies = [(await each).body for each in (first, *rest)]
        assert replies == [b"%d" % number for number in range(12)]
        assert [len(turn) for turn in model.turns] == [1, 8, 3]
        predictors.close()

    run(story())


def test_each_call_of_a_shared_turn_has_its_own_outcome_and_an_error_of_the_turn_fails_all() -> None:
    async def story() -> None:
        predictors, model = made(Sharing(batch_size=3)), Model(shares=True)
        first = asked(predictors, model, b"first")
        await turns_of(model, 1)
        calls = [asked(predictors, model, body) for body in (b"1", b"bad", b"3", b"4", b"all", b"6")]
        await asyncio.sleep(0)
        model.let.set()
        outcomes = await asyncio.gather(first, *calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Reply, Reply, KeyError, Reply, *[ValueError] * 3]
        predictors.close()

    run(story())


def test_a_call_cancelled_while_it_waits_gets_no_prediction_and_costs_no_thread() -> None:
    async def story() -> None:
        predictors, model = made(Sharing()), Model()
        first, second, third = (asked(predictors, model, body) for body in (b"1", b"2", b"3"))
        await turns_of(model, 1)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        model.let.set()
        assert [(await first).body, (await third).body] == [b"1", b"3"]
        assert (model.turns, predictors.lost) == ([[b"1"], [b"3"]], 0)
        predictors.close()

    run(story())


def test_a_shared_turn_continues_for_the_remaining_calls_and_gives_up_its_thread_after_the_last() -> None:
    async def story() -> None:
        predictors, stuck, other = made(Sharing(batch_size=2)), Model(shares=True), Model()
        other.let.set()
        before = asked(predictors, other, b"before")
        first, second = asked(predictors, stuck, b"1"), asked(predictors, stuck, b"2")
        await before
        await turns_of(stuck, 1)
        assert stuck.turns == [[b"1", b"2"]]
        first.cancel()
        waits = asked(predictors, other, b"waits")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(waits), 0.05)
        second.cancel()
        assert (await waits).body == b"waits"
        assert predictors.lost == 1
        stuck.let.set()
        predictors.close()

    run(story())


def test_calls_that_still_wait_at_the_close_are_cancelled() -> None:
    async def story() -> None:
        predictors, model = made(Sharing()), Model()
        calls = [asked(predictors, model, body) for body in (b"1", b"2", b"3")]
        await turns_of(model, 1)
        predictors.close()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 3
        model.let.set()

    run(story())


# -- models with workers of their own ----------------------------------------------------------------------------------
COMPUTES, WAITS = Effort(1.0, 1.0), Effort(1.0, 0.0)


class Scripts:
    """Calls that each hold a turn until the test lets them end. `most` were held at once."""

    def __init__(self, predictors: Predictors, count: int) -> None:
        self.queues = [ModelQueue(workers=1) for _ in range(count)]
        self.let = asyncio.Event()
        self.held = self.most = 0
        self._predictors = predictors

    def asked(self, number: int, effort: Effort) -> "asyncio.Task[None]":
        return asyncio.ensure_future(self._answer(self.queues[number], effort))

    async def round(self, effort: Effort) -> None:
        """A call of each, which end together."""
        calls = [self.asked(number, effort) for number in range(len(self.queues))]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.let.set()
        await asyncio.gather(*calls)
        self.let.clear()

    async def _answer(self, queue: ModelQueue, effort: Effort) -> None:
        async with self._predictors.turn(queue) as turn:
            self.held += 1
            self.most = max(self.most, self.held)
            await self.let.wait()
            turn.effort = effort
            self.held -= 1


@pytest.mark.parametrize(("effort", "most"), [(COMPUTES, 2), (WAITS, 6)])
def test_scripts_hold_as_many_turns_as_there_are_and_more_where_they_only_wait(effort: Effort, most: int) -> None:
    async def story() -> None:
        predictors = made(Sharing(parallel=2))
        scripts = Scripts(predictors, 6)
        await scripts.round(effort)
        assert scripts.most == 2  # nothing was known of them
        await scripts.round(effort)
        assert scripts.most == most
        predictors.close()

    run(story())


def test_a_script_s_turn_keeps_a_thread_s_call_waiting_and_ends_with_its_caller() -> None:
    async def story() -> None:
        predictors, model = made(Sharing()), Model()
        scripts = Scripts(predictors, 2)
        model.let.set()
        first, behind = scripts.asked(0, COMPUTES), scripts.asked(1, COMPUTES)
        await asyncio.sleep(0)
        native = asked(predictors, model, b"native")
        await asyncio.sleep(0)
        assert (scripts.held, model.turns) == (1, [])
        behind.cancel()
        first.cancel()
        assert (await native).body == b"native"
        assert [type(end) for end in await asyncio.gather(first, behind, return_exceptions=True)] == [
            asyncio.CancelledError,
            asyncio.CancelledError,
        ]
        predictors.close()

    run(story())


def test_a_script_s_call_that_is_cancelled_as_its_turn_comes_gives_the_turn_back() -> None:
    async def story() -> None:
        predictors = made(Sharing())
        scripts = Scripts(predictors, 2)
        first, second = scripts.asked(0, COMPUTES), scripts.asked(1, COMPUTES)
        await asyncio.sleep(0)
        scripts.let.set()
        await first  # the second one has its turn now, and does not know yet
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        async with asyncio.timeout(PATIENCE_S):
            await scripts.asked(0, COMPUTES)
        predictors.close()

    run(story())


def test_a_script_s_call_that_is_cancelled_as_the_turn_before_it_ends_takes_no_turn() -> None:
    async def story() -> None:
        predictors = made(Sharing())
        queue, go = ModelQueue(workers=1), asyncio.Event()

        async def asked(told: asyncio.Event) -> str:
            async with predictors.turn(queue):
                await told.wait()
            return "answered"

        first, second = asyncio.create_task(asked(go)), asyncio.create_task(asked(go))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        go.set()
        second.cancel()  # in the same turn of the event loop: it leaves its queue after the first gives its turn back
        assert await first == "answered"
        await asyncio.gather(second, return_exceptions=True)
        assert queue.running == 0
        async with asyncio.timeout(PATIENCE_S):
            assert await asked(go) == "answered"
        predictors.close()

    run(story())


def test_scripts_that_still_wait_at_the_close_are_cancelled() -> None:
    async def story() -> None:
        predictors = made(Sharing())
        scripts = Scripts(predictors, 2)
        first, behind = scripts.asked(0, COMPUTES), scripts.asked(1, COMPUTES)
        await asyncio.sleep(0)
        predictors.close()
        with pytest.raises(asyncio.CancelledError):
            await behind
        scripts.let.set()
        await first

    run(story())


def test_a_script_that_calls_its_own_instance_is_answered_although_it_has_the_only_turn() -> None:
    async def story() -> None:
        predictors, model = made(Sharing()), Model()
        model.let.set()
        async with predictors.turn(ModelQueue(workers=1)):
            assert (await asked(predictors, model, b"inner")).body == b"inner"
        predictors.close()

    run(story())
