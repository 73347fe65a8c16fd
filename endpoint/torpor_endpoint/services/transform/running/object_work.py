"""Transforms one object: reads it, sends its payloads, and writes their answers in order. Memory stays flat.

The result is a file in the job's folder meanwhile. It is put when it is whole.
"""

import asyncio
import gzip
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from torpor_account.s3.access.embedded import Storage, StorageError
from torpor_account.storage.failures import is_machines
from torpor_endpoint.core.transform.joining import DataProcessing, NotJoined
from torpor_endpoint.core.transform.payload_settings import TransformSettings
from torpor_endpoint.core.transform.splitting import NotSplit, payloads, records_in
from torpor_endpoint.services.jobs.work import WorkThreads, client_error, internal_error
from torpor_endpoint.services.transform.running.inputs import JobObject
from torpor_endpoint.services.transform.running.instances import JobInstances, JobPayload, Patience, PayloadFailed
from torpor_endpoint.services.transform.running.object_files import (
    AHEAD_BYTES,
    NEWLINE,
    OpenedObject,
    ResultFile,
    StreamedObject,
)
from torpor_endpoint.services.transform.running.object_progress import ObjectProgress

AHEAD_MAX = 256


class ObjectFailed(Exception):
    """The object has no result. The text tells a person why; `message` is what the model answered."""

    def __init__(self, text: str, message: str = "") -> None:
        super().__init__(text)
        self.message = message


class ObjectWork:
    """Transforms the objects of one job. `slots` bounds the payloads, and their answers, that are in memory."""

    def __init__(
        self,
        storage: Storage,
        threads: WorkThreads,
        instances: JobInstances,
        settings: TransformSettings,
        processing: DataProcessing | None,
        headers: Mapping[bytes, bytes],
        output_bucket: str,
        compressed: bool,
        slots: asyncio.Semaphore,
    ) -> None:
        self._storage = storage
        self._threads = threads
        self._instances = instances
        self._settings = settings
        self._patience = Patience(settings.timeout_s, settings.retries)
        self._processing = processing
        self._headers = headers
        self._output_bucket = output_bucket
        self._compressed = compressed
        self._slots = slots

    async def transform(self, one: JobObject, folder: Path, progress: ObjectProgress) -> None:
        """Raises ObjectFailed, NoInstance, and the machine's errors: it may be called again then. `folder` is the
        object's own."""
        progress.share, progress.records = 0.0, 0
        try:
            with ExitStack() as files:
                source = await self._threads.finished(self._open, one, folder, files, progress)
                result = ResultFile(await self._threads.finished(_created, folder / "result", files), self._threads)
                if self._settings.streamed:
                    await self._streamed(
                        one, StreamedObject(source, result, self._settings.split, progress, self._threads)
                    )
                else:
                    await self._answered(one, source, result, progress)
                await self._threads.finished(files.close)
            await self._threads.finished(self._storage.put, folder / "result", self._output_bucket, one.result)
        except (StorageError, gzip.BadGzipFile, EOFError, zlib.error, NotSplit, NotJoined) as error:
            if is_machines(error):
                raise
            raise ObjectFailed(client_error(error)) from error
        except OSError as error:
            if is_machines(error):
                raise
            raise ObjectFailed(internal_error(error)) from error
        except PayloadFailed as error:
            raise ObjectFailed(str(error), error.message) from error

    def _open(self, one: JobObject, folder: Path, files: ExitStack, progress: ObjectProgress) -> OpenedObject:
        file = files.enter_context(self._storage.opened(one.bucket, one.key, folder / "object"))
        return OpenedObject(file, self._compressed, progress)

    async def _streamed(self, one: JobObject, exchange: StreamedObject) -> None:
        """The object is one request. It has a slot, as a payload has."""
        async with self._slots:
            payload = JobPayload(one.key, self._headers, model=one.model)
            await self._instances.stream(payload, exchange, self._patience)
        await exchange.end(self._settings.with_newlines)

    async def _answered(
        self, one: JobObject, source: OpenedObject, result: ResultFile, progress: ObjectProgress
    ) -> None:
        """A payload keeps its slot until its answer is written. Nobody waits for a slot while an answer is due: all
        slots might be those of answers."""
        settings = self._settings
        bodies = payloads(source.parts(), settings.split, settings.strategy, settings.payload_bytes)
        waiting: deque[asyncio.Task[bytes]] = deque()
        ahead: deque[bytes] = deque()
        try:
            while True:
                if waiting and (len(waiting) >= settings.at_once or self._slots.locked()):
                    await result.add(await waiting[0])
                    waiting.popleft()
                    self._slots.release()
                    continue
                if not ahead:
                    ahead.extend(await self._threads.finished(_some, bodies))
                if not ahead:
                    break
                await self._slots.acquire()
                waiting.append(asyncio.create_task(self._answer(one, ahead.popleft(), progress)))
            while waiting:
                await result.add(await waiting[0])
                waiting.popleft()
                self._slots.release()
            await result.flush()
        finally:
            for task in waiting:
                task.cancel()
                self._slots.release()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _answer(self, one: JobObject, payload: bytes, progress: ObjectProgress) -> bytes:
        """What the result has for a payload."""
        settings, processing = self._settings, self._processing
        if processing is None:
            written = await self._sent(one.key, one.model, payload)
        elif processing.model is None:
            answer = await self._sent(one.key, one.model, await self._threads.finished(processing.sent, payload))
            written = await self._threads.finished(processing.written, payload, answer)
        else:
            parts = await self._threads.finished(processing.by_model, payload)
            answers = [await self._sent(one.key, part.model, part.body) for part in parts]
            written = await self._threads.finished(processing.written_together, payload, parts, answers)
        progress.records += records_in(payload, settings.split, settings.strategy)
        return written + NEWLINE if settings.with_newlines and not written.endswith(NEWLINE) else written

    async def _sent(self, key: str, model: str, body: bytes) -> bytes:
        """The answer. The payloads of one model go to one instance, else those of one object."""
        return await self._instances.answer(JobPayload(key, self._headers, body, model), self._patience)


def _created(path: Path, files: ExitStack) -> BinaryIO:
    return files.enter_context(path.open("wb", buffering=0))


def _some(source: Iterator[bytes]) -> list[bytes]:
    """The next payload, and those after it, while they are small; none at the end."""
    found: list[bytes] = []
    held_bytes = 0
    for payload in islice(source, AHEAD_MAX):
        found.append(payload)
        held_bytes += len(payload)
        if held_bytes >= AHEAD_BYTES:
            break
    return found
