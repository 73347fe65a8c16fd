"""The client's side of a stream, against a server that sends what a test says."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers.waiting import PATIENCE_S
from torpor_container.transport.parts import END, StreamFault, encoded, fault
from torpor_container.transport.stream_client import StreamConnection, StreamFailed, streamed
from torpor_container.transport.upstream_answers import UpstreamBroken, UpstreamRefused, UpstreamTimedOut

FRAMED = b"HTTP/1.1 200 OK\r\nx-torpor-stream: parts\r\ntransfer-encoding: chunked\r\n\r\n"
Server = Callable[[asyncio.StreamWriter], Awaitable[None]]


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


LAST = b"0\r\n\r\n"


def sends(*pieces: bytes) -> Server:
    async def serve(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    return serve


def called(tmp_path: Path, serve: Server, steps: Callable[[StreamConnection], Awaitable[None]]) -> None:
    """One request to the server, and steps with its answer."""

    async def story() -> None:
        served = asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                await reader.readuntil(b"\r\n\r\nbody")
                await serve(writer)
                await reader.read()  # until the client has left
            writer.close()
            served.set()

        async with await asyncio.start_unix_server(accept, tmp_path / "s"), asyncio.timeout(PATIENCE_S):
            try:
                async with streamed(str(tmp_path / "s"), "/invocations", [], [b"body"], 0.5) as connection:
                    await steps(connection)
            finally:
                await served.wait()

    asyncio.run(story())


async def all_parts(connection: StreamConnection) -> list[bytes]:
    parts: list[bytes] = []
    while come := await connection.taken():
        parts += come
    return parts


def test_parts_keep_their_bounds_whatever_the_chunks(tmp_path: Path) -> None:
    body = encoded([b"one", b"two"]) + END

    async def steps(connection: StreamConnection) -> None:
        assert await all_parts(connection) == [b"one", b"two"]

    called(tmp_path, sends(FRAMED, chunk(body[:3]), chunk(body[3:]), LAST), steps)


@pytest.mark.parametrize("head", [b"content-length: 3\r\n\r\n", b"\r\n", b"transfer-encoding: chunked\r\n\r\n3\r\n"])
def test_an_answer_of_another_server_is_given_as_it_comes(tmp_path: Path, head: bytes) -> None:
    end = b"\r\n0\r\n\r\n" if b"chunked" in head else b""

    async def steps(connection: StreamConnection) -> None:
        assert b"".join(await all_parts(connection)) == b"raw"

    called(tmp_path, sends(b"HTTP/1.1 200 OK\r\n" + head + b"raw" + end), steps)


def test_an_answer_that_is_no_success_is_whole_at_once(tmp_path: Path) -> None:
    async def steps(connection: StreamConnection) -> None:
        assert (connection.answer.status, connection.answer.body) == (500, b"why")

    called(tmp_path, sends(b"HTTP/1.1 500 No\r\ncontent-length: 3\r\n\r\nwhy"), steps)


def test_a_fault_is_raised_after_the_parts_before_it(tmp_path: Path) -> None:
    async def steps(connection: StreamConnection) -> None:
        assert await connection.taken() == [b"one"]
        with pytest.raises(StreamFailed, match="no more"):
            await connection.taken()

    called(tmp_path, sends(FRAMED, chunk(encoded([b"one"]) + fault(StreamFault("no more"))), LAST), steps)


@pytest.mark.parametrize("end", [b"", LAST, chunk(b"\x09\x00\x00\x00\x00")])
def test_a_stream_that_breaks_off_is_no_whole_one(tmp_path: Path, end: bytes) -> None:
    async def steps(connection: StreamConnection) -> None:
        with pytest.raises(UpstreamBroken):
            await all_parts(connection)

    called(tmp_path, sends(FRAMED, chunk(encoded([b"one"])), end), steps)


def test_a_server_that_says_nothing_is_out_of_time(tmp_path: Path) -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        """Sends nothing."""

    with pytest.raises(UpstreamTimedOut):
        called(tmp_path, silent, lambda _: asyncio.sleep(0))


def test_a_server_that_is_not_there_was_never_called(tmp_path: Path) -> None:
    async def story() -> None:
        async with streamed(str(tmp_path / "nobody"), "/invocations", [], [], 0.5):
            pass

    with pytest.raises(UpstreamRefused):
        asyncio.run(story())


def test_a_reader_that_takes_nothing_stops_the_server(tmp_path: Path) -> None:
    sent_bytes = 0

    async def flood(writer: asyncio.StreamWriter) -> None:
        nonlocal sent_bytes
        writer.write(FRAMED)
        for _ in range(1000):
            writer.write(chunk(encoded([b"x" * 100_000])))
            await writer.drain()
            sent_bytes += 100_000

    async def steps(connection: StreamConnection) -> None:
        before = -1
        while sent_bytes != before:
            before = sent_bytes
            await asyncio.sleep(0.1)
        assert sent_bytes < 4_000_000

    called(tmp_path, flood, steps)
