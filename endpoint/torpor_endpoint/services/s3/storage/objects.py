"""Objects found, put, tagged and deleted: each act keeps the file and its row in step, whenever the process is killed.

A new object is a sealed file. Its row goes to `landings`, the file is renamed into place, the row moves to `objects`.
Killed before the rename, the old object is there; killed after it, the landing says what the new one is.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Final

from torpor_endpoint.services.s3.errors import Refusal, S3Error
from torpor_endpoint.services.s3.storage.entries import (
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
from torpor_endpoint.services.s3.storage.folders import Fingerprint, fingerprint_of
from torpor_endpoint.services.s3.storage.index import Index
from torpor_endpoint.services.s3.storage.staging import Staged
from torpor_endpoint.services.s3.storage.tree import AnotherDisk, Marks, Occupied, Tree, parent, parents
from torpor_endpoint.services.s3.wire.conditions import Conditions, check_write

_ALWAYS: Final = Conditions()
_PIECE_BYTES: Final = 2**20
_MOUNT: Final = "The key lies in a mount within its bucket, where nothing can be put: mount the whole bucket."


@dataclass(frozen=True)
class Draft:
    """An object that is still a staged file."""

    staged: Staged
    etag: str
    traits: ObjectTraits


@dataclass(frozen=True)
class Opened:
    """An object with its open file. Whoever gets one closes the file."""

    entry: ObjectEntry
    file: FileIO

    @property
    def in_step(self) -> bool:
        return self.entry.etag is not None and self.entry.found == fingerprint_of(self.file)


class Objects:
    def __init__(self, index: Index, tree: Tree, clock: Callable[[], float]) -> None:
        self._index = index
        self._tree = tree
        self._clock = clock

    def open(self, name: ObjectName) -> Opened:
        """The object as its file is now, indexed anew if somebody changed the file by hand. Raises NoSuchKey."""
        opened = self._look(name)
        if opened is not None and opened.in_step:
            return opened
        if opened is not None:
            opened.file.close()
        with self._index.alone():  # whoever had renamed its file has written its row by now
            opened = self._look(name)
            if opened is None:
                self._forget(name)
                raise S3Error(Refusal.NoSuchKey, Key=name.key)
        return opened if opened.in_step else self._adopted(opened)

    def head(self, name: ObjectName) -> ObjectEntry:
        opened = self.open(name)
        opened.file.close()
        return opened.entry

    def put(self, name: ObjectName, draft: Draft, wish: Conditions = _ALWAYS) -> ObjectEntry:
        """Raises NoSuchBucket, PreconditionFailed, and InvalidRequest for a key below a mount within its bucket."""
        found = draft.staged.seal()
        try:
            return self._put(name, draft, wish, (draft.staged.path, found))
        except AnotherDisk:
            return self._put_across(name, draft, wish)

    def delete(self, name: ObjectName, wish: Conditions = _ALWAYS) -> None:
        """AWS: deleting what is not there succeeds too."""
        with self._index.alone():
            check_write(wish, self._etag(name) if wish.any else None)
            new: Marks = {}
            if self._tree.fingerprint(*name) is not None:
                new = self._tree.remove(*name, self._marks(name))
            self._tree.remove_aside(*name)
            with self._index.writing() as rows:
                rows.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", name)
                remarked(rows, name.bucket, new, written=True)

    def tag(self, name: ObjectName, tags: dict[str, str]) -> None:
        entry = self.head(name)
        traits = dumped(replace(entry.traits, tags=tags))
        with self._index.writing() as rows:
            where = "bucket = ? AND key = ? AND size = ? AND mtime_ns = ? AND inode = ?"
            rows.execute(f"UPDATE objects SET traits = ? WHERE {where}", (traits, *name, *entry.found))

    def recover(self) -> None:
        """Finish the landings of a process that was killed: the file that came through decides."""
        with self._index.reading() as rows:
            landings = [from_row(row) for row in rows.execute(f"SELECT {COLUMNS} FROM landings")]
        for entry in landings:
            if self._tree.fingerprint(*entry.name) == entry.found:
                self._landed(entry, {})
            elif self._tree.fingerprint_aside(*entry.name) == entry.found:
                self._landed(replace(entry, folder=None), {})
        with self._index.writing() as rows:
            rows.execute("DELETE FROM landings")

    def _put(self, name: ObjectName, draft: Draft, wish: Conditions, file: tuple[Path, Fingerprint]) -> ObjectEntry:
        path, found = file
        with self._index.alone():
            check_write(wish, self._etag(name) if wish.any else None)
            entry = ObjectEntry(name, parent(name.key), found, draft.etag, self._clock(), draft.traits)
            with self._index.writing() as rows:
                saved(rows, entry, "landings")
            return self._moved_in(entry, path)

    def _put_across(self, name: ObjectName, draft: Draft, wish: Conditions) -> ObjectEntry:
        """The bucket is a mount, and nothing can be renamed into another file system: a copy goes there first."""
        with self._tree.carried(name.bucket, draft.staged.path) as copy:
            try:
                entry = self._put(name, draft, wish, copy)
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
        return entry

    def _landed(self, entry: ObjectEntry, new: Marks) -> None:
        if entry.folder is not None:
            self._tree.remove_aside(*entry.name)
        with self._index.writing() as rows:
            saved(rows, entry)
            rows.execute("DELETE FROM landings WHERE bucket = ? AND key = ?", entry.name)
            remarked(rows, entry.name.bucket, new, written=True)

    def _look(self, name: ObjectName) -> Opened | None:
        """The ordinary place first: a file copied there by hand wins over an object kept aside."""
        entry = self._row(name)
        file = self._tree.open(*name)
        if file is not None and (entry is None or entry.folder is None):
            return Opened(by_hand(name, parent(name.key), fingerprint_of(file)), file)
        if file is None and entry is not None and entry.folder is None:
            file = self._tree.open_aside(*name)
        return Opened(entry, file) if file is not None and entry is not None else None

    def _adopted(self, opened: Opened) -> Opened:
        """The object as the file alone tells it: its ETag is the MD5 of its bytes."""
        found = fingerprint_of(opened.file)
        etag = _digest(opened.file, found.size)
        opened.file.seek(0)
        entry = by_hand(opened.entry.name, opened.entry.folder, found, etag)
        with self._index.writing() as rows:
            if self._standing(entry) == found:
                saved(rows, entry)
        return Opened(entry, opened.file)

    def _standing(self, entry: ObjectEntry) -> Fingerprint | None:
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
    """The MD5 of a file's first bytes: it may be growing, and what came later is not sent with this ETag."""
    digest = hashlib.md5(usedforsecurity=False)
    while size_bytes > 0 and (piece := file.read(min(_PIECE_BYTES, size_bytes))):
        digest.update(piece)
        size_bytes -= len(piece)
    return digest.hexdigest()
