"""Writes batches of rows into the ledger's tables (`ledger_schema`), and removes rows that are too old or too many."""

import json
from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter

from torpor_account.storage.databases.database import Database
from torpor_container.frozen_class import frozen
from torpor_endpoint.core.ledger import (
    MINUTE_S,
    MOMENT_DIGITS,
    MOMENTS_MAX,
    ContainerKey,
    ContainerSums,
    MemoryKey,
    MemorySums,
    SpanKey,
    Sums,
    UseKey,
)
from torpor_endpoint.core.ledger_records import InstanceLife, InvocationRecord
from torpor_endpoint.ledger.choice_table import add_choices, prune_choices
from torpor_endpoint.ledger.face_table import add_faces
from torpor_endpoint.ledger.row_batch import Batch
from torpor_endpoint.ledger.version_table import add_version_steps, prune_version_steps

ENDED = "the endpoint ended"
"""The reason for the end of a life that ended with a killed endpoint."""


@frozen
class Retention:
    """How much the ledger keeps.

    Minutes and lives expire at the same age, since costs need both. Both also have a bound in rows: each called model
    has its own minutes, and each wake is a life.
    """

    cold_starts: int = 100_000
    kept_s: float = 14 * 24 * 3600.0
    minute_rows: int = 2_000_000
    lives: int = 100_000
    choices: int = 100_000
    version_steps: int = 100_000


RETENTION = Retention()


class Tables:
    """Any thread may call its methods. Every method raises DatabaseFault."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def write(self, batch: Batch, now_s: float) -> None:
        """Write the batch, unless the database has it: a commit whose answer was lost may have been made."""
        with self.database.transaction():
            if 0 < batch.number <= self.last_batch():
                return
            self.database.write_many(_COLD_START, map(_cold_start_row, batch.cold_starts))
            self.database.write_many(_MINUTE, (_row(*kind, *_sums(sums)) for kind, sums in batch.minutes.items()))
            self.database.write_many(_CONTAINER, (_row(*key, *_passed(sums)) for key, sums in batch.containers.items()))
            self.database.write_many(_SPAN, (_row(*called, *span) for called, span in batch.spans.items()))
            self.database.write_many(_MEMORY, (_row(*key, *_memory(sums)) for key, sums in batch.memory.items()))
            self.database.write_many(_LIFE, (_row(*_life(life)) for life in batch.lives.values()))
            self.database.write_many(_SERVED, map(_served_row, batch.lives.values()))
            self.database.write_many(_SERVED, (_row(*one, at_s, at_s) for one, at_s in batch.served.items()))
            self.database.write_many(_SETUP, (_row(*one, *setup) for one, setup in batch.setups.items()))
            add_faces(self.database, batch.faces.items())
            add_choices(self.database, batch.choices.items())
            add_version_steps(self.database, batch.steps)
            batches = ((router, number, now_s) for router, number in batch.routers.items())
            self.database.write_many(_ROUTER_BATCH, batches)
            self.database.rows(_HEARTBEAT, now_s, batch.number)

    def bury(self) -> None:
        """End the lives that a killed endpoint left open, at the time of its last heartbeat."""
        with self.database.transaction():
            self.database.rows(
                "UPDATE lives SET why_stopped = ?, stopped_s = greatest(started_s, coalesce(ready_s, 0), "
                "coalesce((SELECT at_s FROM heartbeat), 0)) WHERE stopped_s IS NULL",
                ENDED,
            )

    def prune(self, retention: Retention, now_s: float) -> None:
        """Remove rows that are too old, and the oldest where there are too many."""
        old_s = now_s - retention.kept_s
        with self.database.transaction():
            for statement, bound in zip(_PRUNING, (retention.cold_starts, *[old_s] * 6), strict=True):
                self.database.rows(statement, bound)
            self._bound("minutes", "minute_s", retention.minute_rows, MINUTE_S)
            for table in ("spans", "containers", "faces"):
                self.database.rows(f"DELETE FROM {table} WHERE minute_s < (SELECT min(minute_s) FROM minutes)")
            self._bound("lives", "stopped_s", retention.lives, 0)
            self.database.rows("DELETE FROM served WHERE until_s < ?", old_s)
            prune_choices(self.database, retention.choices, old_s)
            prune_version_steps(self.database, retention.version_steps, old_s)
            self.database.rows(_SETUPS_OF_NOTHING)
            self.database.rows("DELETE FROM router_batches WHERE at_s < ?", old_s)
            self.database.rows(_SERVED_KEPT, old_s)

    def known_since_s(self) -> float:
        """The time since which no minute and no life was removed for their number. Epoch seconds."""
        rows = self.database.rows("SELECT until_s FROM pruned")
        return float(rows[0][0]) if rows else 0.0

    def last_batch(self) -> int:
        """The number of the last batch that was written; 0 if none was."""
        rows = self.database.rows("SELECT batch FROM heartbeat")
        return int(rows[0][0]) if rows else 0

    def router_batches(self) -> dict[str, int]:
        """The number of the last batch of each router."""
        return dict(self.database.rows("SELECT router, number FROM router_batches"))

    def close(self) -> None:
        self.database.close()

    def _bound(self, table: str, at: str, most: int, lasts_s: int) -> None:
        """Keep at most `most` rows, and note the end of the newest removed one, which is `lasts_s` after `at`."""
        nth = f"SELECT {at} FROM {table} WHERE {at} IS NOT NULL ORDER BY {at} DESC LIMIT 1 OFFSET ?"
        for (newest_s,) in self.database.rows(nth, most):
            self.database.rows(f"DELETE FROM {table} WHERE {at} <= ?", newest_s)
            self.database.rows(_PRUNED, newest_s + lasts_s)


def names(record: type) -> tuple[str, ...]:
    """The names of a record's fields, which are the columns of its table."""
    return tuple(one.name for one in fields(record))


