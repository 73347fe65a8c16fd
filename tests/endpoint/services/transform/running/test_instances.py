"""No instance has more payloads than it may, and what fails is sent again where that may help."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.upstream import Upstream
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.records import Container
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.host import Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer, StartTrouble
from torpor_endpoint.services.transform.running.instances import (
    ATTEMPTS,
    JobInstances,
    NoInstance,
    Patience,
    PayloadFailed,
)

PATIENCE = Patience(timeout_s=5.0, retries=2)


class Ready:
    """What `JobInstances` sees of a pool: instances that are ready, or the trouble that there is none."""

    def __init__(self, incarnations: Sequence[Incarnation] = (), trouble: StartTrouble | None = None) -> None:
        self.ready: Placement[Incarnation] = Placement()
        self.trouble = trouble
        self.suspected = 0
        for one in incarnations:
            self.ready.offer(one.slot.number, one)

    async def until(self, true: Callable[[], bool]) -> None:
        assert true()

    def released(self, incarnation: Incarnation) -> None:
        incarnation.answered()

    def suspect(self, incarnation: Incarnation) -> None:
        self.suspected += 1


class Server:
    """An instance that answers with these statuses, one after another, and then with 200."""

    def __init__(self, *statuses: int) -> None:
        self._statuses = iter(statuses)
        self.requests = self.now = self.most = self.open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
                self.requests, self.now = self.requests + 1, self.now + 1
                self.most = max(self.most, self.now)
                await asyncio.sleep(0.002)
                self.now -= 1
                status = next(self._statuses, 200)
                if not status:
                    break
                writer.write(b"HTTP/1.1 %d X\r\ncontent-length: 5\r\n\r\nwords" % status)
        writer.transport.abort()
        self.open -= 1


def told(
    folder: Path, servers: Sequence[Server], story: Callable[[JobInstances], Awaitable[None]], at_once: int = 1
) -> None:
    async def run() -> None:
        incarnations, opened = [], []
        for number, server in enumerate(servers):
            path = str(folder / f"{number}")
            opened.append(await asyncio.start_unix_server(server.serve, path))
            slot, ended = Slot("transform.j", "v", number), asyncio.get_running_loop().create_future()
            upstream = Upstream(path)
            one = LiveContainer(Container("torpor"), f"i{number}", upstream, Multiplexed(path, "/invocations"), ended)
            incarnations.append(Incarnation(slot, f"i{number}", [one]))
        instances = JobInstances(cast(InstancePool, Ready(incarnations)))
        instances.at_once = at_once
        try:
            await story(instances)
        finally:
            for incarnation, listener in zip(incarnations, opened, strict=True):
                incarnation.hang_up()
                listener.close()
            while any(server.open for server in servers):
                await asyncio.sleep(0)

    asyncio.run(run())


@pytest.mark.parametrize(("count", "at_once"), [(1, 1), (2, 1), (2, 3)])
def test_an_instance_has_no_more_payloads_than_it_may(tmp_path: Path, count: int, at_once: int) -> None:
    servers = [Server() for _ in range(count)]

    async def story(instances: JobInstances) -> None:
        await asyncio.gather(*(instances.answer("a.csv", [], b"1", PATIENCE) for _ in range(20)))

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
            assert await instances.answer("a.csv", [], b"1", PATIENCE) == b"words"
            return
        with pytest.raises(PayloadFailed, match=f"^{failure}$") as failed:
            await instances.answer("a.csv", [], b"1", PATIENCE)
        assert failed.value.message == ("words" if statuses[-1] else "")

    told(tmp_path, [server], story)
    assert server.requests == requests


def test_a_job_gives_up_after_some_failed_starts_in_a_row() -> None:
    pool = Ready(trouble=StartTrouble("no such model", ATTEMPTS, final=True))
    with pytest.raises(NoInstance, match="no such model"):
        asyncio.run(JobInstances(cast(InstancePool, pool)).answer("a.csv", [], b"1", PATIENCE))
