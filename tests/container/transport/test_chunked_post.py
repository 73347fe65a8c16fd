"""A body goes in chunks while its answer comes, and whatever goes wrong is raised where the answer is awaited."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from torpor_container.transport.chunked_post import chunked
from torpor_container.transport.upstream_answers import UpstreamBroken, UpstreamError, UpstreamTimedOut

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


async def echo(reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
    """Answers each chunk as it comes."""
    await reading.readuntil(b"\r\n\r\n")
    writing.write(HEAD)
    while size := int(await reading.readline(), 16):
        writing.write(b"%x\r\n" % size + await reading.readexactly(size + 2))
        await writing.drain()
    writing.write(b"0\r\n\r\n")


async def deaf(reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def closes(reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
    await reading.readuntil(b"\r\n\r\n")
    writing.close()


async def pieces(count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        yield b"%d" % number * 100_000


async def broken() -> AsyncIterator[bytes]:
    yield b"a"
    raise EOFError("cut")


def answer(folder: Path, handler: Handler, body: AsyncIterator[bytes], idle_s: float = 5.0) -> bytes:
    writers: list[asyncio.StreamWriter] = []

    async def served(reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
        writers.append(writing)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handler(reading, writing)

    async def story() -> bytes:
        server = await asyncio.start_unix_server(served, folder / "s")
        taken = bytearray()
        try:
            async with chunked(str(folder / "s"), "/invocations", [], body, idle_s) as connection:
                while parts := await connection.taken():
                    taken += b"".join(parts)
        finally:
            server.close()
            for writing in writers:
                writing.transport.abort()
            await asyncio.sleep(0)
        return bytes(taken)

    return asyncio.run(story())


def test_a_large_body_and_its_answer_pass_each_other(tmp_path: Path) -> None:
    assert answer(tmp_path, echo, pieces(40)) == b"".join(b"%d" % number * 100_000 for number in range(40))


@pytest.mark.parametrize(
    ("handler", "body", "error"),
    [
        (deaf, pieces(1), UpstreamTimedOut),
        (closes, pieces(40), UpstreamBroken),
        (echo, broken(), EOFError),
    ],
)
def test_what_goes_wrong_is_raised_where_the_answer_is_awaited(
    tmp_path: Path, handler: Handler, body: AsyncIterator[bytes], error: type[UpstreamError]
) -> None:
    with pytest.raises(error):
        answer(tmp_path, handler, body, idle_s=0.2)
