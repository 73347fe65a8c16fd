"""Copies the ends of log streams into the endpoint's database, from which the next control writes them into its folder.

It is for a database on another machine: the files of the data folder are lost with theirs. What is copied is bounded:
the end of each stream, of the streams that were written last, a few at a time.
"""

import asyncio
import json
import logging
import os
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from torpor_account.core.file_growth import Marks
from torpor_account.logs.files.log_marks import LogMarks
from torpor_account.storage.databases.database import Database, DatabaseFault, DatabasePart, Migration
from torpor_container.frozen_class import frozen

KEPT_BYTES = 128 * 1024
"""Of each stream."""
STREAMS_MAX = 500
"""So many streams are kept: 62 MiB of text at most, which the database holds compressed."""
AT_ONCE = 50
"""So many streams are copied in one turn, those first that were not copied for longest."""
PERIOD_S = 10.0
LEVEL = 1
"""Of compression: text becomes a fifth, in a millisecond or two."""

LOG_COPIES = DatabasePart(
    "logs",
    (
        Migration("""
            CREATE TABLE log_copies (
                path TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, generation INTEGER NOT NULL, marks TEXT NOT NULL,
                content BLOB NOT NULL
            );
            CREATE INDEX log_copies_by_time ON log_copies (at_ms);
        """),
    ),
    synced=False,
    further=True,
    expendable=True,
)
PUT = """
    INSERT INTO log_copies (path, at_ms, generation, marks, content) VALUES (?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE
    SET at_ms = excluded.at_ms, generation = excluded.generation, marks = excluded.marks, content = excluded.content
"""
PUT_NEWER = f"{PUT.rstrip()} WHERE excluded.at_ms > log_copies.at_ms"
"""For a stream that was not restored: a start may fail before its folder has what the database has."""
TOO_MANY = f"""
    DELETE FROM log_copies
    WHERE at_ms < (SELECT at_ms FROM log_copies ORDER BY at_ms DESC LIMIT 1 OFFSET {STREAMS_MAX - 1})
"""

log = logging.getLogger(__name__)


@frozen
class FoundLog:
    """A log file as one look found it. `turn` is that of its last copy; 0 for one that has none."""

    path: str
    at_ms: int
    turn: int


class LogCopies:
    """The logs below `folder`. Its methods block, so call them in a worker thread, one at a time."""

    def __init__(self, database: Database, folder: Path, marks: LogMarks) -> None:
        self._database = database
        self._folder = folder
        self._marks = marks
        self._copied: dict[str, int] = {}  # by path: the time of its last write, as it was copied
        self._turns: dict[str, int] = {}
        self._turn = 0

    async def run(self, pause: Callable[[float], Awaitable[None]]) -> None:
        """Copy for ever what grows. While the database is away, it waits."""
        while True:
            await pause(PERIOD_S)
            await asyncio.to_thread(self.copied)

    def close(self) -> None:
        """Copy once more, and close the database."""
        self.copied()
        self._database.close()

    def restore(self) -> None:
        """Write the streams into the folder that it lacks, or has an older copy of."""
        try:
            for path, at_ms in self._database.rows("SELECT path, at_ms FROM log_copies"):
                if self._lacks(path, at_ms):
                    self._write(path, at_ms)
                self._copied[path] = at_ms  # not before: a copy whose file is known and not there is deleted
        except (DatabaseFault, OSError, ValueError, zlib.error) as error:
            log.warning("the logs of the endpoint before cannot be brought here: %s", error)

    def copied(self) -> None:
        """Copy the streams that have grown, and forget those that are deleted."""
        try:
            self._copy()
        except DatabaseFault as error:
            if not error.told:
                log.warning("logs are not copied into the database now: %s", error)

    # -- out of the database ---------------------------------------------------------------------------------------
    def _lacks(self, path: str, at_ms: int) -> bool:
        place = self._folder / path
        if not place.resolve().is_relative_to(self._folder.resolve()):
            raise ValueError(f"{path} is no log")
        return not place.is_file() or _at_ms(place) < at_ms

    def _write(self, path: str, at_ms: int) -> None:
        place = self._folder / path
        for generation, marks, content in self._database.rows(
            "SELECT generation, marks, content FROM log_copies WHERE path = ?", path
        ):
            place.parent.mkdir(parents=True, exist_ok=True)
            whole = place.with_suffix(".log-new")
            try:
                whole.write_bytes(zlib.decompress(content))
                os.utime(whole, ns=(at_ms * 1_000_000, at_ms * 1_000_000))  # a pod's output goes on from there
                os.replace(whole, place)
            finally:
                whole.unlink(missing_ok=True)
            offsets, times_ms = json.loads(marks)
            self._marks.put(place, Marks(generation, tuple(offsets), tuple(times_ms)))

    # -- into the database -----------------------------------------------------------------------------------------
    def _copy(self) -> None:
        self._turn += 1
        found = list(self._found())
        there = {one.path for one in found}
        grown = sorted((one for one in found if self._copied.get(one.path) != one.at_ms), key=lambda one: one.turn)
        for one in grown[:AT_ONCE]:
            self._put(one)
        for path in [path for path in self._copied if path not in there]:
            self._database.changed("DELETE FROM log_copies WHERE path = ?", path)
            del self._copied[path]
            self._turns.pop(path, None)
        if grown:
            self._database.changed(TOO_MANY)

    def _found(self) -> Iterator[FoundLog]:
        for place in self._folder.rglob("*.log"):
            path = str(place.relative_to(self._folder))
            try:
                yield FoundLog(path, _at_ms(place), self._turns.get(path, 0))
            except FileNotFoundError:
                continue  # it was deleted meanwhile

    def _put(self, one: FoundLog) -> None:
        place = self._folder / one.path
        try:
            marks = self._marks.noted(place)
            start, content = _end_of(place, marks.size_bytes)
        except FileNotFoundError:
            return
        kept = marks if start == 0 else marks.without(start)
        pairs = json.dumps([kept.offsets, kept.times_ms], separators=(",", ":"))
        statement = PUT if one.path in self._copied else PUT_NEWER
        row = (one.path, one.at_ms, kept.generation, pairs, zlib.compress(content, LEVEL))
        if self._database.changed(statement, *row):
            self._copied[one.path] = one.at_ms
        self._turns[one.path] = self._turn


def _at_ms(place: Path) -> int:
    return place.stat().st_mtime_ns // 1_000_000


def _end_of(place: Path, size_bytes: int) -> tuple[int, bytes]:
    """The whole lines at the end of a file, and where they start."""
    start = max(size_bytes - KEPT_BYTES, 0)
    with place.open("rb") as file:
        file.seek(start)
        content = file.read(size_bytes - start)
    cut = content.find(b"\n") + 1 if start else 0
    return start + cut, content[cut:]
