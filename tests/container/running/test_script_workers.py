"""Which of a script's workers answers a request, and what waits for it meanwhile."""

import asyncio
from time import monotonic
from typing import cast

from torpor_container.core.turns import Sharing, Turns
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.invocation import Invocation, Reply
from torpor_container.measuring.server_timing import Timing
from torpor_container.processes.threads import Threads
from torpor_container.running.predicting import Predictors
from torpor_container.running.runners import Scripted
from torpor_container.running.script_workers import BEGAN, SESSION


class Worker:
    """Begins a session for a call without a body; else answers once the test allows it."""

    alive = True

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.let: dict[bytes, asyncio.Event] = {}

    async def invoke(self, invocation: Invocation) -> Reply:
        if not invocation.body:
            return Reply(b"", "text/plain", more=((BEGAN, b"mine"),))
        let = self.let[invocation.body] = asyncio.Event()
        await let.wait()
        return Reply(invocation.body, "text/plain")


def of(body: bytes, session: bytes = b"") -> Invocation:
    invocation = Invocation(body)
    if session:
        invocation.headers = [(SESSION, session)]
    return invocation


async def _nothing() -> None: ...


def test_requests_that_wait_for_their_session_s_worker_keep_no_turn_of_another_and_their_time_has_not_begun() -> None:
    async def story() -> None:
        holder, other = Worker(1), Worker(2)
        predictors = Predictors(Threads(4, "test"), Turns(Sharing(parallel=4)), monotonic)
        script = Scripted([cast(ScriptProcess, one) for one in (holder, other)], _nothing, predictors)

        def asked(invocation: Invocation, timeout_s: float = 60.0) -> "asyncio.Task[Reply]":
            return asyncio.ensure_future(script.invoke(invocation, timeout_s, Timing(monotonic)))

        async def begun(worker: Worker, body: bytes) -> None:
            while body not in worker.let:
                await asyncio.sleep(0)

        await asked(of(b""))
        first, *more = [asked(of(body, b"mine")) for body in (b"1", b"2", b"3")]
        await begun(holder, b"1")
        quick = asked(of(b"quick"))
        await begun(other, b"quick")
        other.let[b"quick"].set()
        assert (await quick).body == b"quick"
        assert list(holder.let) == [b"1"]
        holder.let[b"1"].set()
        await first
        for body, one in zip((b"2", b"3"), more, strict=True):
            await begun(holder, body)
            holder.let[body].set()
            assert (await one).body == body
        predictors.close()

    asyncio.run(asyncio.wait_for(story(), 30.0))


def test_the_time_of_a_request_begins_once_its_worker_is_free() -> None:
    async def story() -> None:
        worker, other = Worker(1), Worker(2)
        predictors = Predictors(Threads(4, "test"), Turns(Sharing(parallel=4)), monotonic)
        script = Scripted([cast(ScriptProcess, one) for one in (worker, other)], _nothing, predictors)
        await script.invoke(of(b""), 60.0, Timing(monotonic))
        before = asyncio.ensure_future(script.invoke(of(b"1"), 60.0, Timing(monotonic)))
        while b"1" not in worker.let:
            await asyncio.sleep(0)
        timing = Timing(monotonic)
        behind = asyncio.ensure_future(script.invoke(of(b"2", b"mine"), 60.0, timing))
        for _ in range(10):
            await asyncio.sleep(0)
        assert list(worker.let) == [b"1"]  # it reaches no worker that answers another
        worker.let[b"1"].set()
        await before
        while b"2" not in worker.let:
            await asyncio.sleep(0)
        worker.let[b"2"].set()
        assert (await behind).body == b"2"
        predictors.close()

    asyncio.run(asyncio.wait_for(story(), 30.0))
