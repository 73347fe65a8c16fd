"""Reads and writes objects of the embedded store without a request: defines the interface `Storage`, and implements it.

Every method blocks, so call it in a worker thread.
"""

import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

from torpor_account.core.outages.error_owners import ErrorOwner, of_s3
from torpor_account.s3.errors import S3Error
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.storage.entries import ObjectName, ObjectTraits
from torpor_account.s3.storage.key_pages import KeyQuery
from torpor_account.s3.storage.objects import Draft
from torpor_account.s3.wire.checksums import DEFAULT, RequestedChecksum
from torpor_account.s3.wire.intake import Intake, Promise
from torpor_account.storage.failures import owner_of
from torpor_container.artifacts.object_keys import local_version

PIECE_BYTES = 1 << 20


class StorageError(Exception):
    """An object cannot be read or written. The text tells a person why."""

    owner = ErrorOwner.TORPOR


class NotStored(StorageError):
    """There is no such object or bucket, or it may not be used: it will not be otherwise soon."""

    owner = ErrorOwner.CALLER


class StorageAway(StorageError):
    """The machine failed: no disk, no descriptor, no store. It passes, and is nobody's attempt."""

    owner = ErrorOwner.MACHINE


UNTYPED: Final = "binary/octet-stream"
"""S3's type of an object that was written without one."""


class ObjectHead(NamedTuple):
    """`content_type` is empty for an object that was written without one. `etag` is without its quotes, and
    `artifact_version` is what an instance that reads the object calls its version."""

    size_bytes: int
    content_type: str
    etag: str = ""
    artifact_version: str = ""


class Storage(Protocol):
    """Where the endpoint reads and writes objects of its own. Every method raises only `StorageError`."""

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """All keys that begin with the prefix, in order."""

    def check(self, bucket: str) -> None:
        """Raises StorageError if there is no such bucket."""

    def check_writable(self, bucket: str, key: str) -> None:
        """Raises NotStored if the role that this storage acts as may not write the object."""

    def head(self, bucket: str, key: str) -> ObjectHead: ...

    def fetch(self, bucket: str, key: str, into: Path) -> None: ...

    def opened(self, bucket: str, key: str, copy: Path) -> BinaryIO:
        """The object, to be read once and closed. A store that is elsewhere is read into the file `copy` before."""

    def put(self, file: Path, bucket: str, key: str, content_type: str = "") -> None:
        """Write a file as an object. It is there once it is whole."""

    def write(self, body: bytes, bucket: str, key: str, content_type: str = "") -> None:
        """Write an object of these bytes."""

    def remove(self, bucket: str, key: str) -> None:
        """Delete an object. As on AWS, it is no error if there is none."""


AsRole = Callable[[Storage, str, str], Storage]
"""Makes a storage that acts as a role from one that may do everything: takes it, the role's ARN, and the ARN of the
resource for which the role is assumed."""


def as_endpoint(storage: Storage, role: str, source: str) -> Storage:
    """The storage itself: where no caller is verified, roles are names only."""
    return storage


class EmbeddedStorage:
    """The endpoint's own object store, without a request to itself."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def keys(self, bucket: str, prefix: str) -> list[str]:
        with storage_errors(f"s3://{bucket}/{prefix}", S3Error):
            self._store.buckets.get(bucket)
            return list(self._keys(bucket, prefix))

    def check(self, bucket: str) -> None:
        with storage_errors(f"s3://{bucket}", S3Error):
            self._store.buckets.get(bucket)

    def check_writable(self, bucket: str, key: str) -> None:
        """The endpoint itself may write everything."""

    def head(self, bucket: str, key: str) -> ObjectHead:
        with storage_errors(f"s3://{bucket}/{key}", S3Error):
            self._store.buckets.get(bucket)
            found = self._store.objects.head(ObjectName(bucket, key))
            content_type = typed(found.traits.headers.get("content-type", ""))
            place = found.found
            version = local_version(place.mtime_ns, place.size, place.inode)
            return ObjectHead(found.size_bytes, content_type, found.etag or "", version)

    def fetch(self, bucket: str, key: str, into: Path) -> None:
        with storage_errors(f"s3://{bucket}/{key}", S3Error):
            with self.opened(bucket, key, into) as opened, into.open("wb") as copy:
                shutil.copyfileobj(opened, copy, PIECE_BYTES)

    def opened(self, bucket: str, key: str, copy: Path) -> BinaryIO:
        with storage_errors(f"s3://{bucket}/{key}", S3Error):
            self._store.buckets.get(bucket)
            return self._store.objects.open(ObjectName(bucket, key)).file

    def put(self, file: Path, bucket: str, key: str, content_type: str = "") -> None:
        with storage_errors(f"s3://{bucket}/{key}"), file.open("rb") as source:
            self._write(source, bucket, key, {"content-type": content_type} if content_type else {})

    def write(self, body: bytes, bucket: str, key: str, content_type: str = "") -> None:
        self._write(BytesIO(body), bucket, key, {"content-type": content_type} if content_type else {})

    def remove(self, bucket: str, key: str) -> None:
        with storage_errors(f"s3://{bucket}/{key}", S3Error):
            self._store.buckets.get(bucket)
            self._store.objects.delete(ObjectName(bucket, key))

    def _write(self, source: BinaryIO, bucket: str, key: str, headers: dict[str, str]) -> None:
        with storage_errors(f"s3://{bucket}/{key}", S3Error):
            self._store.buckets.get(bucket)
            staged = self._store.staging.new()
            intake = Intake(Promise(checksum=RequestedChecksum(DEFAULT)), staged, limit_bytes=sys.maxsize)
            try:
                while piece := source.read(PIECE_BYTES):
                    intake.feed(piece)
                receipt = intake.finish()
                draft = Draft(staged, receipt.etag, ObjectTraits(headers, checksum=receipt.checksum))
                self._store.objects.put(ObjectName(bucket, key), draft)
            finally:
                staged.discard()

    def _keys(self, bucket: str, prefix: str) -> Iterator[str]:
        page = self._store.listing.page(bucket, KeyQuery(prefix=prefix))
        yield from (entry.key for entry in page.items)
        while page.truncated:
            page = self._store.listing.page(bucket, KeyQuery(prefix=prefix, after=page.last))
            yield from (entry.key for entry in page.items)


def typed(content_type: str) -> str:
    """The type that the writer of an object gave; empty where S3 gave its own."""
    return "" if content_type == UNTYPED else content_type


def storage_owner(error: Exception) -> ErrorOwner:
    """Whose an error of the embedded store is."""
    return of_s3(error.status, error.refusal.name) if isinstance(error, S3Error) else owner_of(error)


KINDS: Mapping[ErrorOwner, type[StorageError]] = {
    ErrorOwner.MACHINE: StorageAway,
    ErrorOwner.CALLER: NotStored,
}
"""The error for each owner; `StorageError` itself for the others."""


@contextmanager
def storage_errors(
    url: str, *errors: type[Exception], owner: Callable[[Exception], ErrorOwner] = storage_owner
) -> Iterator[None]:
    """Raise these errors, and those of the disk, as StorageError with the address: of the kind that their owner has."""
    expected: tuple[type[Exception], ...] = (*errors, OSError, sqlite3.Error)
    try:
        yield
    except StorageError:
        raise
    except expected as error:
        raise KINDS.get(owner(error), StorageError)(f"{url}: {error}") from error