# -- inside --------------------------------------------------------------------------------------------------------
def _into(table: str, columns: tuple[str, ...]) -> str:
    return f"INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def _added(table: str, key: tuple[str, ...], sums: tuple[str, ...]) -> str:
    """A statement that adds sums to the row of the same key."""
    return _merged(table, key, {name: f"{table}.{name} + excluded.{name}" for name in sums})


def _merged(table: str, key: tuple[str, ...], merged: Mapping[str, str]) -> str:
    """A statement that inserts a row, or merges it with the row of the same key: `merged` has the new values."""
    values = ", ".join(f"{name} = {value}" for name, value in merged.items())
    return f"INSERT {_into(table, (*key, *merged))} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {values}"


_COLD_START = f"INSERT {_into('cold_starts', InvocationRecord._fields)}"
_LIFE = _merged(
    "lives", ("instance",), {name: f"excluded.{name}" for name in names(InstanceLife) if name != "instance"}
)
_MINUTE = _added("minutes", UseKey._fields, names(Sums))
_CONTAINER = _added("containers", ContainerKey._fields, names(ContainerSums))
_SPAN = _merged(
    "spans",
    SpanKey._fields,
    {
        "first_s": "least(spans.first_s, excluded.first_s)",
        "last_s": "greatest(spans.last_s, excluded.last_s)",
        "seconds": "spans.seconds | excluded.seconds",
        "moments": f"CASE WHEN length(spans.moments) < {MOMENTS_MAX * MOMENT_DIGITS}"
        " THEN spans.moments || excluded.moments ELSE spans.moments END",
    },
)
_MEMORY = _added("memory", MemoryKey._fields, names(MemorySums))
_SERVED = (
    "INSERT INTO served VALUES (?, ?, ?, ?) ON CONFLICT (endpoint, variant) DO UPDATE SET "
    "until_s = greatest(served.until_s, excluded.until_s)"
)
_SETUP = _merged(
    "setups",
    ("endpoint", "variant"),
    {
        "since_s": "CASE WHEN setups.setup = excluded.setup THEN setups.since_s ELSE excluded.since_s END",
        "setup": "excluded.setup",
    },
)
_SETUPS_OF_NOTHING = """DELETE FROM setups WHERE NOT EXISTS (
    SELECT 1 FROM served WHERE served.endpoint = setups.endpoint AND served.variant = setups.variant)"""
_SERVED_KEPT = "UPDATE served SET since_s = greatest(since_s, ?, coalesce((SELECT until_s FROM pruned), 0))"
_PRUNED = (
    'INSERT INTO pruned VALUES (1, ?) ON CONFLICT ("only") DO UPDATE SET '
    "until_s = greatest(pruned.until_s, excluded.until_s)"
)
_HEARTBEAT = (
    'INSERT INTO heartbeat ("only", at_s, batch) VALUES (1, ?, ?) ON CONFLICT ("only") DO UPDATE SET '
    "at_s = excluded.at_s, batch = greatest(heartbeat.batch, excluded.batch)"
)
_ROUTER_BATCH = _merged("router_batches", ("router",), {"number": "excluded.number", "at_s": "excluded.at_s"})
_PRUNING = (
    "DELETE FROM cold_starts WHERE number <= (SELECT max(number) FROM cold_starts) - ?",
    "DELETE FROM minutes WHERE minute_s < ?",
    "DELETE FROM memory WHERE minute_s < ?",
    "DELETE FROM spans WHERE minute_s < ?",
    "DELETE FROM containers WHERE minute_s < ?",
    "DELETE FROM faces WHERE minute_s < ?",
    "DELETE FROM lives WHERE stopped_s < ?",
)
_life = attrgetter("instance", *(name for name in names(InstanceLife) if name != "instance"))
_sums = attrgetter(*names(Sums))
_passed = attrgetter(*names(ContainerSums))
_memory = attrgetter(*names(MemorySums))


def _cold_start_row(invocation: InvocationRecord) -> tuple[object, ...]:
    values = {
        "steps": dict(invocation.steps),
        "cold": invocation.cold,
        "effort": invocation.effort,
        "container_s": dict(invocation.container_s),
    }
    documents = {name: None if one is None else json.dumps(one, ensure_ascii=False) for name, one in values.items()}
    return _row(*{**invocation._asdict(), **documents}.values())


def _served_row(life: InstanceLife) -> tuple[object, ...]:
    """A variant exists at least as long as its instances; it may also exist without any."""
    return _row(life.endpoint, life.variant, life.started_s, life.stopped_s or life.ready_s or life.started_s)


def _row(*values: object) -> tuple[object, ...]:
    """The values of a row. Callers choose names: lone surrogates become question marks, since SQLite refuses them."""
    return tuple(one.encode(errors="replace").decode() if isinstance(one, str) else one for one in values)
