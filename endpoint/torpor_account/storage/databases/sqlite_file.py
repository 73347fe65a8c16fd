"""A database in a SQLite file."""

import logging
import math
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from torpor_account.core.outages.error_owners import ErrorOwner, of_sqlite
from torpor_account.storage.databases.database import (
    Database,
    DatabaseAway,
    DatabaseFault,
    DatabasePart,
    outage_log,
    steps_from,
)
from torpor_account.storage.databases.transaction import transaction

log = logging.getLogger(__name__)


class SqliteFile(Database):
    """One connection. `kill -9` loses nothing of a statement that has returned."""

    def __init__(self, path: Path | str, part: DatabasePart) -> None:
        """Open the file, or `:memory:`, with the tables of this part. Raises SchemaTooNew, DatabaseFault."""
        self._path = path
        self._lock = RLock()
        self._outage = outage_log(str(path))
        try:
            self._connection = _opened(path, part)
        except sqlite3.DatabaseError as error:
            # A full disk, no permission: the file may be whole.
            if isinstance(error, sqlite3.OperationalError) or not part.expendable:
                raise DatabaseFault(f"{path}: {error}") from error
            _put_aside(path, error)
            self._connection = _opened(path, part)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @property
    def changes(self) -> int:
        return self._connection.total_changes

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        # For Python's sqlite3, `?1` is a parameter with the name 1. From Python 3.14 it takes no sequence for those.
        numbered = {str(number): value for number, value in enumerate(values, start=1)}
        try:
            with self._lock:
                return self._connection.execute(statement, numbered if "?1" in statement else values).fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def changed(self, statement: str, *values: object) -> bool:
        return self._executed(statement, values).rowcount > 0

    def inserted(self, statement: str, *values: object) -> int:
        number = self._executed(statement, values).lastrowid
        assert number is not None, statement
        return number

    def write_many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        try:
            with self._lock:
                self._connection.executemany(statement, rows)
        except sqlite3.Error as error:
            raise self._fault(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            try:
                with transaction(self._connection):
                    yield
            except sqlite3.Error as error:  # of BEGIN or COMMIT
                raise self._fault(error) from error
            self._outage.ended()

    def _executed(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        try:
            with self._lock:
                cursor = self._connection.execute(statement, values)
                if not self._connection.in_transaction:
                    self._outage.ended()
                return cursor
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def _fault(self, error: sqlite3.Error) -> DatabaseFault:
        text = f"{self._path}: {error}"
        if of_sqlite(getattr(error, "sqlite_errorcode", None)) is not ErrorOwner.MACHINE:
            return DatabaseFault(text)
        self._outage.began(str(error))
        return DatabaseAway(text)


def _opened(path: Path | str, part: DatabasePart) -> sqlite3.Connection:
    """Raises SchemaTooNew, sqlite3.Error."""
    with ExitStack() as unfinished:
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        unfinished.callback(connection.close)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.create_function("greatest", -1, max, deterministic=True)
        connection.create_function("least", -1, min, deterministic=True)
        connection.create_function("floor", 1, math.floor, deterministic=True)
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if steps := [*steps_from(version, path, part.migrations)]:  # all at once: each commit would wait for the disk
            script = " ".join(step.sqlite for _, step in steps)
            connection.executescript(f"BEGIN; {script} PRAGMA user_version = {steps[-1][0]}; COMMIT;")
        if not part.synced:
            connection.execute("PRAGMA synchronous = NORMAL")
        unfinished.pop_all()
    return connection


def _put_aside(path: Path | str, error: sqlite3.Error) -> None:
    aside = Path(f"{path}.broken")
    log.error("%s is damaged; renaming it to %s and starting a new one: %s", path, aside.name, error)
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{path}{ending}").replace(f"{aside}{ending}")
