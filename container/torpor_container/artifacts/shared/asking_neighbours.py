"""Asks a neighbour for an artifact, and takes no more of its answer than the object has bytes.

A neighbour is believed nothing: whoever asks knows the object's size and ETag from S3, and proves the bytes by them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from torpor_container import wire
from torpor_container.artifacts.shared.named_neighbours import NeighboursPlace
from torpor_container.artifacts.stores.artifact_store import ArtifactHead
from torpor_container.transport.stream_client import STREAM, StreamConnection, StreamFailed
from torpor_container.transport.tickets import HEADER as TICKET
from torpor_container.transport.upstream import opened, request_head
from torpor_container.transport.upstream_answers import UpstreamBroken, UpstreamError

PIECE_BYTES = 1024 * 1024
HEAD_MAX_BYTES = 64 * 1024
TARGET_MODEL = wire.TARGET_MODEL.lower().encode()
ARTIFACT_VERSION = wire.ARTIFACT_VERSION.lower().encode()
LENGTH = b"content-length"


class HasNot(Exception):
    """The neighbour has not this version, or gives out as much as it can already."""


class NeighbourFailed(Exception):
    """It promised the object, and did not send it. The message says what happened."""


class AskingLimits(NamedTuple):
    """Seconds that a neighbour has for the connection, and for each piece of PIECE_BYTES, its head with the first."""

    connects_s: float = 2.0
    piece_s: float = 5.0


LIMITS = AskingLimits()


Take = Callable[[bytes], Awaitable[None]]
"""Gets each piece of the object, in order."""


async def taken_from(
    place: NeighboursPlace, target: str, head: ArtifactHead, take: Take, limits: AskingLimits = LIMITS
) -> None:
    """Take the object that `head` saw from a neighbour: exactly so many bytes. Raises HasNot, NeighbourFailed."""
    headers = [
        (TARGET_MODEL, target.encode(errors="surrogateescape")),
        (ARTIFACT_VERSION, head.version.encode("ascii", "replace")),
        *([(TICKET, place.ticket.encode("ascii", "replace"))] if place.ticket else []),
    ]
    try:
        async with _connected(place, limits) as connection:
            connection.request(request_head("GET", wire.ARTIFACT, headers, 0), [])
            async with asyncio.timeout(limits.piece_s):
                await connection.headed()
            _check_head(connection, head)
            received = 0
            while received < head.size_bytes:
                async with asyncio.timeout(limits.piece_s):
                    piece = await _piece(connection, head.size_bytes - received)
                received += len(piece)
                await take(piece)
    except TimeoutError:
        raise NeighbourFailed(f"it was slower than {PIECE_BYTES} bytes in {limits.piece_s:g} s") from None
    except (UpstreamError, StreamFailed) as error:
        raise NeighbourFailed(str(error)) from error


class _ArtifactConnection(StreamConnection):
    """A connection whose answer has a head of bounded size."""

    def __init__(self) -> None:
        super().__init__()
        self._head_bytes = 0

    def data_received(self, data: bytes) -> None:
        if not self._headed:
            self._head_bytes += len(data)
        super().data_received(data)
        if not self._headed and self._head_bytes > HEAD_MAX_BYTES:
            self._fail(UpstreamBroken(f"the head of its answer is over {HEAD_MAX_BYTES} bytes"))
            self.close()


@asynccontextmanager
async def _connected(place: NeighboursPlace, limits: AskingLimits) -> AsyncIterator[_ArtifactConnection]:
    connection = await opened(place.address, _ArtifactConnection, limits.connects_s)
    try:
        yield connection
    finally:
        connection.close()


def _check_head(connection: StreamConnection, head: ArtifactHead) -> None:
    answer = connection.answer
    if answer.status != 200:
        raise HasNot(f"HTTP {answer.status}")
    if answer.header(STREAM) is not None or answer.header(LENGTH) != b"%d" % head.size_bytes:
        raise NeighbourFailed(f"it announces another object than one of {head.size_bytes} bytes")


async def _piece(connection: StreamConnection, left: int) -> bytes:
    """The next PIECE_BYTES, or what is left. Raises UpstreamBroken if the answer ends before."""
    parts: list[bytes] = []
    size_bytes = 0
    while size_bytes < min(PIECE_BYTES, left):
        came = await connection.taken()
        if not came:
            raise UpstreamBroken("its answer ended before the object did")
        parts += came
        size_bytes += sum(map(len, came))
    if size_bytes > left:
        raise UpstreamBroken("its answer is longer than the object")
    return b"".join(parts)
