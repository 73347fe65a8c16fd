"""The table of the steps by which versions of models took over from others: a row for each."""

from collections.abc import Iterable
from typing import Final

from torpor_account.storage.databases.database import Database
from torpor_endpoint.core.versions.version_steps import VersionStep

VERSION_STEPS: Final = """
    CREATE TABLE version_steps (
        at_s REAL NOT NULL, endpoint TEXT NOT NULL, variant TEXT NOT NULL, kind TEXT NOT NULL, model TEXT NOT NULL,
        beside TEXT NOT NULL, PRIMARY KEY (at_s, endpoint, variant, kind, model)
    ) WITHOUT ROWID;
    """
"""The step of the database's schema that made the table."""
_ADD: Final = """INSERT INTO version_steps (at_s, endpoint, variant, kind, model, beside) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (at_s, endpoint, variant, kind, model) DO NOTHING"""


def add_version_steps(database: Database, steps: Iterable[tuple[float, VersionStep]]) -> None:
    """Write the steps, each with its epoch seconds, within a transaction. Lone surrogates of names become question
    marks: SQLite refuses them."""
    rows = (
        (at_s, *(part.encode(errors="replace").decode() for part in (*step[:2], step.kind.value, *step[3:5])))
        for at_s, step in steps
    )
    database.write_many(_ADD, rows)


def prune_version_steps(database: Database, most: int, old_s: float) -> None:
    """Remove the steps before a time, and the oldest while there are more than `most`."""
    database.rows("DELETE FROM version_steps WHERE at_s < ?", old_s)
    for (at_s,) in database.rows("SELECT at_s FROM version_steps ORDER BY at_s DESC LIMIT 1 OFFSET ?", most):
        database.rows("DELETE FROM version_steps WHERE at_s <= ?", at_s)
