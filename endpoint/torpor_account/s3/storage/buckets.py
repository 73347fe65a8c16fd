"""Creates, configures and deletes buckets, which are the folders directly below the root that have a legal name.

A folder made by hand is a bucket at once. The rows of a folder that was removed by hand are dropped: a new folder of
the same name starts without any.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from torpor_account.s3.bucket_names import legal_bucket
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.storage.folders import absence
from torpor_account.s3.storage.index import Index
from torpor_account.s3.storage.uploads import Uploads
from torpor_container.artifacts.object_keys import RESERVED
from torpor_container.frozen_class import frozen

_TABLES: Final = ("objects", "landings", "marks", "configurations")


@frozen
class Bucket:
    name: str
    created_s: float
    region: str | None  # None: the store's own


class Buckets:
    def __init__(self, root: Path, index: Index, uploads: Uploads, clock: Callable[[], float]) -> None:
        self._root = root
        self._index = index
        self._uploads = uploads
        self._clock = clock

    def all(self) -> list[Bucket]:
        with os.scandir(self._root) as entries:
            names = sorted(entry.name for entry in entries if legal_bucket(entry.name))
        return [self.get(name) for name in names if self._inode(name) is not None]

    def get(self, name: str) -> Bucket:
        """The bucket of this name. Raises NoSuchBucket."""
        inode = self._inode(name) if legal_bucket(name) else None
        if inode is None:
            raise S3Error(Refusal.NoSuchBucket, BucketName=name)
        bucket = self._row(name, inode)
        if bucket is not None:
            return bucket
        with self._index.alone():
            return self._row(name, inode) or self._recorded(name, inode, None)

    def create(self, name: str, region: str | None = None) -> Bucket:
        """Create a bucket.

        Raises InvalidBucketName, BucketAlreadyOwnedByYou, and BucketAlreadyExists if a file has this name.
        """
        if not legal_bucket(name):
            raise S3Error(Refusal.InvalidBucketName, BucketName=name)
        with self._index.alone():
            try:
                os.mkdir(self._root / name)
            except FileExistsError as error:
                taken = Refusal.BucketAlreadyExists if self._inode(name) is None else Refusal.BucketAlreadyOwnedByYou
                raise S3Error(taken, BucketName=name) from error
            return self._recorded(name, (self._root / name).stat().st_ino, region)

    def delete(self, name: str) -> None:
        """Remove a bucket without objects, and its unfinished uploads, which on AWS block only directory buckets.

        Raises BucketNotEmpty if it has files that are no objects, or is a mount.
        """
        with self._index.alone():
            if not self._removed(self._root / name):
                raise S3Error(Refusal.BucketNotEmpty, BucketName=name)
            self._forget(name)

    def configuration(self, bucket: str, name: str) -> bytes | None:
        with self._index.reading() as rows:
            query = "SELECT body FROM configurations WHERE bucket = ? AND name = ?"
            row = rows.execute(query, (bucket, name)).fetchone()
        return bytes(row[0]) if row else None

    def configure(self, bucket: str, name: str, body: bytes | None) -> None:
        """Store a configuration as it was sent; None removes it."""
        with self._index.writing() as rows:
            if body is None:
                rows.execute("DELETE FROM configurations WHERE bucket = ? AND name = ?", (bucket, name))
            else:
                rows.execute("INSERT OR REPLACE INTO configurations VALUES (?, ?, ?)", (bucket, name, body))

    def _row(self, name: str, inode: int) -> Bucket | None:
        with self._index.reading() as rows:
            query = "SELECT name, created_s, region FROM buckets WHERE name = ? AND inode = ?"
            row = rows.execute(query, (name, inode)).fetchone()
        return Bucket(*row) if row else None

    def _recorded(self, name: str, inode: int, region: str | None) -> Bucket:
        """Add the row of a new bucket, and drop all rows of an earlier one with its name."""
        self._forget(name)
        bucket = Bucket(name, self._clock(), region)
        with self._index.writing() as rows:
            rows.execute("INSERT OR REPLACE INTO buckets VALUES (?, ?, ?, ?)", (name, bucket.created_s, region, inode))
        return bucket

    def _forget(self, name: str) -> None:
        self._uploads.abort_all(name)
        with self._index.writing() as rows:
            for table in _TABLES:
                rows.execute(f"DELETE FROM {table} WHERE bucket = ?", (name,))
            rows.execute("DELETE FROM buckets WHERE name = ?", (name,))

    def _inode(self, name: str) -> int | None:
        with absence():
            found = os.stat(self._root / name, follow_symlinks=False)
            return found.st_ino if stat.S_ISDIR(found.st_mode) else None
        return None

    def _removed(self, folder: Path) -> bool:
        """Remove empty folders and Torpor's own folder. Other files stay, and then so does the bucket. True if gone."""
        walk = list(os.walk(folder, topdown=False))
        if any(files and Path(path).relative_to(folder).parts[:1] != (RESERVED,) for path, _, files in walk):
            return False
        shutil.rmtree(folder / RESERVED, ignore_errors=True)
        for path, _, _ in walk:
            with absence():  # the folder is gone, or not empty: it has a link, or a file came meanwhile
                _rmdir(path)
        return not folder.exists()


def _rmdir(path: str) -> None:
    try:
        os.rmdir(path)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        raise S3Error(Refusal.BucketNotEmpty, f"{path} is a mount: unmount it, then delete the bucket.") from error
