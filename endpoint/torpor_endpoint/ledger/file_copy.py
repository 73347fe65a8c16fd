"""Copies the ledger into a SQLite file, which is what the simulator reads, whatever database the ledger is in."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torpor_account.storage.databases.database import Database
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.ledger.ledger_schema import LEDGER

PORTION_S = 3600
"""Of tables with a row for each minute and model, which may have millions."""
NUMBERED = {"cold_starts": ("number", 10_000)}
"""A large table whose rows have numbers: which column that is, and the rows of a portion."""
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
COLUMNS = "SELECT name FROM pragma_table_info(?)"

Row = tuple[Any, ...]


def copy(ledger: Database, path: Path) -> None:
    """Write all rows into a new file, as they are at one moment: what comes meanwhile waits. Raises DatabaseFault."""
    with closing(SqliteFile(path, LEDGER)) as made, ledger.transaction(), made.transaction():
        for (table,) in made.rows(TABLES):
            columns = [f'"{name}"' for (name,) in made.rows(COLUMNS, table)]
            names, places = ", ".join(columns), ", ".join("?" * len(columns))
            for rows in _portions(ledger, table, names):
                made.write_many(f"INSERT INTO {table} ({names}) VALUES ({places})", rows)


@contextmanager
def copied(ledger: Database) -> Iterator[Path]:
    """A copy that is gone after the block. Raises DatabaseFault."""
    with TemporaryDirectory(prefix="torpor-ledger-") as folder:
        path = Path(folder) / "ledger.sqlite"
        copy(ledger, path)
        yield path


def _portions(ledger: Database, table: str, names: str) -> Iterator[list[Row]]:
    """All rows of a table, those of a large one in portions."""
    by, step = ("minute_s", PORTION_S) if "minute_s" in names else NUMBERED.get(table, ("", 0))
    if not by:
        yield ledger.rows(f"SELECT {names} FROM {table}")
        return
    ((first, last),) = ledger.rows(f"SELECT min({by}), max({by}) FROM {table}")
    for at in () if first is None else range(first, last + 1, step):
        yield ledger.rows(f"SELECT {names} FROM {table} WHERE {by} >= ? AND {by} < ?", at, at + step)
