"""Artifacts from a neighbour: what S3 says of an object is what is loaded, whatever a neighbour sends."""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from torpor_container.artifacts.location import Prefix
from torpor_container.artifacts.shared.asking_neighbours import HEAD_MAX_BYTES, AskingLimits, taken_from
from torpor_container.artifacts.shared.kept_archives import KeptArchives
from torpor_container.artifacts.shared.named_neighbours import REMEMBERED_MAX, NamedNeighbours
from torpor_container.artifacts.shared.neighbour_store import NeighbourStore
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, Listed
from torpor_container.wire import FetchedFrom

BODY = bytes(range(256)) * 9_000  # more than two pieces
KEY, TARGET = "m/a b.tar.gz", "a b.tar.gz"
HEAD = ArtifactHead(len(BODY), f'"{hashlib.md5(BODY).hexdigest()}"')
QUICK = AskingLimits(connects_s=60.0, piece_s=60.0)
HASTY = AskingLimits(connects_s=60.0, piece_s=0.05)
"""For a neighbour that never goes on."""

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class CountedS3:
    """S3 with the one object."""

    def __init__(self, head: ArtifactHead = HEAD) -> None:
        self.known = head
        self.gets = 0

    async def head(self, key: str) -> ArtifactHead:
        return self.known

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        self.gets += 1
        into.write_bytes(BODY)  # noqa: ASYNC240  it is a test's own small file

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        return []

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        return []


class Neighbour:
    """A server at a Unix socket that says `said` to each request, and then goes on as long as `then` does."""

    def __init__(self, path: Path, said: bytes, then: Serve | None = None) -> None:
        self.path = str(path)
        self.heads: list[bytes] = []
        self._said = said
        self._then = then

    async def __aenter__(self) -> "Neighbour":
        self._server = await asyncio.start_unix_server(self._serve, self.path)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        try:
            writer.write(self._said)
            await writer.drain()
            if self._then is not None:
                await self._then(reader, writer)
            writer.close()
        except ConnectionError:
            writer.close()


def http(body: bytes, status: int = 200, length: int | None = None, more: bytes = b"") -> bytes:
    size = len(body) if length is None else length
    return b"HTTP/1.1 %d .\r\nContent-Length: %d\r\n%s\r\n%s" % (status, size, more, body)


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()  # until the one that asks hangs up


async def without_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"x: y\r\n" * 10_000)
        await writer.drain()


def store(folder: Path, s3: CountedS3, neighbours: list[Neighbour], limits: AskingLimits = QUICK) -> NeighbourStore:
    """The store of an instance to which a router has named these neighbours."""
    found = NeighbourStore(
        s3,
        NamedNeighbours(Prefix("s3", "b", "m/")),
        KeptArchives(folder / "kept", 10**8),
        partial(taken_from, limits=limits),
    )
    name(found, neighbours)
    return found


def name(asking: NeighbourStore, neighbours: list[Neighbour]) -> None:
    places = ",".join(f'{{"at": "{one.path}", "ticket": "t"}}' for one in neighbours)
    asking.named.heard(TARGET, f"[{places}]")


async def fetched(asking: NeighbourStore, folder: Path) -> FetchedFrom:
    """From where the object came. It is the right one, and nothing else is left."""
    into = folder / "archive"
    await asking.get(KEY, await asking.head(KEY), into)
    assert into.read_bytes() == BODY
    assert [name for name in os.listdir(folder) if name.startswith("archive")] == ["archive"]
    return asking.origins.pop(KEY)


def test_an_object_comes_from_the_first_neighbour_that_has_it(tmp_path: Path) -> None:
    async def story() -> None:
        s3 = CountedS3()
        async with (
            Neighbour(tmp_path / "1", http(b"{}", 404)) as has_not,
            Neighbour(tmp_path / "2", http(b"{}", 503)) as busy,
            Neighbour(tmp_path / "3", http(BODY)) as has,
        ):
            asking = store(tmp_path, s3, [has_not, busy, has])
            assert await fetched(asking, tmp_path) is FetchedFrom.NEIGHBOUR
            assert (s3.gets, [len(one.heads) for one in (has_not, busy, has)]) == (0, [1, 1, 1])
            head = has.heads[0].decode().lower()
            assert head.startswith("get /_torpor/artifact http/1.1\r\n")
            assert "x-amzn-sagemaker-target-model: a b.tar.gz\r\n" in head
            assert f"x-torpor-artifact-version: {HEAD.version}\r\n" in head
            assert "x-torpor-ticket: t\r\n" in head
            assert asking.status() == {
                "from_neighbours": 1,
                "from_s3": 0,
                "given": 0,
                "kept_bytes": len(BODY),
            }

    asyncio.run(story())


