"""The hop to an instance, against a server on a Unix socket with the exact answers of a test."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.container.helpers.connections import hang_up
from tests.helpers.waiting import PATIENCE_S
from torpor_container.transport.upstream import JOINED_MAX_BYTES, Upstream
from torpor_container.transport.upstream_answers import (
    UpstreamAnswer,
    UpstreamBroken,
    UpstreamRefused,
    UpstreamTimedOut,
)

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CLOSE = b""
"""In a script of answers: the server closes the connection."""


class Instance:
    """Answers the requests of each connection from `script`, and counts both."""

    def __init__(self, script: Sequence[bytes]) -> None:
        self._script = iter(script)
        self.connections = 0
        self.requests: list[bytes] = []
        self.asked = asyncio.Event()
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                self.asked.set()
                answer = next(self._script)
                writer.write(answer)
                if answer == CLOSE:
                    break
        writer.close()


@asynccontextmanager
async def instance(folder: Path, *script: bytes) -> AsyncIterator[tuple[Instance, Upstream]]:
    served, path = Instance(script), str(folder / "i")
    server = await asyncio.start_unix_server(served.serve, path)
    upstream = Upstream(path)
    try:
        yield served, upstream
    finally:
        upstream.close()
        server.close()
        for writer in served.writers:
            writer.transport.abort()
        await asyncio.sleep(0)


async def get(upstream: Upstream, timeout_s: float = 5.0, body: bytes = b"") -> UpstreamAnswer:
    return await upstream.send("POST", "/invocations", [(b"accept", b"text/csv")], [body], timeout_s)


async def turns() -> None:
    """Gives the event loop enough turns for both ends of a socket to see a change at one."""
    for _ in range(10):
        await asyncio.sleep(0)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def test_a_connection_serves_one_request_after_another(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, OK, OK, OK) as (served, upstream):
            assert [(await get(upstream, body=b"1,2")).body for _ in range(3)] == [b"ok"] * 3
            assert served.connections == 1
            head, _, body = served.requests[0].partition(b"\r\n\r\n")
            assert (head.splitlines()[0], body) == (b"POST /invocations HTTP/1.1", b"1,2")

    run(story())


def test_connections_are_as_many_as_requests_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, *[OK] * 20) as (served, upstream):
            for _ in range(2):
                await asyncio.gather(*(get(upstream) for _ in range(10)))
            assert served.connections == 10

    run(story())


def test_an_idle_connection_that_was_closed_is_not_used_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, OK, OK) as (served, upstream):
            await get(upstream)
            served.writers[0].transport.abort()
            await turns()
            assert (await get(upstream)).status == 200
            assert served.connections == 2

    run(story())


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("turns", [0, 1, 2])
@pytest.mark.parametrize("body", [b"1,2", b"1," * JOINED_MAX_BYTES], ids=["short", "long"])
def test_a_request_that_meets_a_closed_connection_uses_another_one(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop], turns: int, body: bytes
) -> None:
    async def story() -> None:
        async with instance(tmp_path, OK, OK, OK) as (served, upstream):
            await asyncio.gather(get(upstream), get(upstream))
            for writer in served.writers:
                hang_up(writer.transport)
            for _ in range(turns):
                await asyncio.sleep(0)
            assert (await get(upstream, body=body)).status == 200
            assert served.connections == 3
            assert served.requests[-1].endswith(body)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(story(), PATIENCE_S))


def test_a_connection_whose_server_asks_to_close_it_is_closed(tmp_path: Path) -> None:
    async def story() -> None:
        closing = OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
        async with instance(tmp_path, closing, OK) as (served, upstream):
            assert [(await get(upstream)).body for _ in range(2)] == [b"ok", b"ok"]
            assert served.connections == 2

    run(story())


def test_a_body_is_sent_unchanged_and_its_callback_fires_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, OK, OK) as (served, upstream):
            for chunks in ([b"1,", b"2"], [b"1," * JOINED_MAX_BYTES, b"", b"2"]):
                whole = b"".join(chunks)
                heard: list[list[bytes]] = []
                await upstream.send("POST", "/invocations", (), chunks, 5.0, sent=partial(heard.append, chunks))
                assert served.requests.pop().partition(b"\r\n\r\n")[2] == whole
                assert heard == [chunks]
                assert b"".join(chunks) == whole

    run(story())


def test_no_callback_fires_for_a_body_that_was_not_sent(tmp_path: Path) -> None:
    async def story() -> None:
        heard: list[bool] = []
        nobody = Upstream(str(tmp_path / "nobody"))
        with pytest.raises(UpstreamRefused):
            await nobody.send("POST", "/invocations", (), [b"1,2"], 5.0, sent=lambda: heard.append(True))
        assert heard == []

    run(story())


def test_a_call_bounds_its_own_answer(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, OK, OK) as (_, upstream):
            with pytest.raises(UpstreamBroken, match="the answer is over 10 bytes"):
                await upstream.send("POST", "/invocations", (), [b"1"], 5.0, answer_max_bytes=10)
            assert (await get(upstream)).body == b"ok"

    run(story())


def test_a_refused_connection_differs_from_a_broken_answer(tmp_path: Path) -> None:
    async def story() -> None:
        with pytest.raises(UpstreamRefused):
            await get(Upstream(str(tmp_path / "nobody")))
        async with instance(tmp_path, CLOSE, OK) as (_, upstream):
            with pytest.raises(UpstreamBroken):
                await get(upstream)
            assert (await get(upstream)).status == 200

    run(story())


WHOLE = {
    "chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n",
    "after an interim answer": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde",
}


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE.keys())
def test_a_whole_answer_is_read_however_it_is_framed(tmp_path: Path, answer: bytes) -> None:
    async def story() -> None:
        async with instance(tmp_path, answer, OK) as (served, upstream):
            first = await get(upstream)
            assert (first.status, first.body) == (200, b"abcde")
            assert (await get(upstream)).body == b"ok"
            assert served.connections == 1

    run(story())


def test_an_answer_in_pieces_is_put_together(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, b"HTT") as (served, upstream):
            asking = asyncio.create_task(get(upstream))
            await served.asked.wait()  # and the first piece is written in the same step
            for byte in OK[3:]:
                await asyncio.sleep(0.001)
                served.writers[0].write(bytes([byte]))
            assert (await asking).body == b"ok"

    run(story())


BROKEN = {
    "no HTTP": b"hello\r\n\r\n",
    "a bad length": b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
    "a bad chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_garbage_is_a_broken_answer_and_its_connection_is_never_used_again(tmp_path: Path, answer: bytes) -> None:
    async def story() -> None:
        async with instance(tmp_path, answer, OK) as (served, upstream):
            with pytest.raises(UpstreamBroken):
                await get(upstream)
            assert (await get(upstream)).body == b"ok"
            assert served.connections == 2

    run(story())


def test_an_answer_that_stops_half_way_is_broken(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf") as (served, upstream):
            asking = asyncio.create_task(get(upstream))
            await served.asked.wait()
            served.writers[0].close()
            with pytest.raises(UpstreamBroken):
                await asking

    run(story())


@pytest.mark.parametrize("surplus", [OK.replace(b"ok", b"no"), b"HTTP/1.1 200 OK\r\nx-late: 1\r\n"])
def test_surplus_bytes_never_become_the_next_callers_answer(tmp_path: Path, surplus: bytes) -> None:
    async def story() -> None:
        async with instance(tmp_path, OK + surplus, OK) as (_, upstream):
            first = await get(upstream)
            assert (first.body, first.header(b"x-late")) == (b"ok", None)
            assert (await get(upstream)).body == b"ok"

    run(story())


def test_a_late_answer_never_becomes_the_next_callers(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, b"HTTP/1.1 ", OK) as (served, upstream):
            with pytest.raises(UpstreamTimedOut):
                await get(upstream, timeout_s=0.05)
            served.writers[0].write(b"200 OK\r\ncontent-length: 4\r\n\r\nlate")
            assert (await get(upstream)).body == b"ok"

    run(story())


def test_opening_a_connection_is_part_of_the_time_limit_and_what_was_not_sent_is_kept() -> None:
    async def story() -> None:
        heard: list[bool] = []
        with full_queue() as address, pytest.raises(UpstreamRefused, match=r"no connection within 0\.05 s"):
            await Upstream(address).send("POST", "/invocations", (), [b"1,2"], 0.05, sent=lambda: heard.append(True))
        assert heard == []

    run(story())


@contextmanager
def full_queue() -> Iterator[tuple[str, int]]:
    """The address of a server that takes no connection: as many wait already as may."""
    with ExitStack() as sockets:
        listening = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield listening.getsockname()


def test_a_cancelled_call_closes_its_connection(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, b"HTTP/1.1 ", OK) as (served, upstream):
            asking = asyncio.create_task(get(upstream))
            await served.asked.wait()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert (await get(upstream)).body == b"ok"
            assert served.connections == 2

    run(story())


def test_a_whole_answer_is_passed_on_whatever_bytes_follow_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with instance(tmp_path, OK, OK + b"garbage\r\n\r\n", OK) as (served, upstream):
            assert [(await get(upstream)).body for _ in range(3)] == [b"ok"] * 3
            assert served.connections == 2

    run(story())


def test_a_connection_to_a_server_with_a_full_backlog_waits(tmp_path: Path) -> None:
    async def story() -> None:
        path, upstream = str(tmp_path / "i"), Upstream(str(tmp_path / "i"))
        with ExitStack() as stack:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(path)
            listener.listen(0)
            stack.enter_context(closing(connected(path)))
            asking = asyncio.create_task(upstream.send("GET", "/ping", [], [], 10.0))
            await turns()
            assert not asking.done()
            stack.enter_context(listener.accept()[0])
            answering, _ = await asyncio.to_thread(listener.accept)
            stack.enter_context(answering)
            answering.sendall(OK)
            assert (await asking).body == b"ok"
            upstream.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as in an endpoint: others take it for open
        runner.run(asyncio.wait_for(story(), PATIENCE_S))


def connected(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection
