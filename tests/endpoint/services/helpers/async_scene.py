"""The dispatcher of asynchronous requests on a fake host: one endpoint, and everything that answers its requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import ThreadlessTime
from tests.endpoint.services.helpers.failing_machine import (
    FailingDatabase,
    FailingMachine,
    FailingStorage,
    FailingThreads,
)
from tests.helpers.waiting import reached
from torpor_account.metrics import metrics
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.s3.access.embedded import EmbeddedStorage
from torpor_account.s3.object_store import ObjectStore
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.topics import NotPublished, Topics
from torpor_container.transport.parts import END, encoded
from torpor_container.transport.stream_client import StreamConnection
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.async_inference.requests import AsyncRequest, KeptRequest
from torpor_endpoint.core.resource_records import AsyncInference
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.runtime.asynchronous.async_queue import ASYNC_REQUESTS, AsyncQueue, Waiting
from torpor_endpoint.runtime.asynchronous.attempt import AttemptSite
from torpor_endpoint.runtime.asynchronous.dispatcher import AsyncDispatcher
from torpor_endpoint.runtime.asynchronous.metering import AsyncMeter
from torpor_endpoint.runtime.asynchronous.notifying import NoticeBoard
from torpor_endpoint.runtime.asynchronous.request_ends import RequestEnds
from torpor_endpoint.runtime.errors import ErrorPlace, no_response
from torpor_endpoint.runtime.holding import NobodyReady
from torpor_endpoint.runtime.observing.observers import Observers
from torpor_endpoint.runtime.passage import Passage, Served, routed
from torpor_endpoint.runtime.sending import RequestSender

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

    def __init__(
        self, folder: Path, host: FakeHost, machine: FailingMachine, instances: Callable[[], Instances] = Instances
    ) -> None:
        self.now_s = 1000.0
        self.roster, self.registry = FleetRoster(), MetricRegistry(lambda: self.now_s)
        self.stage = PoolOnFakeHost(host)
        self.pool = self.stage.pool
        self.pool.become(replace(self.pool.variant, asynchronous=CONFIG, instances_min=None))
        self.live = FleetEndpoint("shop", "arn", {"v": self.pool})
        self.roster.serve(self.live)
        self.objects = ObjectStore(folder / "s3")
        if not (folder / "s3" / "results").exists():
            self.objects.buckets.create("results")
        file = SqliteFile(folder / "async.sqlite", ASYNC_REQUESTS)
        self.queue = AsyncQueue(FailingDatabase(file, machine), lambda: self.now_s)
        self.seen = AsyncQueue(file, lambda: self.now_s)  # the same, by a database that never fails
        self.instances = instances()
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.topics_work = True
        meter, threads = AsyncMeter(self.registry, lambda: self.now_s), FailingThreads(machine)
        storage, clock = FailingStorage(EmbeddedStorage(self.objects), machine), asyncio.get_running_loop().time
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
        """Accept these requests. A body that is the address of an object stands for it."""
        numbers = []
        for body in bodies:
            place = len(self.seen.latest(None, None, 10_000))
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
                input=body.decode() if body.startswith(b"s3://") else None,
                body=None if body.startswith(b"s3://") else body,
            )
            number = await self.queue.add(request)
            self.dispatcher.add(Waiting(number, "shop", variant, request.received_s, request.expires_s))
            numbers.append(number)
        return numbers

    def kept(self, number: int) -> KeptRequest:
        kept = self.seen.get(number)
        assert kept is not None
        return kept

    async def ended(self, *numbers: int) -> None:
        await reached(lambda: all(self.kept(number).ended_s is not None for number in numbers), look_s=0.5)

    def counted(self, metric: metrics.Metric, variant: str = "v") -> float:
        return self.registry.series(metric, {"EndpointName": "shop", "VariantName": variant}).total().sum


Story = Callable[[Scene], Awaitable[None]]


def played(folder: Path, story: Story, instances: int = 1, machine: FailingMachine | None = None) -> None:
    """Plays the story in one thread and in virtual time: no pause takes any."""

    async def scene() -> None:
        with FakeHost() as host:
            scene = Scene(folder, host, machine or FailingMachine(""))
            await scene.stage.ready(instances)
            await scene.dispatcher.start()
            try:
                await story(scene)
            finally:
                await scene.dispatcher.close()
                await scene.pool.close("the test is over")
                scene.queue.close()
                scene.objects.close()

    with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
        runner.run(scene())
