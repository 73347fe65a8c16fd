"""Which objects a bucket has, page by page: the index answers, after it has caught up with what was done by hand.

Only the folders and files that a page speaks of are looked at, and only a folder whose mark has changed is read again.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from typing import Final

from torpor_endpoint.s3.entries import COLUMNS, Entry, ObjectName, by_hand, from_row, remarked, saved
from torpor_endpoint.s3.errors import S3Error
from torpor_endpoint.s3.index import Index
from torpor_endpoint.s3.paging import Page, Query, after_all, page
from torpor_endpoint.s3.tree import UNREAD, Survey, Tree, parents

_ATTEMPTS: Final = 4  # somebody may be copying files in without an end
_FOLDERS_AT_ONCE: Final = 500


class Listing:
    """`refresh` brings one object's row up to date."""

    def __init__(self, index: Index, tree: Tree, refresh: Callable[[ObjectName], Entry]) -> None:
        self._index = index
        self._tree = tree
        self._refresh = refresh

    def page(self, bucket: str, query: Query) -> Page[Entry]:
        found = self._read(bucket, query)
        for _ in range(_ATTEMPTS):
            if not self._caught_up(bucket, query, found):
                break
            found = self._read(bucket, query)
        return found

    def _read(self, bucket: str, query: Query) -> Page[Entry]:
        with self._index.reading() as rows:
            return page(query, lambda start: _entries(rows, bucket, start))

    def _caught_up(self, bucket: str, query: Query, found: Page[Entry]) -> bool:
        """Whether anything was not as the index had it."""
        stale = self._stale_folders(bucket, query, found)
        self._survey(bucket, stale)
        changed = [entry.name for entry in found.items if not self._in_step(entry)]
        for name in changed:
            with suppress(S3Error):  # gone: its row is too
                self._refresh(name)
        return bool(stale or changed)

    def _in_step(self, entry: Entry) -> bool:
        look = self._tree.fingerprint_aside if entry.folder is None else self._tree.fingerprint
        return entry.etag is not None and look(*entry.name) == entry.found

    def _stale_folders(self, bucket: str, query: Query, found: Page[Entry]) -> list[str]:
        above = {*parents(query.prefix), *parents(query.after)}
        end = after_all(query.prefix) if found.end is None else found.end
        with self._index.reading() as rows:
            marks = _marks(rows, bucket, max(query.prefix, query.after), end)
            for path in above - marks.keys():
                marks |= _mark(rows, bucket, path)
        marks.setdefault("", UNREAD)
        return [path for path, mark_ns in marks.items() if self._tree.mark(bucket, path) != mark_ns]

    def _survey(self, bucket: str, stale: list[str]) -> None:
        """Read folders again, and every folder below them that is new, with room for writers in between."""
        left = dict.fromkeys(stale)
        while left:
            with self._index.writing() as rows:
                for _ in range(min(_FOLDERS_AT_ONCE, len(left))):
                    path, _ = left.popitem()
                    left |= dict.fromkeys(_recorded(rows, bucket, path, self._tree.survey(bucket, path)))


def _recorded(rows: sqlite3.Connection, bucket: str, path: str, survey: Survey | None) -> list[str]:
    """Bring the rows of one folder in step; the answer is the folders below it that nobody has read yet.

    A folder that is new has a row from the same transaction on: whoever lists meanwhile, or after this list was cut
    short, sees by it what is left to read.
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
    unread = {inner for inner, mark_ns in below.items() if mark_ns == UNREAD} - {path}
    return sorted(new | unread)


def _entries(rows: sqlite3.Connection, bucket: str, start: str) -> Iterator[Entry]:
    query = f"SELECT {COLUMNS} FROM objects WHERE bucket = ? AND key >= ? ORDER BY key"
    with closing(rows.execute(query, (bucket, start))) as cursor:
        yield from map(from_row, cursor)


def _files(rows: sqlite3.Connection, bucket: str, path: str) -> dict[str, tuple[int, int, int]]:
    # Left to itself, SQLite would rather read the whole bucket in key order.
    table = "objects INDEXED BY objects_by_folder"
    query = f"SELECT key, size, mtime_ns, inode FROM {table} WHERE bucket = ? AND folder = ?"
    return {key: tuple(found) for key, *found in rows.execute(query, (bucket, path))}


def _within(path: str, below: Iterable[str]) -> set[str]:
    """Those folders below one that lie directly in it."""
    return {inner for inner in below if inner.count("/") == path.count("/") + 1}


def _marks(rows: sqlite3.Connection, bucket: str, start: str, end: str | None) -> dict[str, int]:
    query = "SELECT path, mark_ns FROM folders WHERE bucket = ? AND path >= ?"
    if end is None:
        return dict(rows.execute(query, (bucket, start)))
    return dict(rows.execute(query + " AND path < ?", (bucket, start, end)))


def _mark(rows: sqlite3.Connection, bucket: str, path: str) -> dict[str, int]:
    return dict(rows.execute("SELECT path, mark_ns FROM folders WHERE bucket = ? AND path = ?", (bucket, path)))


def _forget_below(rows: sqlite3.Connection, bucket: str, path: str) -> None:
    end = after_all(path) or "\U0010ffff" * 2
    rows.execute("DELETE FROM objects WHERE bucket = ? AND folder >= ? AND folder < ?", (bucket, path, end))
    rows.execute("DELETE FROM folders WHERE bucket = ? AND path >= ? AND path < ?", (bucket, path, end))
