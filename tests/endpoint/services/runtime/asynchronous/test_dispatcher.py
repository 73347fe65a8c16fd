"""The dispatcher on a fake host: who is sent when, what is tried again, and how requests end."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.helpers.waiting import reached
from torpor_container.transport.parts import END, encoded
from torpor_container.transport.streaming import StreamConnection
from torpor_container.transport.upstream import UpstreamAnswer
from torpor_endpoint.core.async_inference.requests import AsyncRequest, AsyncState, KeptRequest
from torpor_endpoint.core.records import AsyncInference
from torpor_endpoint.fleet.endpoints import FleetEndpoint, FleetRoster
from torpor_endpoint.metrics import metrics
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.services.jobs.work import WorkThreads
from torpor_endpoint.services.runtime.asynchronous import dispatcher as module
from torpor_endpoint.services.runtime.asynchronous import ending, notifying
from torpor_endpoint.services.runtime.asynchronous.attempt import AttemptSite
from torpor_endpoint.services.runtime.asynchronous.dispatcher import DELETED, AsyncDispatcher
from torpor_endpoint.services.runtime.asynchronous.ending import RequestEnds
from torpor_endpoint.services.runtime.asynchronous.metering import AsyncMeter
from torpor_endpoint.services.runtime.asynchronous.notifying import NoticeBoard
from torpor_endpoint.services.runtime.asynchronous.queue import ASYNC_REQUESTS, AsyncQueue, Waiting
from torpor_endpoint.services.runtime.errors import ErrorPlace, no_response
from torpor_endpoint.services.runtime.holding import NobodyReady
from torpor_endpoint.services.runtime.observing.observers import Observers
from torpor_endpoint.services.runtime.passage import Passage, Served, routed
from torpor_endpoint.services.runtime.sending import RequestSender
from torpor_endpoint.services.s3.access.embedded import EmbeddedStorage
from torpor_endpoint.services.s3.store import ObjectStore
from torpor_endpoint.services.topics import NotPublished, Topics
from torpor_endpoint.storage.databases.sqlite_file import SqliteFile

OK = b"HTTP/1.1 200 OK\r\nx-torpor-stream: parts\r\ncontent-type: text/plain\r\n\r\n"
CONFIG = AsyncInference("s3://results/out", "s3://results/failed", "arn:ok", "arn:failed", at_once=1)


class Instances(RequestSender):
    """Answers by the request's body: `wait` until `gate`, `break` as an instance that dies, `refuse` as a model."""

    def __init__(self) -> None:
        super().__init__(asyncio.get_running_loop().time, strict=False)
        self.gate = asyncio.Event()
        self.sent: list[bytes] = []
        self.most = 0

    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Callable[[], None] | None = None, *, waits: bool = True
    ) -> AsyncIterator[tuple[StreamConnection | None, Served]]:
        pool = routed(passage).pool
        if not pool.ready.has_room:
            raise NobodyReady
        body, incarnation = b"".join(passage.body), pool.ready.least_busy()
        self.sent.append(body)
        incarnation.took()
        self.most = max(self.most, *(one.in_flight for one in pool.ready))
        try:
            if body.startswith(b"wait"):
                await self.gate.wait()
            if body == b"break":
                raise no_response(passage.place)
            if body == b"refuse":
                yield None, Served(UpstreamAnswer(400, [], [b"no"]), "i-1", 1, 1, 0.0)
                return
            connection = StreamConnection()
            connection.data_received(OK + encoded([body.upper()]) + END)
            await connection.headed()
            yield connection, Served(connection.answer, "i-1", 1, 1, 0.0)
        finally:
            pool.released(incarnation)


