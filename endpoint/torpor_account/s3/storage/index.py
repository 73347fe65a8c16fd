"""The SQLite index beside the files: its tables, connections and transactions. Other modules read and write the rows.

The files hold the bytes; the index holds what a file cannot (headers, tags) and makes listings fast.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from torpor_account.storage.databases.transaction import transaction

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS buckets (
    name TEXT PRIMARY KEY, created_s REAL NOT NULL, region TEXT, inode INTEGER NOT NULL
) WITHOUT ROWID;

-- Configurations of buckets, stored as they were sent.
CREATE TABLE IF NOT EXISTS configurations (
    bucket TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (bucket, name)
) WITHOUT ROWID;

-- `folder` is the folder of the object's file ('' or 'a/b/'); NULL for one stored aside. `etag` is NULL until needed.
CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT NOT NULL, key TEXT NOT NULL, folder TEXT,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    etag TEXT, modified_s REAL NOT NULL, traits TEXT NOT NULL,
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS objects_by_folder ON objects (bucket, folder);

-- Objects about to be renamed into place: after a kill in between, the row says what the new file is.
CREATE TABLE IF NOT EXISTS landings (
    bucket TEXT NOT NULL, key TEXT NOT NULL, folder TEXT,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    etag TEXT, modified_s REAL NOT NULL, traits TEXT NOT NULL,
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;

-- The mark of a folder whose files are consistent with the index. `written`: Torpor's own write left the mark, so other
-- files may have come into the folder at the same moment.
CREATE TABLE IF NOT EXISTS marks (
    bucket TEXT NOT NULL, path TEXT NOT NULL, mark_ns INTEGER NOT NULL, written INTEGER NOT NULL,
    PRIMARY KEY (bucket, path)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY, bucket TEXT NOT NULL, key TEXT NOT NULL, started_s REAL NOT NULL, traits TEXT NOT NULL,
    algorithm TEXT, kind TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS uploads_by_key ON uploads (bucket, key, id);

CREATE TABLE IF NOT EXISTS parts (
    upload TEXT NOT NULL, number INTEGER NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL,
    etag TEXT NOT NULL, checksum TEXT, modified_s REAL NOT NULL, PRIMARY KEY (upload, number)
) WITHOUT ROWID;
"""

# NORMAL: kill -9 loses nothing; a power cut may lose the last commits, whose files are then indexed again.
_SETTINGS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA busy_timeout = 10000;
"""


class Index:
    """The index. It has one writer at a time, and readers beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._alone = threading.RLock()
        self._writer = self._connected()
        self._writer.executescript(_SCHEMA)
        self._idle: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close every connection. No reader may be active."""
        with self._alone:
            self._writer.close()
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connected()
        try:
            yield connection
        finally:
            self._idle.append(connection)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Like `reading`, but all reads of the block see one state."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock: no other thread changes a file or a row during the block."""
        with self._alone:
            yield

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, rolled back when the block raises."""
        with self._alone, transaction(self._writer):
            yield self._writer

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.executescript(_SETTINGS)
        return connection
