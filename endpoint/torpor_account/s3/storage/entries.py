"""The records of objects, and their rows in the index. It reads and writes rows, never files."""

import json
import sqlite3
from dataclasses import field
from typing import Any, Final, NamedTuple

from torpor_account.s3.storage.folders import Fingerprint
from torpor_account.s3.wire.checksums import Checksum
from torpor_container.frozen_class import frozen
from torpor_container.typed_json import read, written

COLUMNS: Final = "bucket, key, folder, size, mtime_ns, inode, etag, modified_s, traits"

STORAGE_CLASS: Final = "x-amz-storage-class"
STANDARD: Final = "STANDARD"

_NOTHING: Final = "{}"


class ObjectName(NamedTuple):
    bucket: str
    key: str


@frozen
class ObjectTraits:
    """What the writer of an object gave beside its bytes. A file that was copied in by hand has none."""

    headers: dict[str, str] = field(default_factory=dict)  # Content-Type, ... and x-amz-meta-*
    tags: dict[str, str] = field(default_factory=dict)
    checksum: Checksum | None = None
    parts: tuple[int, ...] = ()  # the sizes of the parts that it was uploaded in

    @property
    def storage_class(self) -> str:
        return self.headers.get(STORAGE_CLASS, STANDARD)


@frozen
class ObjectEntry:
    """One object. `folder` is the folder of its file; None if the file is stored aside."""

    name: ObjectName
    folder: str | None
    found: Fingerprint
    etag: str | None  # unquoted; None until it is first needed
    modified_s: float
    traits: ObjectTraits = field(default_factory=ObjectTraits)

    @property
    def key(self) -> str:
        return self.name.key

    @property
    def size_bytes(self) -> int:
        return self.found.size


def by_hand(name: ObjectName, folder: str | None, found: Fingerprint, etag: str | None = None) -> ObjectEntry:
    """The entry of a file that was not put through S3."""
    return ObjectEntry(name, folder, found, etag, found.mtime_ns / 1e9)


def from_row(row: tuple[Any, ...]) -> ObjectEntry:
    bucket, key, folder, size, mtime_ns, inode, etag, modified_s, traits = row
    return ObjectEntry(
        ObjectName(bucket, key), folder, Fingerprint(size, mtime_ns, inode), etag, modified_s, loaded(traits)
    )


def saved(rows: sqlite3.Connection, entry: ObjectEntry, table: str = "objects") -> None:
    row = (*entry.name, entry.folder, *entry.found, entry.etag, entry.modified_s, dumped(entry.traits))
    rows.execute(f"INSERT OR REPLACE INTO {table} ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def remarked(rows: sqlite3.Connection, bucket: str, marks: dict[str, int | None], written: bool = False) -> None:
    """Store the marks of a bucket's folders, and drop folders that are gone. `written`: the marks follow a write."""
    for path, mark_ns in marks.items():
        if mark_ns is None:
            rows.execute("DELETE FROM marks WHERE bucket = ? AND path = ?", (bucket, path))
        else:
            rows.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)", (bucket, path, mark_ns, written))


def dumped(traits: ObjectTraits) -> str:
    """The traits as JSON, without empty ones."""
    return json.dumps({name: value for name, value in written(traits).items() if value})


def loaded(text: str) -> ObjectTraits:
    if text == _NOTHING:  # as for most objects of a long list
        return ObjectTraits()
    return read(ObjectTraits, json.loads(text))
