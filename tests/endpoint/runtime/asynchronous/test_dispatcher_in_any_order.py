"""The dispatcher as a state machine: in whatever order things happen, each accepted request ends once, as it earned.

Everything runs in one thread and in virtual time. What an instance does with an attempt is decided while it runs.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.virtual_time import ThreadlessTime
from tests.endpoint.services.helpers.async_scene import OK, Instances, Scene
from tests.endpoint.services.helpers.failing_machine import COMMIT, DATABASE, DISK, STORE, FailingMachine
from tests.helpers.example_counts import tries
from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.metrics import metrics
from torpor_account.storage.databases.database import OutcomeUnknown
from torpor_container.transport.parts import END, encoded
from torpor_container.transport.stream_client import StreamConnection
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.async_inference.requests import AsyncState
from torpor_endpoint.runtime.asynchronous.dispatcher import DELETED
from torpor_endpoint.runtime.errors import no_response
from torpor_endpoint.runtime.holding import NobodyReady
from torpor_endpoint.runtime.passage import Passage, Served, routed

T = TypeVar("T")
TTL_S = 500.0
TIMEOUT_S = 60.0
AT_ONCE = 1


class PartlyFailingMachine(FailingMachine):
    """What is in `kinds` fails until it is taken out."""

    def __init__(self) -> None:
        super().__init__("")
        self.kinds: set[str] = set()

    def step(self, kind: str) -> bool:
        return kind in self.kinds


class ToldInstances(Instances):
    """Each attempt waits until it is told what it comes to: `answer`, `refuse`, `break` or `busy`."""

    def __init__(self) -> None:
        super().__init__()
        self.open: dict[bytes, asyncio.Future[str]] = {}

    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Callable[[], None] | None = None, *, waits: bool = True
    ) -> AsyncIterator[tuple[StreamConnection | None, Served]]:
        pool = routed(passage).pool
        if not pool.ready.has_room:
            raise NobodyReady
        body, incarnation = b"".join(passage.body), pool.ready.least_busy()
        assert body not in self.open, "a request is sent while an attempt of it runs"
        self.sent.append(body)
        self.open[body] = asyncio.get_running_loop().create_future()
        incarnation.took()
        try:
            told = await self.open[body]
            if told == "busy":
                raise NobodyReady
            if told == "break":
                raise no_response(passage.place)
            if told == "refuse":
                yield None, Served(UpstreamAnswer(400, [], [b"no"]), "i-1", 1, 1, 0.0)
                return
            connection = StreamConnection()
            connection.data_received(OK + encoded([body.upper()]) + END)
            await connection.headed()
            yield connection, Served(connection.answer, "i-1", 1, 1, 0.0)
        finally:
            del self.open[body]
            pool.released(incarnation)


class AnyOrder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="any-order-")
        self.host = FakeHost()
        self.runner = asyncio.Runner(loop_factory=ThreadlessTime)
        self.accepted: set[int] = set()
        self.ended: dict[int, tuple[AsyncState, str | None, float | None]] = {}
        self.ended_before: set[int] = set()  # before this process began
        self.lives = 0
        self.scene: Scene

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize()
    def begins(self) -> None:
        self.do(self.begun())
        self.submit(2)

    async def begun(self) -> None:
        self.machine = PartlyFailingMachine()
        now_s = self.scene.now_s if self.lives else 1000.0
        self.scene = Scene(Path(self.folder.name), self.host, self.machine, ToldInstances)
        self.scene.now_s = now_s
        self.lives += 1
        self.ended_before = {one.number for one in self.scene.seen.latest(None, None, 1000) if one.ended_s is not None}
        await self.scene.stage.ready(1)
        await self.scene.dispatcher.start()
        await self.passes(0.001)

    async def ends(self) -> None:
        await self.scene.dispatcher.close()
        await self.scene.pool.close("it ends")
        self.scene.queue.close()
        self.scene.objects.close()

    async def passes(self, seconds: float) -> None:
        self.scene.now_s += seconds
        await asyncio.sleep(seconds)

    async def looks(self) -> None:
        with suppress(RecordsFault):  # the chore begins anew
            await self.scene.dispatcher.look()

    @property
    def open(self) -> "dict[bytes, asyncio.Future[str]]":
        return self.scene.instances.open  # type: ignore[attr-defined, no-any-return]

    # -- what may happen -------------------------------------------------------------------------------------------
    @rule(count=st.integers(1, 3))
    def submit(self, count: int) -> None:
        async def work() -> None:
            for _ in range(count):
                body = b"body %d" % len(self.scene.seen.latest(None, None, 1000))
                try:
                    await self.scene.ask(body, ttl_s=TTL_S)
                except OutcomeUnknown:
                    self.scene.dispatcher.unsure()
                except RecordsFault:
                    break  # it was not accepted
            self.accepted.update(one.number for one in self.scene.seen.latest(None, None, 1000))
            await self.passes(0.001)

        self.do(work())

    @precondition(lambda self: self.open)
    @rule(data=st.data(), told=st.sampled_from(["answer", "answer", "refuse", "break", "busy"]))
    def attempt(self, data: st.DataObject, told: str) -> None:
        async def work() -> None:
            self.open[data.draw(st.sampled_from(sorted(self.open)))].set_result(told)
            await self.passes(0.001)

        self.do(work())

    @rule(seconds=st.sampled_from([0.1, 1.0, 6.0, 30.0, TIMEOUT_S + 1, TTL_S + 1]))
    def wait(self, seconds: float) -> None:
        self.do(self.passes(seconds))

    @rule()
    def look(self) -> None:
        async def work() -> None:
            await self.looks()
            await self.passes(0.001)

        self.do(work())

    @rule(n=st.integers(0, 2))
    def scale(self, n: int) -> None:
        self.do(self.scene.stage.scale(n))
        self.do(self.passes(1.0))

    @rule()
    def instance_dies(self) -> None:
        self.do(self.scene.stage.death(0))
        self.do(self.passes(0.001))

    @rule(kind=st.sampled_from([DISK, STORE, DATABASE, COMMIT]))
    def fails_or_works_again(self, kind: str) -> None:
        self.machine.kinds ^= {kind}

    @rule()
    def topics_fail_or_work_again(self) -> None:
        self.scene.topics_work ^= True

    @precondition(lambda self: self.lives and self.scene.seen.waiting())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([one.number for one in self.scene.seen.waiting()]))

        async def work() -> None:
            with suppress(RecordsFault):
                if await self.scene.dispatcher.cancel(number):
                    assert self.scene.kept(number).state is AsyncState.CANCELLED
            await self.passes(0.001)

        self.do(work())

    @rule()
    def endpoint_is_made_anew(self) -> None:
        async def work() -> None:
            self.scene.roster.stop("shop")
            await self.looks()
            await self.passes(0.001)
            self.scene.roster.serve(self.scene.live)

        self.do(work())

    @precondition(lambda self: self.lives and self.scene.seen.waiting())
    @rule(crashes=st.booleans())
    def restart(self, crashes: bool) -> None:
        """Nothing that a crashed process still does has an effect: not on the disk, the database or the store."""
        if crashes:
            self.machine.kinds = {DISK, STORE, DATABASE}
            self.scene.topics_work = False
        self.do(self.ends())
        self.do(self.begun())

    # -- what always holds -----------------------------------------------------------------------------------------
    @invariant()
    def what_has_ended_stays_as_it_is(self) -> None:
        if not self.lives:
            return
        for number in self.accepted:
            kept = self.scene.kept(number)
            end = (kept.state, kept.reason, kept.ended_s)
            if kept.state is not AsyncState.QUEUED:
                assert self.ended.setdefault(number, end) == end

    @invariant()
    def no_more_run_than_may(self) -> None:
        if self.lives:
            assert len(self.open) <= 2 * AT_ONCE

    @invariant()
    def no_topic_is_told_twice_by_one_process(self) -> None:
        if self.lives:
            told = Counter(message["inferenceId"] for _, message in self.scene.messages)
            assert max(told.values(), default=1) == 1

    def teardown(self) -> None:
        try:
            if self.lives:
                self.do(self.settled())
                self.do(self.ends())
        finally:
            self.runner.close()
            self.host.__exit__()
            self.folder.cleanup()

    async def settled(self) -> None:
        """Everything works again, and instances answer: each accepted request ends."""
        self.machine.kinds, self.scene.topics_work = set(), True
        await self.scene.stage.scale(1)
        for _ in range(400):
            await self.looks()
            await self.passes(1.0)
            for told in self.open.values():
                if not told.done():
                    told.set_result("answer")
            runs = self.scene.dispatcher.level("shop").size  # until the attempt knows that the queue has its end
            if not runs and not self.scene.seen.waiting() and not self.scene.seen.unsent((), 1):
                break
        await self.passes(0.1)
        assert [one.number for one in self.scene.seen.waiting()] == []
        assert self.scene.seen.unsent((), 100) == []
        self.what_has_ended_stays_as_it_is()
        assert self.scene.dispatcher.level("shop").size == 0
        self.earned()
        self.counted()

    def earned(self) -> None:
        """Each has the result or the failure of its state, and one whose topic was told is one that ended."""
        store = Path(self.folder.name) / "s3"
        for kept in map(self.scene.kept, self.accepted):
            result, failure = (
                store / str(url).removeprefix("s3://") for url in (kept.request.output, kept.request.failure)
            )
            if kept.state is AsyncState.COMPLETED:
                assert result.read_bytes() == b"BODY %d" % (kept.number - 1)
            elif kept.state is not AsyncState.CANCELLED:
                assert failure.exists()

    def counted(self) -> None:
        """What this process counted is what ended in it."""
        ends = [kept for kept in map(self.scene.kept, self.accepted) if kept.number not in self.ended_before]
        answered = [
            one for one in ends if one.state in (AsyncState.COMPLETED, AsyncState.FAILED) and one.reason != DELETED
        ]
        expired = [one for one in ends if one.state is AsyncState.EXPIRED]
        assert self.scene.counted(metrics.INVOCATIONS_PROCESSED) == len(answered)
        assert self.scene.counted(metrics.EXPIRED_REQUESTS) == len(expired)
        failed = [one for one in ends if one.state in (AsyncState.FAILED, AsyncState.EXPIRED)]
        assert self.scene.counted(metrics.INVOCATION_FAILURES) == len(failed)
        told = {message["inferenceId"] for _, message in self.scene.messages}
        assert {one.request.inference_id for one in ends if one.state is not AsyncState.CANCELLED} <= told


AnyOrder.TestCase.settings = settings(max_examples=tries(10), stateful_step_count=30, deadline=None)
TestAnyOrder = AnyOrder.TestCase
