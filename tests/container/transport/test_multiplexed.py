"""The connection that many requests share, against a server with the exact answers of a test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import uvloop

from tests.container.helpers.connections import hang_up
from tests.container.helpers.read_frames import NamingReader, ReadFrame
from tests.helpers.waiting import PATIENCE_S
from torpor_container.transport.frames import NO_ANSWER, START, UPGRADED, encoded, upgrade
from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.upstream_answers import (
    UpstreamAnswer,
    UpstreamBroken,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimedOut,
)


class Server(asyncio.Protocol):
    """Accepts with `greeting`, and keeps the requests."""

    def __init__(self, greeting: bytes) -> None:
        self._greeting = greeting
        self._reader = NamingReader()
        self.first = b""
        self.asked: list[ReadFrame] = []
        self.reads = 0
        self.heard = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self.first:
            self.first = data
            self.transport.write(self._greeting)
            return
        self.asked += self._reader.read(data)
        self.reads += 1
        self.heard.set()

    async def until_asked(self, count: int) -> list[ReadFrame]:
        while len(self.asked) < count:
            self.heard.clear()
            await self.heard.wait()
        return self.asked

    def answer(self, frame: ReadFrame, body: bytes, status: int = 200) -> None:
        self.transport.write(encoded(frame.number, status, b"x-asked: %b\r\n" % frame.body, body))


class FramedServer:
    """A server at a socket, and the connections that it has had."""

    def __init__(self, path: Path) -> None:
        self.connection = Multiplexed(str(path), "/invocations")
        self.greeting = UPGRADED
        self.servers: list[Server] = []

    def serve(self) -> Server:
        self.servers.append(Server(self.greeting))
        return self.servers[-1]

    @property
    def server(self) -> Server:
        return self.servers[-1]

    def send(self, body: bytes, timeout_s: float = 5.0) -> "asyncio.Future[UpstreamAnswer | UpstreamError]":
        told: asyncio.Future[UpstreamAnswer | UpstreamError] = asyncio.get_running_loop().create_future()
        assert self.connection.send(b"accept: text/csv\r\n", body, timeout_s, told.set_result)
        return told


@asynccontextmanager
async def framed_server(folder: Path, connect: bool = True) -> AsyncIterator[FramedServer]:
    found = FramedServer(folder / "i")
    listening = await asyncio.get_running_loop().create_unix_server(found.serve, str(folder / "i"))
    try:
        assert not connect or await found.connection.connect(5.0)
        yield found
    finally:
        found.connection.close()
        listening.close()
        for server in found.servers:
            server.transport.abort()
        await asyncio.sleep(0)


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), PATIENCE_S))


def never(outcome: UpstreamAnswer | UpstreamError) -> None:
    pytest.fail(f"told of {outcome}")


def body(outcome: UpstreamAnswer | UpstreamError) -> bytes:
    assert isinstance(outcome, UpstreamAnswer)
    return outcome.body


def test_answers_find_their_requests_in_any_order(tmp_path: Path) -> None:
    async def story() -> None:
        async with framed_server(tmp_path) as at:
            first, second, third = at.send(b"1"), at.send(b"2"), at.send(b"3")
            asked = await at.server.until_asked(3)
            assert [(one.status, one.headers, one.body) for one in asked] == [
                (0, [(b"accept", b"text/csv")], number) for number in (b"1", b"2", b"3")
            ]
            for frame, said in zip(reversed(asked), (b"c", b"b", b"a"), strict=True):
                at.server.answer(frame, said)
            assert [body(await told) for told in (first, second, third)] == [b"a", b"b", b"c"]
            answer = await first
            assert isinstance(answer, UpstreamAnswer)
            assert (answer.status, answer.header(b"x-asked")) == (200, b"1")
            assert at.server.first == upgrade("/invocations")
            assert len(at.servers) == 1

    run(story)


def test_nothing_is_sent_before_the_server_agreed(tmp_path: Path) -> None:
    async def story() -> None:
        async with framed_server(tmp_path, connect=False) as at:
            assert not at.connection.send(b"", b"1", 5.0, never)
            assert not at.connection.open

    run(story)


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", b"no HTTP"])
def test_a_server_that_speaks_no_frames_is_left_alone(tmp_path: Path, greeting: bytes) -> None:
    async def story() -> None:
        async with framed_server(tmp_path, connect=False) as at:
            at.greeting = greeting
            assert not await at.connection.connect(5.0)
            assert not at.connection.send(b"", b"1", 5.0, never)

    run(story)


def test_a_silent_server_makes_the_connection_fail_at_its_time_limit(tmp_path: Path) -> None:
    async def story() -> None:
        async with framed_server(tmp_path, connect=False) as at:
            at.greeting = b""
            assert not await at.connection.connect(0.05)
            assert not at.connection.open

    run(story)


def test_a_connection_without_a_listener_does_not_open(tmp_path: Path) -> None:
    assert not asyncio.run(Multiplexed(str(tmp_path / "nobody"), "/invocations").connect(5.0))


def test_requests_that_wait_when_the_connection_breaks_fail_and_a_new_one_can_be_opened(tmp_path: Path) -> None:
    async def story() -> None:
        async with framed_server(tmp_path) as at:
            waiting = [at.send(b"1"), at.send(b"2")]
            asked = await at.server.until_asked(2)
            at.server.answer(asked[1], b"b")
            at.server.transport.close()
            assert isinstance(await waiting[0], UpstreamBroken)
            assert body(await waiting[1]) == b"b"
            assert not at.connection.open
            assert not at.connection.send(b"", b"3", 5.0, never)
            assert await at.connection.connect(5.0)
            told = at.send(b"3")
            at.server.answer((await at.server.until_asked(1))[0], b"c")
            assert body(await told) == b"c"

    run(story)


def test_requests_that_wait_when_it_is_closed_fail(tmp_path: Path) -> None:
    async def story() -> None:
        async with framed_server(tmp_path) as at:
            told = at.send(b"1")
            at.connection.close()
            assert isinstance(await told, UpstreamBroken)

    run(story)


def test_a_request_that_takes_too_long_ends_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with framed_server(tmp_path) as at:
            patient, hasty, later = at.send(b"1"), at.send(b"2", 0.02), at.send(b"3", 0.04)
            for told, limit in ((hasty, "0.02 s"), (later, "0.04 s")):
                outcome = await told
                assert isinstance(outcome, UpstreamTimedOut)
                assert limit in str(outcome)
            assert not patient.done()
            for frame in await at.server.until_asked(3):  # two of them are too late: no callback is called twice
                at.server.answer(frame, b"late" if frame.body != b"1" else b"a")
            assert body(await patient) == b"a"
            assert at.connection.open

    run(story)


def test_a_request_that_gets_no_answer_fails_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with framed_server(tmp_path) as at:
            first, second = at.send(b"1"), at.send(b"2")
            asked = await at.server.until_asked(2)
            at.server.answer(asked[0], b"it is too long", status=NO_ANSWER)
            at.server.answer(asked[1], b"b")
            outcome = await first
            assert isinstance(outcome, UpstreamBroken)
            assert str(outcome) == "it is too long"
            assert body(await second) == b"b"

    run(story)


def test_a_server_that_announces_too_long_an_answer_is_disconnected(tmp_path: Path) -> None:
    async def story() -> None:
        async with framed_server(tmp_path) as at:
            told = at.send(b"1")
            (asked,) = await at.server.until_asked(1)
            at.server.transport.write(START.pack(asked.number, 200, 0, 2**32 - 1))
            outcome = await told
            assert isinstance(outcome, UpstreamBroken)
            assert "too long" in str(outcome)
            assert not at.connection.open

    run(story)


def test_a_callback_that_raises_does_not_keep_others_from_their_outcome(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(outcome: UpstreamAnswer | UpstreamError) -> None:
        raise RuntimeError(f"told of {outcome}")

    async def story() -> None:
        async with framed_server(tmp_path) as at:
            assert at.connection.send(b"", b"1", 5.0, fails)
            told = at.send(b"2")
            for frame in await at.server.until_asked(2):
                at.server.answer(frame, b"a")
            assert body(await told) == b"a"

            assert at.connection.send(b"", b"3", 5.0, fails)
            told = at.send(b"4")
            at.connection.close()
            assert isinstance(await told, UpstreamRefused)  # it was not written yet
        assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]

    run(story)


@pytest.mark.parametrize(
    ("loop", "turns"),
    [
        *((asyncio.new_event_loop, turns) for turns in (0, 1, 2)),
        *((uvloop.new_event_loop, turns) for turns in (0, 1)),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_a_request_to_a_server_that_has_just_gone_counts_as_never_sent(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop], turns: int, count: int
) -> None:
    """However many turns of the loop it takes to hear of it."""

    async def story() -> None:
        async with framed_server(tmp_path) as at:
            earlier = at.send(b"read")
            await at.server.until_asked(1)
            hang_up(at.server.transport)
            for _ in range(turns):
                await asyncio.sleep(0)
            told = [at.send(b"%d" % number) for number in range(count)]
            assert {type(one) for one in await asyncio.gather(*told)} == {UpstreamRefused}
            assert isinstance(await earlier, UpstreamBroken)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(story())