class Scene:
    """One endpoint `shop` with a variant `v` of one instance, and everything that answers its requests."""

    def __init__(self, folder: Path, host: FakeHost) -> None:
        self.now_s = 1000.0
        self.roster, self.registry = FleetRoster(), MetricRegistry(lambda: self.now_s)
        self.stage = PoolOnFakeHost(host)
        self.pool = self.stage.pool
        self.pool.become(replace(self.pool.variant, asynchronous=CONFIG, instances_min=None))
        self.live = FleetEndpoint("shop", "arn", {"v": self.pool})
        self.roster.serve(self.live)
        self.objects = ObjectStore(folder / "s3")
        self.objects.buckets.create("results")
        self.queue = AsyncQueue(SqliteFile(folder / "async.sqlite", ASYNC_REQUESTS), lambda: self.now_s)
        self.instances = Instances()
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.topics_work = True
        meter, threads = AsyncMeter(self.registry, lambda: self.now_s), WorkThreads("async", 4)
        storage, clock = EmbeddedStorage(self.objects), asyncio.get_running_loop().time
        site = AttemptSite(
            folder / "attempts",
            storage,
            threads,
            self.instances,
            Observers([]),
            meter,
            lambda name: ErrorPlace(name, "1", "us-east-1", "request"),
            lambda: self.now_s,
            clock,
        )
        self.board = NoticeBoard(self.queue, self._topics(), meter, clock)
        self.noted: list[Path] = []
        ends = RequestEnds(
            self.queue,
            storage,
            threads,
            self.board,
            meter,
            "us-east-1",
            lambda: self.now_s,
            folder / "logs",
            self.noted.append,
        )
        self.data_log = folder / "logs" / "shop" / "v" / "data-log.log"
        self.dispatcher = AsyncDispatcher(self.queue, self.roster, site, ends, meter, lambda: self.now_s)
        self.bucket = folder / "s3" / "results"

    def _topics(self) -> Topics:
        scene = self

        class Told(Topics):
            async def publish(self, topic: str, message: str, subject: str = "") -> None:
                if not scene.topics_work:
                    raise NotPublished("the topic does not exist")
                scene.messages.append((topic, json.loads(message)))

        async def nobody(*_: object) -> Any:
            raise AssertionError

        return Told(nobody)

    async def ask(self, *bodies: bytes, variant: str = "v", ttl_s: float = 600.0) -> list[int]:
        numbers = []
        for body in bodies:
            place = len(self.queue.latest(None, None, 1000))
            request = AsyncRequest(
                id=str(place),
                inference_id=f"r{place}",
                endpoint="shop",
                variant=variant,
                received_s=self.now_s,
                expires_s=self.now_s + ttl_s,
                timeout_s=60.0,
                output=f"s3://results/out/{place}",
                config=CONFIG,
                failure=f"s3://results/failed/{place}",
                body=body,
            )
            number = await self.queue.add(request)
            self.dispatcher.add(Waiting(number, "shop", variant, request.received_s, request.expires_s))
            numbers.append(number)
        return numbers

    def kept(self, number: int) -> KeptRequest:
        kept = self.queue.get(number)
        assert kept is not None
        return kept

    async def ended(self, *numbers: int) -> None:
        await reached(lambda: all(self.kept(number).ended_s is not None for number in numbers), look_s=0.005)

    def counted(self, metric: metrics.Metric) -> float:
        return self.registry.series(metric, {"EndpointName": "shop", "VariantName": "v"}).total().sum


Story = Callable[[Scene], Awaitable[None]]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    monkeypatch.setattr(module, "PAUSES_S", (0.01,))
    monkeypatch.setattr(ending, "PAUSES_S", (0.01,))
    monkeypatch.setattr(notifying, "PAUSES_S", (0.02,))


def played(folder: Path, story: Story, instances: int = 1) -> None:
    async def scene() -> None:
        with FakeHost() as host:
            scene = Scene(folder, host)
            await scene.stage.ready(instances)
            await scene.dispatcher.start()
            try:
                await asyncio.wait_for(story(scene), 20.0)
            finally:
                await scene.dispatcher.close()
                await scene.pool.close("the test is over")
                scene.queue.close()
                scene.objects.close()

    asyncio.run(scene())


