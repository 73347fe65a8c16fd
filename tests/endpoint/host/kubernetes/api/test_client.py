"""The lines of an answer, as they are read in pieces, and answers that no cluster gives."""

import asyncio
from contextlib import aclosing, nullcontext, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.waiting import PATIENCE_S
from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.client import CALLS_MAX, ClusterRefused, KubernetesClient, LineReader
from torpor_endpoint.host.kubernetes.api.cluster import Cluster

PIECES = st.lists(st.lists(st.sampled_from([b"a", b"bc", b"\n"]), max_size=6).map(b"".join), max_size=6)


@given(PIECES)
def test_lines_are_the_same_in_whatever_pieces_they_come(pieces: list[bytes]) -> None:
    reader = LineReader()
    lines = [line for piece in pieces for line in reader.read(piece)]
    assert [*lines, reader.line()] == b"".join(pieces).split(b"\n")


@given(PIECES)
def test_a_line_without_an_end_takes_no_more_than_its_bound(pieces: list[bytes]) -> None:
    reader = LineReader(longest_bytes=4)
    lines = [line for piece in pieces for line in reader.read(piece)]
    for line, whole in zip([*lines, reader.line()], b"".join(pieces).split(b"\n"), strict=True):
        left_out = len(whole) - 4
        assert line == (
            whole if left_out <= 0 else whole[:4] + b" (and %d bytes more, which Torpor left out)" % left_out
        )


PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"


def test_an_answer_that_is_no_json_is_an_error_of_the_cluster() -> None:
    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(PAGE)
        writer.close()

    async def story() -> None:
        async with await asyncio.start_server(answered, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            client = KubernetesClient(Cluster(url, "shop", "a test", False, lambda: ""))
            with pytest.raises(HostError, match="cannot be reached"):
                await client.call("list", "pods")
            await client.close()

    asyncio.run(story())


FOLLOWED = 150
"""Answers that are followed at once: more than httpx's usual bound of 100 connections."""
BEGUN = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nbegun\n\r\n"
READ = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def test_calls_are_made_beside_any_number_of_answers_that_are_followed_and_few_at_once() -> None:
    """An endpoint follows the output of each of its instances."""
    followed, at_once, most = 0, 0, 0
    all_followed, over = asyncio.Event(), asyncio.Event()

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal at_once, most
        with suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                if b"/log" in head:
                    writer.write(BEGUN)
                    await over.wait()
                    break
                at_once += 1
                most = max(most, at_once)
                await asyncio.sleep(0)
                at_once -= 1
                writer.write(READ)
        writer.close()

    async def follow(client: KubernetesClient) -> None:
        nonlocal followed
        async with aclosing(client.lines("/log", {}, PATIENCE_S, ("get", "pods/log"))) as came:
            assert await anext(came) == [b"begun"]
            followed += 1
            if followed == FOLLOWED:
                all_followed.set()
            await over.wait()

    async def story() -> None:
        async with await asyncio.start_server(answered, "127.0.0.1", 0, backlog=2 * FOLLOWED) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            client = KubernetesClient(Cluster(url, "shop", "a test", False, lambda: ""))
            async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as followers:
                for _ in range(FOLLOWED):
                    followers.create_task(follow(client))
                await all_followed.wait()
                await asyncio.gather(*(client.call("list", "pods") for _ in range(3 * CALLS_MAX)))
                over.set()
            await client.close()

    asyncio.run(story())
    assert 0 < most <= CALLS_MAX


CROWDED = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
HELD_UP = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TAKEN = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


@pytest.mark.parametrize(("answers", "refused"), [([CROWDED, CROWDED, TAKEN], False), ([HELD_UP, TAKEN], True)])
def test_a_server_with_too_much_to_do_is_called_again_when_it_says_so(answers: list[bytes], refused: bool) -> None:
    left = list(answers)

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        writer.write(left.pop(0))
        writer.close()

    async def story() -> None:
        async with await asyncio.start_server(answered, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            client = KubernetesClient(Cluster(url, "shop", "a test", False, lambda: ""))
            with pytest.raises(ClusterRefused, match="429") if refused else nullcontext():
                await client.call("create", "pods", body={})
            await client.close()

    asyncio.run(story())
    assert left == ([TAKEN] if refused else [])


def test_an_answer_that_falls_silent_has_ended_though_its_connection_is_open() -> None:
    quiet = asyncio.Event()

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await reader.read()
        quiet.set()
        writer.close()

    async def story() -> None:
        async with await asyncio.start_server(answered, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            client = KubernetesClient(Cluster(url, "shop", "a test", False, lambda: ""))
            async with asyncio.timeout(PATIENCE_S):
                assert [lines async for lines in client.lines("/", {}, 0.2, ("watch", "pods"))] == []
                await quiet.wait()  # it was the client that ended it
            await client.close()

    asyncio.run(story())
