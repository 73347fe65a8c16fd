"""The files of an object that is transformed: what it is read from, and what its result is written to."""

import gzip
from collections.abc import AsyncIterator, Callable, Iterator
from typing import BinaryIO

from torpor_endpoint.core.transform.splitting import SplitType
from torpor_endpoint.services.jobs.work import WorkThreads
from torpor_endpoint.services.transform.running.object_progress import ObjectProgress

PART_BYTES = 1 << 20
AHEAD_BYTES = 256 << 10
"""So much of small payloads and answers is read and written at a time: each time takes a turn of a thread."""
NEWLINE = b"\n"


class OpenedObject:
    """An object whose bytes can be read more than once. Its methods block, so call them in a worker thread."""

    def __init__(self, file: BinaryIO, compressed: bool, progress: ObjectProgress) -> None:
        self._file = file
        self._compressed = compressed
        self._progress = progress
        self._size_bytes = file.seek(0, 2)

    def parts(self) -> Iterator[bytes]:
        """The bytes from the beginning, unpacked if they are compressed. Raises OSError, EOFError, zlib.error."""
        self._file.seek(0)
        reading = gzip.GzipFile(fileobj=self._file) if self._compressed else self._file
        read: Callable[[int], bytes] = reading.read
        while part := read(PART_BYTES):
            self._progress.share = self._file.tell() / max(self._size_bytes, 1)
            yield part


class ResultFile:
    """The file of a result, which is written in large pieces. `ends_line` says whether its last byte ends a line."""

    def __init__(self, file: BinaryIO, threads: WorkThreads) -> None:
        self._file = file
        self._threads = threads
        self._pieces: list[bytes] = []
        self._held_bytes = 0
        self.ends_line = True

    async def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held_bytes += len(piece)
        if piece:
            self.ends_line = piece.endswith(NEWLINE)
        if self._held_bytes >= AHEAD_BYTES:
            await self.flush()

    async def flush(self) -> None:
        pieces, self._pieces, self._held_bytes = self._pieces, [], 0
        await self._threads.finished(self._file.writelines, pieces)

    async def empty(self) -> None:
        """Begin anew."""
        self._pieces, self._held_bytes, self.ends_line = [], 0, True
        await self._threads.finished(self._file.truncate, 0)
        await self._threads.finished(self._file.seek, 0)


class StreamedObject:
    """An object that is one request: as `ChunkedExchange` has it."""

    def __init__(
        self,
        source: OpenedObject,
        result: ResultFile,
        split: SplitType,
        progress: ObjectProgress,
        threads: WorkThreads,
    ) -> None:
        self._source = source
        self._result = result
        self._split = split
        self._threads = threads
        self._progress = progress

    async def begin(self) -> None:
        self._progress.records = 0
        await self._result.empty()

    async def body(self) -> AsyncIterator[bytes]:
        parts = self._source.parts()
        while (part := await self._threads.finished(next, parts, None)) is not None:
            if self._split is SplitType.LINE:
                self._progress.records += part.count(NEWLINE)
            yield part

    async def take(self, piece: bytes) -> None:
        await self._result.add(piece)

    async def end(self, with_newline: bool) -> None:
        """The answer is whole."""
        if with_newline and not self._result.ends_line:
            await self._result.add(NEWLINE)
        if self._split is not SplitType.LINE:
            self._progress.records = 1
        await self._result.flush()
