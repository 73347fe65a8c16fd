"""Opens, puts, tags and deletes objects. File and row stay consistent, even if the process is killed at any moment.

To put an object, its row goes to `landings`, its sealed file is renamed into place, and the row moves to `objects`. If
the process is killed before the rename, the old object is there; after it, the row in `landings` describes the new one.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Final

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.storage.entries import (
    COLUMNS,
    ObjectEntry,
    ObjectName,
    ObjectTraits,
    by_hand,
    dumped,
    from_row,
    remarked,
    saved,
)
from torpor_account.s3.storage.folders import Fingerprint, fingerprint_of
from torpor_account.s3.storage.index import Index
from torpor_account.s3.storage.staging import Staged
from torpor_account.s3.storage.tree import AnotherDisk, Marks, Occupied, Tree, parent, parents
from torpor_account.s3.wire.preconditions import Conditions, check_write
from torpor_container.frozen_class import frozen

_ALWAYS: Final = Conditions()
_PIECE_BYTES: Final = 2**20
_MOUNT: Final = "The key lies in a mount within its bucket, where nothing can be put: mount the whole bucket."


@frozen
class Draft:
    """A new object whose bytes are still a staged file."""

    staged: Staged
    etag: str
    traits: ObjectTraits


@frozen
class Opened:
    """An object with its open file, which the caller closes."""

    entry: ObjectEntry
    file: FileIO

    @property
    def in_step(self) -> bool:
        return self.entry.etag is not None and self.entry.found == fingerprint_of(self.file)


ObjectChanged = Callable[[str, str, bool], None]
"""Takes a bucket, a key, and whether there is an object now. Any thread may call it."""


def untold(bucket: str, key: str, there: bool) -> None:
    """Tell nobody: nobody waits for objects."""


class Objects:
    """`changed` is called after each write and deletion that goes through here, before its caller gets the answer."""

    def __init__(self, index: Index, tree: Tree, clock: Callable[[], float]) -> None:
        self._index = index
        self._tree = tree
        self._clock = clock
        self.changed: ObjectChanged = untold

    def open(self, name: ObjectName) -> Opened:
        """The object, with its row updated if the file was changed by hand. Raises NoSuchKey."""
        opened = self._look(name)
        if opened is not None and opened.in_step:
            return opened
        if opened is not None:
            opened.file.close()
        with self._index.alone():  # a thread that renamed the file has now also written its row
            opened = self._look(name)
            if opened is None:
                self._forget(name)
                raise S3Error(Refusal.NoSuchKey, Key=name.key)
        return opened if opened.in_step else self._adopted(opened)

    def head(self, name: ObjectName) -> ObjectEntry:
        opened = self.open(name)
        opened.file.close()
        return opened.entry

    def put(self, name: ObjectName, draft: Draft, preconditions: Conditions = _ALWAYS) -> ObjectEntry:
        """Store a new object. Raises NoSuchBucket, PreconditionFailed, and InvalidRequest for a key in a mount inside
        its bucket."""
        found = draft.staged.seal()
        try:
            return self._put(name, draft, preconditions, (draft.staged.path, found))
        except AnotherDisk:
            return self._put_across(name, draft, preconditions)

    def delete(self, name: ObjectName, preconditions: Conditions = _ALWAYS) -> None:
        """Delete the object. As on AWS, it is no error if there is none."""
        with self._index.alone():
            check_write(preconditions, self._etag(name) if preconditions.any else None)
            new: Marks = {}
            if self._tree.fingerprint(*name) is not None:
                new = self._tree.remove(*name, self._marks(name))
            self._tree.remove_aside(*name)
            with self._index.writing() as rows:
                rows.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", name)
                remarked(rows, name.bucket, new, written=True)
        self.changed(*name, False)

    def tag(self, name: ObjectName, tags: dict[str, str]) -> None:
        entry = self.head(name)
        traits = dumped(replace(entry.traits, tags=tags))
        with self._index.writing() as rows:
            where = "bucket = ? AND key = ? AND size = ? AND mtime_ns = ? AND inode = ?"
            rows.execute(f"UPDATE objects SET traits = ? WHERE {where}", (traits, *name, *entry.found))

    def recover(self) -> None:
        """Finish what a killed process had begun: a landing counts if its file is in place."""
        with self._index.reading() as rows:
            landings = [from_row(row) for row in rows.execute(f"SELECT {COLUMNS} FROM landings")]
        for entry in landings:
            if self._tree.fingerprint(*entry.name) == entry.found:
                self._landed(entry, {})
            elif self._tree.fingerprint_aside(*entry.name) == entry.found:
                self._landed(replace(entry, folder=None), {})
        with self._index.writing() as rows:
            rows.execute("DELETE FROM landings")

    def _put(
        self, name: ObjectName, draft: Draft, preconditions: Conditions, file: tuple[Path, Fingerprint]
    ) -> ObjectEntry:
        path, found = file
        with self._index.alone():
            check_write(preconditions, self._etag(name) if preconditions.any else None)
            entry = ObjectEntry(name, parent(name.key), found, draft.etag, self._clock(), draft.traits)
            with self._index.writing() as rows:
                saved(rows, entry, "landings")
            return self._moved_in(entry, path)

    def _put_across(self, name: ObjectName, draft: Draft, preconditions: Conditions) -> ObjectEntry:
        """Put an object into a bucket on another file system: copy the file there first, since rename cannot cross."""
        with self._tree.carried(name.bucket, draft.staged.path) as copy:
            try:
                entry = self._put(name, draft, preconditions, copy)
            except AnotherDisk as error:
                raise S3Error(Refusal.InvalidRequest, _MOUNT, Key=name.key) from error
        draft.staged.discard()
        return entry

    def _moved_in(self, entry: ObjectEntry, file: Path) -> ObjectEntry:
        new: Marks = {}
        try:
            new = self._tree.place(*entry.name, file, self._marks(entry.name))
        except Occupied:
            self._tree.place_aside(*entry.name, file)
            entry = replace(entry, folder=None)
        except FileNotFoundError as gone:
            raise S3Error(Refusal.NoSuchBucket, BucketName=entry.name.bucket) from gone
        self._landed(entry, new)
        self.changed(*entry.name, True)
        return entry

    def _landed(self, entry: ObjectEntry, new: Marks) -> None:
        if entry.folder is not None:
            self._tree.remove_aside(*entry.name)
        with self._index.writing() as rows:
            saved(rows, entry)
            rows.execute("DELETE FROM landings WHERE bucket = ? AND key = ?", entry.name)
            remarked(rows, entry.name.bucket, new, written=True)

    def _look(self, name: ObjectName) -> Opened | None:
        """The object in its ordinary place, else aside: a file copied there by hand wins over an object aside."""
        entry = self._row(name)
        file = self._tree.open(*name)
        if file is not None and (entry is None or entry.folder is None):
            return Opened(by_hand(name, parent(name.key), fingerprint_of(file)), file)
        if file is None and entry is not None and entry.folder is None:
            file = self._tree.open_aside(*name)
        return Opened(entry, file) if file is not None and entry is not None else None

    def _adopted(self, opened: Opened) -> Opened:
        """The object by its file alone, with the MD5 of the bytes as its ETag."""
        found = fingerprint_of(opened.file)
        etag = _digest(opened.file, found.size)
        opened.file.seek(0)
        entry = by_hand(opened.entry.name, opened.entry.folder, found, etag)
        with self._index.writing() as rows:
            if self._present(entry) == found:
                saved(rows, entry)
        return Opened(entry, opened.file)

    def _present(self, entry: ObjectEntry) -> Fingerprint | None:
        look = self._tree.fingerprint_aside if entry.folder is None else self._tree.fingerprint
        return look(*entry.name)

    def _etag(self, name: ObjectName) -> str | None:
        try:
            return self.head(name).etag
        except S3Error:
            return None

    def _forget(self, name: ObjectName) -> None:
        with self._index.writing() as rows:
            rows.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", name)

    def _row(self, name: ObjectName) -> ObjectEntry | None:
        with self._index.reading() as rows:
            row = rows.execute(f"SELECT {COLUMNS} FROM objects WHERE bucket = ? AND key = ?", name).fetchone()
        return from_row(row) if row else None

    def _marks(self, name: ObjectName) -> dict[str, int]:
        above = parents(name.key)
        where = f"bucket = ? AND path IN ({', '.join('?' * len(above))})"
        with self._index.reading() as rows:
            return dict(rows.execute(f"SELECT path, mark_ns FROM marks WHERE {where}", (name.bucket, *above)))


def _digest(file: FileIO, size_bytes: int) -> str:
    """The MD5 of the file's first bytes. The file may grow, and later bytes are not sent with this ETag."""
    digest = hashlib.md5(usedforsecurity=False)
    while size_bytes > 0 and (piece := file.read(min(_PIECE_BYTES, size_bytes))):
        digest.update(piece)
        size_bytes -= len(piece)
    return digest.hexdigest()
