"""Opens a SQLite file, and stores named records of any kind in its tables, as JSON."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import RLock
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from torpor_endpoint.storage.transaction import transaction


class Record(Protocol):
    """A frozen dataclass that JSON can hold."""

    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=Record)


class Card(NamedTuple):
    """The few fields of a record that a listing reads. A field that the kind of record lacks is None."""

    name: str
    created_s: float
    modified_s: float | None
    status: str | None


class SchemaTooNew(Exception):
    """A later version of Torpor wrote the file."""

    def __init__(self, path: Path | str, version: int, known: int) -> None:
        super().__init__(
            f"{path} has schema version {version}, and this Torpor knows versions up to {known}: "
            "start the later Torpor that wrote it, or choose another data directory"
        )


class Database:
    """A connection for any thread. The effect of a returned statement survives `kill -9` and a loss of power."""

    def __init__(self, path: Path | str, migrations: tuple[str, ...]) -> None:
        """Open the file. `migrations[N]` are the statements from schema version N to N + 1. Raises `SchemaTooNew`."""
        self._lock = RLock()
        with ExitStack() as unfinished:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            unfinished.callback(self._connection.close)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._migrate(path, migrations)
            unfinished.pop_all()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a SELECT. Its parameters are `?`, or `?1`, `?2` … where one is used more than once."""
        # For Python's sqlite3, `?1` is a parameter with the name 1. From Python 3.14 it takes no sequence for those.
        numbered = {str(number): value for number, value in enumerate(values, start=1)}
        with self._lock:
            return self._connection.execute(statement, numbered if "?1" in statement else values).fetchall()

    def changed(self, statement: str, *values: object) -> bool:
        """Execute the statement: whether it changed a row."""
        with self._lock:
            return self._connection.execute(statement, values).rowcount > 0

    def write_many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Execute the statement once for each row. Call it inside a transaction."""
        with self._lock:
            self._connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all changes of the block, or none. Other threads wait. Transactions do not nest."""
        with self._lock, transaction(self._connection):
            yield

    def _migrate(self, path: Path | str, migrations: tuple[str, ...]) -> None:
        version = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(migrations):
            raise SchemaTooNew(path, version, len(migrations))
        for number, statements in enumerate(migrations[version:], start=version + 1):
            self._connection.executescript(f"BEGIN; {statements} PRAGMA user_version = {number}; COMMIT;")


class RecordTable(Generic[R]):
    """The records of one table, by their exact names. Two names with the same `key` exclude each other."""

    def __init__(
        self,
        database: Database,
        table: str,
        decode: Callable[[Mapping[str, Any]], R],
        key: Callable[[str], str] = str.lower,
    ) -> None:
        self._database = database
        self._table = table
        self._decode = decode
        self._key = key

    def add(self, record: R) -> bool:
        """Add the record. False, without a change, if the name is taken."""
        row = (self._key(record.name), record.name, _encode(record))
        return self._database.changed(f"INSERT OR IGNORE INTO {self._table} VALUES (?, ?, ?)", *row)

    def get(self, name: str) -> R | None:
        record = self.at(self._key(name))
        return record if record is not None and record.name == name else None

    def at(self, key: str) -> R | None:
        """The record of this key; None if there is none."""
        rows = self._database.rows(f"SELECT record FROM {self._table} WHERE key = ?", key)
        return self._decode(json.loads(rows[0][0])) if rows else None

    def cards(self) -> list[Card]:
        """The cards of all records, in order of name, from an index alone. Not every table has this index."""
        rows = self._database.rows(f"SELECT {', '.join(Card._fields)} FROM {self._table} ORDER BY name")
        return list(map(Card._make, rows))

    def all(self) -> tuple[R, ...]:
        rows = self._database.rows(f"SELECT record FROM {self._table} ORDER BY key")
        return tuple(self._decode(json.loads(record)) for (record,) in rows)

    def replace(self, record: R, still: Callable[[R], bool]) -> bool:
        """Replace the record of this name. False, without a change, if there is none or `still` rejects the old one."""
        with self._database.transaction():
            stored = self.get(record.name)
            if stored is None or not still(stored):
                return False
            values = (_encode(record), self._key(record.name))
            return self._database.changed(f"UPDATE {self._table} SET record = ? WHERE key = ?", *values)

    def put(self, record: R) -> None:
        """Add the record, or replace the one of this name."""
        row = (self._key(record.name), record.name, _encode(record))
        self._database.changed(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?, ?)", *row)

    def remove(self, name: str) -> bool:
        return self._database.changed(f"DELETE FROM {self._table} WHERE key = ? AND name = ?", self._key(name), name)


def _encode(record: Any) -> str:
    return json.dumps(asdict(record), separators=(",", ":"), allow_nan=False)  # SQLite reads no NaN
