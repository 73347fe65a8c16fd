"""No instance has more payloads than it may, and what fails is sent again where that may help."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.sending.machine import STRICT_HOP_BYTES
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer, StartTrouble
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.services.transform.running.instances import (
    ATTEMPTS,
    JobInstances,
    JobPayload,
    NoInstance,
    Patience,
    PayloadFailed,
)

PATIENCE = Patience(timeout_s=5.0, retries=2)


class Pool(VariantPool):
    """Instances that are ready, or the trouble that there is none. One that is suspected stays ready."""

    size = 1

    def __init__(self, incarnations: Sequence[Incarnation] = (), trouble: StartTrouble | None = None) -> None:
        containers = [one.definition for one in incarnations[0].containers] if incarnations else [Container("torpor")]
        super().__init__("transform.j", Variant("algorithm", "m", tuple(containers)))
        self.trouble = trouble
        self.suspected = 0
        for one in incarnations:
            self.ready.offer(one.slot.number, one)

    def wake(self) -> None:
        """They are awake."""

    def suspect(self, incarnation: Incarnation) -> None:
        self.suspected += 1


class Server:
    """A container that gives these answers, one after another, and then 200: a status (0: it hangs up), with further
    headers and a body."""

    def __init__(self, *answers: int, headers: str = "", body: bytes = b"words") -> None:
        self._answers = iter(answers)
        self._head, self._body = f"content-length: {len(body)}\r\n{headers}\r\n".encode(), body
        self.requests = self.now = self.most = self.open = 0
        self.heads: list[dict[str, str]] = []
        self.bodies: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = [line.partition(": ") for line in head.decode("latin-1").splitlines()[1:] if line]
                self.heads.append({name.lower(): value for name, _, value in lines})
                self.bodies.append(await reader.readexactly(int(self.heads[-1]["content-length"])))
                self.requests, self.now = self.requests + 1, self.now + 1
                self.most = max(self.most, self.now)
                await asyncio.sleep(0.002)
                self.now -= 1
                status = next(self._answers, 200)
                if not status:
                    break
                writer.write(b"HTTP/1.1 %d X\r\n%s%s" % (status, self._head, self._body))
        writer.transport.abort()
        self.open -= 1


def told(
    folder: Path,
    servers: Sequence[Server],
    story: Callable[[JobInstances], Awaitable[None]],
    at_once: int = 1,
    *,
    pipeline: bool = False,
    **more: Any,
) -> Pool:
    """The story of some instances, or of one that has these containers. `more` goes to `JobInstances`."""

    async def run() -> Pool:
        containers, opened = [], []
        for number, server in enumerate(servers):
            path = str(folder / f"{number}")
            opened.append(await asyncio.start_unix_server(server.serve, path))
            ended = asyncio.get_running_loop().create_future()
            name = f"container-{number + 1}" if pipeline else "primary"
            launched = Launched(Slot("transform.j", "v", number), f"i{number}", path, Phase.RUNNING)
            containers.append(LiveContainer.of(Container("torpor", name=name), launched, ended))
        each = [containers] if pipeline else [[one] for one in containers]
        incarnations = [Incarnation(Slot("transform.j", "v", at), f"i{at}", own) for at, own in enumerate(each)]
        pool = Pool(incarnations)
        instances = JobInstances(cast(InstancePool, pool), lambda: 0.0, **more)
        instances.bound(at_once)
        try:
            await story(instances)
        finally:
            for incarnation in incarnations:
                incarnation.hang_up()
            for listener in opened:
                listener.close()
            while any(server.open for server in servers):
                await asyncio.sleep(0)
        assert [one.in_flight for one in incarnations] == [0] * len(incarnations)
        return pool

    return asyncio.run(run())


PAYLOAD = JobPayload("a.csv", {}, b"1")


@pytest.mark.parametrize(("count", "at_once"), [(1, 1), (2, 1), (2, 3)])
def test_an_instance_has_no_more_payloads_than_it_may(tmp_path: Path, count: int, at_once: int) -> None:
    servers = [Server() for _ in range(count)]

    async def story(instances: JobInstances) -> None:
        await asyncio.gather(*(instances.answer(PAYLOAD, PATIENCE) for _ in range(20)))

    told(tmp_path, servers, story, at_once)
    assert [server.most for server in servers] == [at_once] * count
    assert sum(server.requests for server in servers) == 20


@pytest.mark.parametrize(
    ("statuses", "requests", "failure"),
    [
        ((500, 429, 200), 3, None),
        ((0, 200), 2, None),
        ((500, 500, 503), 3, "ServerError: 503"),
        ((400, 200), 1, "ClientError: 400"),
        ((0, 0, 0), 3, "Unable to get response from algorithm"),
    ],
)
def test_what_may_help_is_sent_again(
    tmp_path: Path, statuses: tuple[int, ...], requests: int, failure: str | None
) -> None:
    server = Server(*statuses)

    async def story(instances: JobInstances) -> None:
        if failure is None:
            assert await instances.answer(PAYLOAD, PATIENCE) == b"words"
            return
        with pytest.raises(PayloadFailed, match=f"^{failure}$") as failed:
            await instances.answer(PAYLOAD, PATIENCE)
        assert failed.value.message == ("words" if statuses[-1] else "")

    told(tmp_path, [server], story)
    assert server.requests == requests


def test_a_job_gives_up_after_some_failed_starts_in_a_row() -> None:
    pool = Pool(trouble=StartTrouble("no such model", ATTEMPTS, final=True))
    with pytest.raises(NoInstance, match="no such model"):
        asyncio.run(JobInstances(cast(InstancePool, pool), lambda: 0.0).answer(PAYLOAD, PATIENCE))


ASKED = JobPayload("a.csv", {b"content-type": b"text/csv", b"accept": b"text/plain"}, b"1")


def test_the_containers_of_a_pipeline_get_what_those_of_a_request_get(tmp_path: Path) -> None:
    """A batch transform and InvokeEndpoint have one way through them (docs/how-to/pipeline.md)."""
    told_on = "content-type: application/json\r\nx-amzn-sagemaker-custom-attributes: theirs\r\n"
    servers = [Server(headers=told_on, body=b"{}"), Server(body=b"[]"), Server()]

    async def story(instances: JobInstances) -> None:
        assert await instances.answer(ASKED, PATIENCE) == b"words"

    told(tmp_path, servers, story, pipeline=True)
    assert [server.bodies for server in servers] == [[b"1"], [b"{}"], [b"[]"]]
    names = ("content-type", "accept", "x-amzn-sagemaker-custom-attributes")
    assert [tuple(server.heads[0].get(name) for name in names) for server in servers] == [
        ("text/csv", None, None),
        ("application/json", None, "theirs"),
        (None, "text/plain", None),
    ]


def test_a_payload_that_is_sent_again_begins_at_the_first_container(tmp_path: Path) -> None:
    servers = [Server(), Server(500)]

    async def story(instances: JobInstances) -> None:
        assert await instances.answer(ASKED, PATIENCE) == b"words"

    told(tmp_path, servers, story, pipeline=True)
    assert [server.bodies for server in servers] == [[b"1", b"1"], [b"words", b"words"]]


@pytest.mark.parametrize("strict", [False, True])
def test_only_strict_mode_has_aws_s_limit_between_the_containers_of_a_job(tmp_path: Path, strict: bool) -> None:
    servers = [Server(body=bytes(STRICT_HOP_BYTES + 1)), Server()]

    async def story(instances: JobInstances) -> None:
        if not strict:
            assert await instances.answer(ASKED, PATIENCE) == b"words"
            return
        with pytest.raises(PayloadFailed, match="payload from container-1 to container-2 is 5242881 bytes"):
            await instances.answer(ASKED, PATIENCE)

    told(tmp_path, servers, story, pipeline=True, strict=strict)
    assert servers[1].requests == (0 if strict else 1)


def test_a_container_of_a_job_that_found_no_memory_is_given_some(tmp_path: Path) -> None:
    servers = [Server(), Server(507)]

    async def story(instances: JobInstances) -> None:
        await instances.answer(ASKED, PATIENCE)

    (instance,) = told(tmp_path, servers, story, pipeline=True).ready
    lacking = [container.lacked_room for container in instance.containers]
    assert (lacking, instance.lacks_room.is_set()) == ([False, True], True)
