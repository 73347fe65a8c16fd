"""Sends files of captured lines to S3, in a thread. A file that S3 refuses is sent again, a few times; one that the
machine fails, until S3 has it."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Protocol

from torpor_account.log_lines import about
from torpor_account.s3.access.embedded import StorageError
from torpor_account.storage.failures import is_machines
from torpor_endpoint.runtime.capture.files import CaptureFile

TRIES = 10
PAUSE_S = 1.0
PAUSE_MAX_S = 30.0
"""The pause before a file is sent again: at first one second, and twice as long each time, up to this."""

log = logging.getLogger(__name__)


class CaptureStore(Protocol):
    """The S3 that captured data goes to."""

    def write(self, body: bytes, bucket: str, key: str) -> None:
        """Write an object. It may block. Raises StorageError."""


StoreOf = Callable[[CaptureFile], CaptureStore]
"""The store that acts as the role of a file's variant."""


@dataclass
class Parcel:
    """A file on its way."""

    file: CaptureFile
    due_s: float = 0.0  # of the steady clock
    failures: int = 0
    refusals: int = 0  # those among them that are not the machine's


class Delivery:
    """The files that are not yet in S3. For the event loop's thread.

    `ended` gets each file that leaves memory, and whether it is in S3. `clock` gives steady seconds.
    """

    def __init__(
        self,
        store_of: StoreOf,
        thread: Executor,
        clock: Callable[[], float],
        ended: Callable[[CaptureFile, bool], None],
    ) -> None:
        self._store_of = store_of
        self._thread = thread
        self._clock = clock
        self._ended = ended
        self._parcels: list[Parcel] = []
        self._sending: asyncio.Task[None] | None = None
        self._failing: set[str] = set()  # buckets

    def __len__(self) -> int:
        return len(self._parcels)

    @property
    def records(self) -> int:
        """The records that are not yet in S3."""
        return sum(parcel.file.records for parcel in self._parcels)

    def add(self, files: list[CaptureFile]) -> None:
        self._parcels += map(Parcel, files)

    def hurry(self) -> None:
        """Do not wait before a file is sent again."""
        for parcel in self._parcels:
            parcel.due_s = 0.0

    def start(self) -> "asyncio.Task[None]":
        """Send every file that is due, in a task of its own. There is one such task at a time."""
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_due(), name="send captured data")
        return self._sending

    async def _send_due(self) -> None:
        while (parcel := self._next()) is not None:
            try:
                await self._written(parcel.file)
            except StorageError as error:
                self._failed(parcel, error)
            except Exception as error:  # the outer edge of a store: a mistake of it ends after so many tries, too
                if not is_machines(error):
                    log.exception("the store of captured data raised an unknown error")
                self._failed(parcel, error)
            else:
                self._succeeded(parcel)

    def _next(self) -> Parcel | None:
        now_s = self._clock()
        return next((parcel for parcel in self._parcels if parcel.due_s <= now_s), None)

    async def _written(self, file: CaptureFile) -> None:
        def write() -> None:
            self._store_of(file).write(b"".join(file.pieces), file.bucket, file.key)

        await asyncio.get_running_loop().run_in_executor(self._thread, write)

    def _succeeded(self, parcel: Parcel) -> None:
        bucket = parcel.file.bucket
        if bucket in self._failing:
            self._failing.discard(bucket)
            log.warning("captured data reaches bucket %s again", bucket)
        self._leaves(parcel, True)

    def _failed(self, parcel: Parcel, error: Exception) -> None:
        """The log has the first failure of a bucket, and each file that is dropped."""
        file = parcel.file
        parcel.failures += 1
        parcel.refusals += not is_machines(error)
        if parcel.refusals >= TRIES:
            known = about(endpoint=file.endpoint, variant=file.variant)
            text = "%d captured records of endpoint %s are lost: %s"
            log.error(text, file.records, file.endpoint, error, extra=known)
            self._leaves(parcel, False)
            return
        parcel.due_s = self._clock() + min(PAUSE_S * 2.0 ** min(parcel.failures - 1, 10), PAUSE_MAX_S)
        if file.bucket not in self._failing:
            self._failing.add(file.bucket)
            log.warning("captured data of endpoint %s cannot be written, and is kept for now: %s", file.endpoint, error)

    def _leaves(self, parcel: Parcel, delivered: bool) -> None:
        self._parcels.remove(parcel)
        self._ended(parcel.file, delivered)
