"""Lists a bucket's objects page by page from the index, after updating the index with changes made by hand.

It checks only the folders and files of the page, and reads a folder again only if its mark has changed. If a write of
Torpor's left the mark, it compares the names in the folder first: see `tree`.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import Final, NamedTuple

from torpor_account.s3.errors import S3Error
from torpor_account.s3.storage.entries import (
    COLUMNS,
    ObjectEntry,
    ObjectName,
    by_hand,
    from_row,
    remarked,
    saved,
)
from torpor_account.s3.storage.index import Index
from torpor_account.s3.storage.key_pages import KeyPage, KeyQuery, after_all, page
from torpor_account.s3.storage.tree import UNREAD, Survey, Tree, parents

_ATTEMPTS: Final = 4  # other processes may go on copying files into the bucket
_FOLDERS_AT_ONCE: Final = 500


class _Mark(NamedTuple):
    ns: int
    written: bool = False


class ObjectListing:
    """Lists objects. `refresh` brings one object's row up to date."""

    def __init__(self, index: Index, tree: Tree, refresh: Callable[[ObjectName], ObjectEntry]) -> None:
        self._index = index
        self._tree = tree
        self._refresh = refresh

    def page(self, bucket: str, query: KeyQuery) -> KeyPage[ObjectEntry]:
        found, marks = self._read(bucket, query)
        for _ in range(_ATTEMPTS):
            if not self._updated(bucket, found, marks):
                break
            found, marks = self._read(bucket, query)
        # An entry that still has no ETag cannot be read, or is still being copied in.
        return replace(found, items=tuple(entry for entry in found.items if entry.etag is not None))

    def _read(self, bucket: str, query: KeyQuery) -> tuple[KeyPage[ObjectEntry], dict[str, _Mark]]:
        """A page and the marks of its folders, from one state: another listing may be reading folders."""
        with self._index.snapshot() as rows:
            found = page(query, lambda start: _entries(rows, bucket, start))
            end = after_all(query.prefix) if found.end is None else found.end
            marks = _marks(rows, bucket, max(query.prefix, query.after), end)
            for path in {*parents(query.prefix), *parents(query.after)} - marks.keys():
                marks |= _mark(rows, bucket, path)
        return found, {"": _Mark(UNREAD), **marks}

    def _updated(self, bucket: str, found: KeyPage[ObjectEntry], marks: Mapping[str, _Mark]) -> bool:
        """Update the index where files or folders have changed: whether anything had."""
        looked = {path: self._tree.mark(bucket, path) for path, mark in marks.items() if not mark.written}
        stale = {path: mark for path, mark in marks.items() if mark.written or looked[path] != mark.ns}
        news = self._survey(bucket, stale)
        changed = [self._changed(entry) for entry in found.items]
        return news or any(changed)

    def _changed(self, entry: ObjectEntry) -> bool:
        """Refresh an object that has changed: whether it had. One without read permission stays as it is."""
        look = self._tree.fingerprint_aside if entry.folder is None else self._tree.fingerprint
        with suppress(PermissionError):
            if entry.etag is not None and look(*entry.name) == entry.found:
                return False
            with suppress(S3Error):  # it is gone, and so is its row
                self._refresh(entry.name)
            return True
        return False

    def _survey(self, bucket: str, stale: Mapping[str, _Mark]) -> bool:
        """Read folders again, and every new folder below them, with pauses for writers.

        True if it found anything that readers of these marks do not know.
        """
        news = False
        left = dict(stale)
        while left:
            with self._index.writing() as rows:
                for _ in range(min(_FOLDERS_AT_ONCE, len(left))):
                    path, seen = left.popitem()
                    if written := self._as_written(rows, bucket, path):
                        news = news or written != seen
                        continue
                    survey = self._tree.survey(bucket, path)
                    left |= dict.fromkeys(_recorded(rows, bucket, path, survey), _Mark(UNREAD))
                    news = news or survey is None or (seen.ns, survey.mark_ns) != (UNREAD, UNREAD)
        return news

    def _as_written(self, rows: sqlite3.Connection, bucket: str, path: str) -> _Mark | None:
        """The mark of a folder that holds exactly what Torpor wrote in it, so it needs no reading; else None."""
        mark = _mark(rows, bucket, path).get(path)
        if mark and mark.written and self._tree.holds(bucket, path, _names(rows, bucket, path), mark.ns):
            remarked(rows, bucket, {path: mark.ns})
            return mark
        return None


