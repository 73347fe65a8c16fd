"""One SQLite transaction as a with-block. Its caller sees to it that no other thread uses the connection meanwhile."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything in the block, or nothing of it where the block or the commit raises. They do not nest."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # it failed; a full disk has rolled it back already
            connection.execute("ROLLBACK")
