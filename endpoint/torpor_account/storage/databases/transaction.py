"""Runs a with-block as one SQLite transaction. The caller ensures that no other thread uses the connection."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Make all changes of the block, or none if the block or the commit raises. Transactions do not nest."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # it failed; SQLite itself has already rolled back for a full disk
            connection.execute("ROLLBACK")
