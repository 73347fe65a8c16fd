"""Stores named records of any kind in the tables of a database, as JSON."""

import json
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from torpor_account.storage.databases.database import Database
from torpor_container.typed_json import read, written


class Record(Protocol):
    """A frozen dataclass that JSON can hold: `typed_json` reads and writes it by its annotations."""

    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=Record)


class Card(NamedTuple):
    """The few fields of a record that a listing reads. A field that the kind of record lacks is None."""

    name: str
    created_s: float
    modified_s: float | None
    status: str | None


def nothing_further() -> None:
    """Changes nothing."""


class RecordTable(Generic[R]):
    """The records of one table, by their exact names. Two names with the same `key` exclude each other."""

    def __init__(self, database: Database, table: str, kind: type[R], key: Callable[[str], str] = str.lower) -> None:
        self._database = database
        self._table = table
        self._insert = f"INSERT INTO {table} (key, name, record) VALUES (?, ?, ?)"
        self._kind = kind
        self._key = key

    def add(self, record: R) -> bool:
        """Add the record. False, without a change, if the name is taken."""
        row = (self._key(record.name), record.name, _encode(record))
        return self._database.changed(f"{self._insert} ON CONFLICT (key) DO NOTHING", *row)

    def get(self, name: str) -> R | None:
        record = self.at(self._key(name))
        return record if record is not None and record.name == name else None

    def at(self, key: str) -> R | None:
        """The record of this key; None if there is none."""
        rows = self._database.rows(f"SELECT record FROM {self._table} WHERE key = ?", key)
        return self._read(rows[0][0]) if rows else None

    def cards(self) -> list[Card]:
        """The cards of all records, in order of name, from an index alone. Not every table has this index."""
        return list(map(Card._make, self.columns(*Card._fields)))

    def columns(self, *names: str) -> list[tuple[Any, ...]]:
        """These columns of all records, in order of name. Not every table has them."""
        return self._database.rows(f"SELECT {', '.join(names)} FROM {self._table} ORDER BY name")

    def where(self, column: str, value: str) -> tuple[R, ...]:
        """The records with this value in this column, in order of their keys. Not every table has it."""
        rows = self._database.rows(f"SELECT record FROM {self._table} WHERE {column} = ? ORDER BY key", value)
        return tuple(self._read(record) for (record,) in rows)

    def all(self) -> tuple[R, ...]:
        rows = self._database.rows(f"SELECT record FROM {self._table} ORDER BY key")
        return tuple(self._read(record) for (record,) in rows)

    def replace(self, record: R, still: Callable[[R], bool], further: Callable[[], object] = nothing_further) -> bool:
        """Replace the record of this name. False, without a change, if there is none or `still` rejects the old one.
        `further` makes further changes in the same transaction."""
        with self._database.transaction():
            stored = self.get(record.name)
            if stored is None or not still(stored):
                return False
            values = (_encode(record), self._key(record.name))
            replaced = self._database.changed(f"UPDATE {self._table} SET record = ? WHERE key = ?", *values)
            further()
            return replaced

    def put(self, record: R) -> None:
        """Add the record, or replace the one of this name."""
        row = (self._key(record.name), record.name, _encode(record))
        again = "ON CONFLICT (key) DO UPDATE SET name = excluded.name, record = excluded.record"
        self._database.changed(f"{self._insert} {again}", *row)

    def remove_if(self, name: str, still: Callable[[R], bool], further: Callable[[], object] = nothing_further) -> bool:
        """Remove the record of this name. False, without a change, if there is none or `still` rejects it. `further`
        makes further changes in the same transaction."""
        with self._database.transaction():
            stored = self.get(name)
            if stored is None or not still(stored):
                return False
            removed = self.remove(name)
            further()
            return removed

    def remove(self, name: str) -> bool:
        return self._database.changed(f"DELETE FROM {self._table} WHERE key = ? AND name = ?", self._key(name), name)

    def _read(self, record: str) -> R:
        return read(self._kind, json.loads(record))


def _encode(record: Record) -> str:
    return json.dumps(written(record), separators=(",", ":"), allow_nan=False)  # SQLite reads no NaN