def _recorded(rows: sqlite3.Connection, bucket: str, path: str, survey: Survey | None) -> list[str]:
    """Update the rows of one folder. Returns the folders below it that are still unread.

    A new folder gets its row in the same transaction. So another listing, or the next one after this was interrupted,
    sees what is left to read.
    """
    if survey is None:
        _forget_below(rows, bucket, path)
        return []
    known = _files(rows, bucket, path)
    for key in known.keys() - survey.files.keys():
        rows.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", (bucket, key))
    for key, found in survey.files.items():
        if known.get(key) != found:
            saved(rows, by_hand(ObjectName(bucket, key), path, found))
    below = _marks(rows, bucket, path, after_all(path))
    folders = _within(path, below)
    for folder in folders - survey.folders:
        _forget_below(rows, bucket, folder)
    new = survey.folders - folders
    remarked(rows, bucket, {path: survey.mark_ns, **dict.fromkeys(new, UNREAD)})
    unread = {inner for inner, mark in below.items() if mark.ns == UNREAD} - {path}
    return sorted(new | unread)


def _entries(rows: sqlite3.Connection, bucket: str, start: str) -> Iterator[ObjectEntry]:
    query = f"SELECT {COLUMNS} FROM objects WHERE bucket = ? AND key >= ? ORDER BY key"
    with closing(rows.execute(query, (bucket, start))) as cursor:
        yield from map(from_row, cursor)


def _files(rows: sqlite3.Connection, bucket: str, path: str) -> dict[str, tuple[int, int, int]]:
    # Without INDEXED BY, SQLite would read the whole bucket in key order.
    table = "objects INDEXED BY objects_by_folder"
    query = f"SELECT key, size, mtime_ns, inode FROM {table} WHERE bucket = ? AND folder = ?"
    return {key: tuple(found) for key, *found in rows.execute(query, (bucket, path))}


def _names(rows: sqlite3.Connection, bucket: str, path: str) -> set[str]:
    """The known names in a folder: keys and folders."""
    table = "objects INDEXED BY objects_by_folder"
    keys = {key for (key,) in rows.execute(f"SELECT key FROM {table} WHERE bucket = ? AND folder = ?", (bucket, path))}
    return keys | _within(path, _marks(rows, bucket, path, after_all(path)))


def _within(path: str, below: Iterable[str]) -> set[str]:
    """The folders directly in `path`."""
    return {inner for inner in below if inner.count("/") == path.count("/") + 1}


def _marks(rows: sqlite3.Connection, bucket: str, start: str, end: str | None) -> dict[str, _Mark]:
    query = "SELECT path, mark_ns, written FROM marks WHERE bucket = ? AND path >= ?"
    if end is None:
        return _by_path(rows.execute(query, (bucket, start)))
    return _by_path(rows.execute(query + " AND path < ?", (bucket, start, end)))


def _mark(rows: sqlite3.Connection, bucket: str, path: str) -> dict[str, _Mark]:
    query = "SELECT path, mark_ns, written FROM marks WHERE bucket = ? AND path = ?"
    return _by_path(rows.execute(query, (bucket, path)))


def _by_path(found: Iterable[tuple[str, int, int]]) -> dict[str, _Mark]:
    return {path: _Mark(mark_ns, bool(written)) for path, mark_ns, written in found}


def _forget_below(rows: sqlite3.Connection, bucket: str, path: str) -> None:
    end = after_all(path) or "\U0010ffff" * 2
    rows.execute("DELETE FROM objects WHERE bucket = ? AND folder >= ? AND folder < ?", (bucket, path, end))
    rows.execute("DELETE FROM marks WHERE bucket = ? AND path >= ? AND path < ?", (bucket, path, end))
