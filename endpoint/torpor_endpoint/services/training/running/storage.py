"""The objects that a job reads and writes: one seam, and the embedded object store behind it.

Every method blocks, so it is for worker threads.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from torpor_endpoint.services.s3.errors import S3Error
from torpor_endpoint.services.s3.storage.entries import ObjectName, ObjectTraits
from torpor_endpoint.services.s3.storage.objects import Draft
from torpor_endpoint.services.s3.storage.paging import KeyQuery
from torpor_endpoint.services.s3.store import ObjectStore
from torpor_endpoint.services.s3.wire.checksums import DEFAULT, WantedChecksum
from torpor_endpoint.services.s3.wire.intake import Intake, Promise

PIECE_BYTES = 1 << 20


class StorageError(Exception):
    """An object that cannot be read or written. The text says why, ready for a person."""


class Storage(Protocol):
    """Every method raises `StorageError` only."""

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """All keys that begin with the prefix, in order."""

    def fetch(self, bucket: str, key: str, into: Path) -> None: ...

    def put(self, file: Path, bucket: str, key: str) -> None: ...


class EmbeddedStorage:
    """The endpoint's own object store, without a request to itself."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def keys(self, bucket: str, prefix: str) -> list[str]:
        with told(f"s3://{bucket}/{prefix}", S3Error):
            self._store.buckets.get(bucket)
            return list(self._keys(bucket, prefix))

    def fetch(self, bucket: str, key: str, into: Path) -> None:
        with told(f"s3://{bucket}/{key}", S3Error):
            self._store.buckets.get(bucket)
            opened = self._store.objects.open(ObjectName(bucket, key))
            with opened.file, into.open("wb") as copy:
                shutil.copyfileobj(opened.file, copy, PIECE_BYTES)

    def put(self, file: Path, bucket: str, key: str) -> None:
        with told(f"s3://{bucket}/{key}", S3Error):
            self._store.buckets.get(bucket)
            staged = self._store.staging.new()
            intake = Intake(Promise(checksum=WantedChecksum(DEFAULT)), staged, limit_bytes=sys.maxsize)
            try:
                with file.open("rb") as source:
                    while piece := source.read(PIECE_BYTES):
                        intake.feed(piece)
                receipt = intake.finish()
                draft = Draft(staged, receipt.etag, ObjectTraits(checksum=receipt.checksum))
                self._store.objects.put(ObjectName(bucket, key), draft)
            finally:
                staged.discard()

    def _keys(self, bucket: str, prefix: str) -> Iterator[str]:
        page = self._store.listing.page(bucket, KeyQuery(prefix=prefix))
        yield from (entry.key for entry in page.items)
        while page.truncated:
            page = self._store.listing.page(bucket, KeyQuery(prefix=prefix, after=page.last))
            yield from (entry.key for entry in page.items)


@contextmanager
def told(url: str, *errors: type[Exception]) -> Iterator[None]:
    """What goes wrong inside, told with the address it went wrong with."""
    expected: tuple[type[Exception], ...] = (*errors, OSError)
    try:
        yield
    except expected as error:
        raise StorageError(f"{url}: {error}") from error