HOSTILE = {
    "other bytes": (http(BODY[:-1] + b"!"), None),
    "fewer bytes than it announces": (http(BODY[:-1], length=len(BODY)), None),
    "another length": (http(BODY[:-1]), None),
    "more bytes than it announces": (http(BODY + b"more", length=len(BODY) + 4), None),
    "no length": (b"HTTP/1.1 200 .\r\n\r\n" + BODY, without_end),
    "a head without end": (b"HTTP/1.1 200 .\r\n", without_end),
    "a body without end": (http(b"", length=10**15), without_end),
    "no HTTP": (b"hello", None),
    "nothing": (b"", None),
    "a stream of Torpor's": (http(BODY, more=b"X-Torpor-Stream: parts\r\n"), None),
}
SLOW = {
    "silence": (b"", silence),
    "silence after the head": (http(b"", length=len(BODY)), silence),
    "silence in the midst": (http(BODY[: len(BODY) // 2], length=len(BODY)), silence),
}


@pytest.mark.parametrize("kind", [*HOSTILE, *SLOW])
def test_whatever_a_neighbour_sends_instead_s3_serves(kind: str, tmp_path: Path) -> None:
    async def story() -> None:
        s3 = CountedS3()
        async with Neighbour(tmp_path / "n", *(HOSTILE | SLOW)[kind]) as hostile:
            asking = store(tmp_path, s3, [hostile], HASTY if kind in SLOW else QUICK)
            assert await fetched(asking, tmp_path) is FetchedFrom.S3
            assert (s3.gets, len(hostile.heads)) == (1, 1)
            name(asking, [hostile])
            assert await fetched(asking, tmp_path) is FetchedFrom.S3
            assert (s3.gets, len(hostile.heads)) == (2, 1)  # it is passed over for once

    asyncio.run(story())


def test_a_head_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    sent = []

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"x: y\r\n" * 10_000)
            sent.append(60_000)
            await writer.drain()

    async def story() -> None:
        async with Neighbour(tmp_path / "n", b"HTTP/1.1 200 .\r\n", counted) as hostile:
            await fetched(store(tmp_path, CountedS3(), [hostile]), tmp_path)

    asyncio.run(story())
    assert sum(sent) < 100 * HEAD_MAX_BYTES  # what the sockets hold is not read


def test_nobody_is_asked_without_being_named_or_where_nothing_could_be_proven(tmp_path: Path) -> None:
    async def story() -> None:
        async with Neighbour(tmp_path / "n", http(BODY)) as has:
            unnamed = store(tmp_path, CountedS3(), [])
            assert await fetched(unnamed, tmp_path) is FetchedFrom.S3
            unproven = store(tmp_path, CountedS3(ArtifactHead(len(BODY), "Mon, 1 Jan")), [has])
            assert await fetched(unproven, tmp_path) is FetchedFrom.S3
            gone = store(tmp_path, CountedS3(), [Neighbour(tmp_path / "nobody", b"")])
            assert await fetched(gone, tmp_path) is FetchedFrom.S3
            assert has.heads == []

    asyncio.run(story())


def test_what_names_no_neighbours_is_passed_over_and_what_is_remembered_is_bounded() -> None:
    named = NamedNeighbours(Prefix("s3", "b", "m/"))
    for text in ("", "{", "{}", '[{"at": 3}]', '[{"at": "h:port", "ticket": ""}]', "[" * 100_000):
        named.heard(TARGET, text)
    assert named.taken(KEY) is None
    for number in range(REMEMBERED_MAX + 1):
        named.heard(f"{number}", '[{"at": "[::1]:80", "ticket": ""}, {"at": "h:1", "ticket": ""}]')
    assert named.taken("m/0") is None
    said = named.taken("m/1")
    assert said is not None
    assert [place.address for place in said.places] == [("::1", 80), ("h", 1)]
    assert named.taken("m/1") is None


def test_the_archives_that_are_kept_are_the_last_used_ones_that_fit(tmp_path: Path) -> None:
    kept, file = KeptArchives(tmp_path / "kept", 10), tmp_path / "file"
    for key in "ab":
        file.write_bytes(key.encode() * 5)
        kept.keep(key, "1", file)
        file.unlink()
    found = kept.opened("a", "1")
    assert found is not None
    found.close()
    file.write_bytes(b"ccccc")
    kept.keep("c", "1", file)
    file.unlink()
    file.write_bytes(b"d" * 11)
    kept.keep("d", "1", file)
    here = {key for key in "abcd" if (one := kept.opened(key, "1")) is not None and one.close() is None}
    assert (here, kept.used_bytes, kept.opened("a", "2")) == ({"a", "c"}, 10, None)
    assert len(list((tmp_path / "kept").iterdir())) == 2
    kept.clear()
    assert kept.opened("a", "1") is None
