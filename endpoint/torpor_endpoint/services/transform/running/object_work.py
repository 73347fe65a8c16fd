"""Transforms one object: reads it, sends its payloads, and writes their answers in order. Memory stays flat.

The object and its result are files in the job's folder meanwhile. The result is put when it is whole.
"""

import asyncio
import gzip
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from torpor_endpoint.core.transform.joining import DataProcessing, NotJoined
from torpor_endpoint.core.transform.settings import TransformSettings
from torpor_endpoint.core.transform.splitting import NotSplit, payloads
from torpor_endpoint.services.jobs.work import finished
from torpor_endpoint.services.s3.access.embedded import Storage, StorageError
from torpor_endpoint.services.transform.running.inputs import JobObject
from torpor_endpoint.services.transform.running.instances import Headers, JobInstances, PayloadFailed

PART_BYTES = 1 << 20
NEWLINE = b"\n"


class ObjectFailed(Exception):
    """The object has no result. The text tells a person why."""


class ObjectWork:
    """Transforms the objects of one job. `slots` bounds the payloads that all its instances have at the same time."""

    def __init__(
        self,
        storage: Storage,
        instances: JobInstances,
        settings: TransformSettings,
        processing: DataProcessing | None,
        headers: Headers,
        output_bucket: str,
        compressed: bool,
        slots: asyncio.Semaphore,
    ) -> None:
        self._storage = storage
        self._instances = instances
        self._settings = settings
        self._processing = processing
        self._headers = headers
        self._output_bucket = output_bucket
        self._compressed = compressed
        self._slots = slots

    async def transform(self, one: JobObject, folder: Path) -> None:
        """Raises ObjectFailed, NoInstance. `folder` is the object's own."""
        source, result = folder / "object", folder / "result"
        try:
            await finished(self._storage.fetch, one.bucket, one.key, source)
            await self._answered(one.key, source, result)
            await finished(self._storage.put, result, self._output_bucket, one.result)
        except (StorageError, OSError, EOFError, NotSplit, NotJoined) as error:
            raise ObjectFailed(f"ClientError: {error}") from error
        except PayloadFailed as error:
            raise ObjectFailed(str(error)) from error

    async def _answered(self, key: str, source: Path, result: Path) -> None:
        settings = self._settings
        waiting: deque[asyncio.Task[bytes]] = deque()
        with ExitStack() as files:
            file: BinaryIO = files.enter_context(source.open("rb"))
            reading = files.enter_context(gzip.GzipFile(fileobj=file)) if self._compressed else file
            writing = files.enter_context(result.open("wb"))
            bodies = payloads(_parts(reading), settings.split, settings.strategy, settings.payload_bytes)
            try:
                while True:
                    if len(waiting) >= settings.at_once:
                        await finished(writing.write, await waiting[0])
                        waiting.popleft()
                        continue
                    await self._slots.acquire()
                    try:
                        payload = await finished(next, bodies, None)
                    except BaseException:
                        self._slots.release()
                        raise
                    if payload is None:
                        self._slots.release()
                        break
                    waiting.append(asyncio.create_task(self._answer(key, payload)))
                while waiting:
                    await finished(writing.write, await waiting[0])
                    waiting.popleft()
            finally:
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)

    async def _answer(self, key: str, payload: bytes) -> bytes:
        """What the result has for a payload. It frees the payload's slot."""
        settings, processing = self._settings, self._processing
        try:
            sent = payload if processing is None else await finished(processing.sent, payload)
            answer = await self._instances.answer(key, self._headers, sent, settings.timeout_s, settings.retries)
            written = answer if processing is None else await finished(processing.written, payload, answer)
        finally:
            self._slots.release()
        return written + NEWLINE if settings.with_newlines and not written.endswith(NEWLINE) else written


def _parts(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    read: Callable[[int], bytes] = file.read
    while part := read(PART_BYTES):
        yield part