def test_requests_are_sent_in_their_order_one_at_a_time(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        bodies = [b"%d" % number for number in range(8)]
        numbers = await scene.ask(*bodies)
        await scene.ended(*numbers)
        assert scene.instances.sent == bodies
        assert scene.instances.most == 1
        assert (scene.bucket / "out/7").read_bytes() == b"7"
        await reached(lambda: len(scene.messages) == 8, look_s=0.005)
        assert {topic for topic, _ in scene.messages} == {"arn:ok"}

    played(tmp_path, story)


def test_the_lines_of_removed_variants_share_the_room_of_their_successor(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        for variant in ("a", "b", "v"):
            await scene.ask(b"wait", b"wait", variant=variant)
        await reached(lambda: scene.instances.sent, look_s=0.005)
        await asyncio.sleep(0.1)
        assert scene.instances.sent == [b"wait"]
        scene.dispatcher.put_levels()
        assert scene.pool.traffic.queued == 5 + 1 - scene.pool.traffic.in_flight
        scene.instances.gate.set()
        await scene.ended(*range(1, 7))
        assert scene.instances.most == 1

    played(tmp_path, story)


def test_what_the_platform_broke_is_tried_three_times(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        [number] = await scene.ask(b"break")
        await scene.ended(number)
        kept = scene.kept(number)
        assert (kept.state, kept.attempts, scene.instances.sent) == (AsyncState.FAILED, 3, [b"break"] * 3)
        assert "could not get a response from the shop endpoint" in str(kept.reason)
        assert json.loads((scene.bucket / "failed/0").read_text())["message"] == kept.reason
        await reached(lambda: scene.messages, look_s=0.005)
        [(topic, message)] = scene.messages
        assert (topic, message["failureReason"]) == ("arn:failed", kept.reason)
        assert message["failureLocation"] == "s3://results/failed/0"

    played(tmp_path, story)


def test_what_the_model_refused_is_not_tried_again(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        [number] = await scene.ask(b"refuse")
        await scene.ended(number)
        assert scene.instances.sent == [b"refuse"]
        assert (scene.bucket / "failed/0").read_bytes() == b"no"
        assert "Received client error (400) from model" in str(scene.kept(number).reason)
        reason, answer = scene.data_log.read_text().splitlines()
        mark = f":[sagemaker logs] [{scene.kept(number).request.inference_id}]"
        assert f"{mark} ClientError: Received client error (400) from model" in reason
        assert answer.endswith(f"{mark} no")
        assert scene.noted == [scene.data_log]

    played(tmp_path, story)


def test_an_end_that_cannot_be_kept_is_kept_later_and_the_model_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(scene: Scene) -> None:
        end, failures = scene.queue.end, [OSError("the disk is full")] * 3

        async def failing(*told: Any) -> None:
            if failures:
                raise failures.pop()
            await end(*told)

        monkeypatch.setattr(scene.queue, "end", failing)
        [number] = await scene.ask(b"once")
        await scene.ended(number)
        assert scene.instances.sent == [b"once"]
        assert failures == []

    played(tmp_path, story)


def test_a_notice_waits_for_its_topic(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        scene.topics_work = False
        [number] = await scene.ask(b"1")
        await scene.ended(number)
        await reached(lambda: scene.counted(metrics.NOTIFICATION_FAILURES) > 2, look_s=0.005)
        assert len(scene.queue.unsent((), 10)) == 1
        scene.topics_work = True
        await reached(lambda: scene.messages, look_s=0.005)
        await reached(lambda: not scene.queue.unsent((), 10), look_s=0.005)

    played(tmp_path, story)


def test_the_requests_of_a_deleted_endpoint_fail_and_say_so(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        numbers = await scene.ask(b"wait", b"2", b"3")
        await reached(lambda: scene.instances.sent, look_s=0.005)
        scene.roster.stop("shop")
        late = await scene.ask(b"accepted as it was deleted")
        await scene.dispatcher.look()
        await scene.ended(*numbers, *late)
        assert {scene.kept(number).reason for number in (*numbers, *late)} == {DELETED}
        assert scene.instances.sent == [b"wait"]
        await reached(lambda: len(scene.messages) == 4, look_s=0.005)
        assert len(list((scene.bucket / "failed").iterdir())) == 4

    played(tmp_path, story)


def test_many_requests_expire_together(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await scene.stage.scale(0)
        await scene.pool.until(lambda: not scene.pool.ready)
        numbers = await scene.ask(*[b"1"] * 50, ttl_s=60.0)
        scene.now_s += 61.0
        await scene.dispatcher.look()
        await scene.ended(*numbers)
        assert {scene.kept(number).state for number in numbers} == {AsyncState.EXPIRED}
        assert scene.counted(metrics.EXPIRED_REQUESTS) == 50
        assert scene.counted(metrics.INVOCATIONS_PROCESSED) == 0

    played(tmp_path, story)


def test_a_request_that_finds_no_room_waits_and_counts_no_attempt(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        [instance] = scene.pool.ready
        room = scene.pool.ready.has_room
        assert room
        [number] = await scene.ask(b"1")
        instance.took()  # of somebody else
        await asyncio.sleep(0.05)
        instance.answered()
        await scene.ended(number)
        assert scene.kept(number).attempts == 1

    played(tmp_path, story)


def test_only_a_request_that_waits_is_cancelled(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        runs, waits = await scene.ask(b"wait", b"2")
        await reached(lambda: scene.instances.sent, look_s=0.005)
        assert not await scene.dispatcher.cancel(runs)
        assert await scene.dispatcher.cancel(waits)
        assert scene.dispatcher.running("shop") == [runs]
        scene.instances.gate.set()
        await scene.ended(runs)
        assert scene.instances.sent == [b"wait"]

    played(tmp_path, story)


def test_what_waited_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def first(scene: Scene) -> None:
        await scene.ask(b"wait", b"2")
        await reached(lambda: scene.instances.sent, look_s=0.005)

    async def second(scene: Scene) -> None:
        scene.instances.gate.set()
        await scene.ended(1, 2)
        assert scene.instances.sent == [b"wait", b"2"]
        assert scene.kept(1).attempts == 2  # the crash ended the first one

    played(tmp_path, first)
    (tmp_path / "s3").rename(tmp_path / "old")
    played(tmp_path, second)
