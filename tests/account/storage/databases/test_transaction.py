"""A transaction happens as a whole or not at all, and does not harm the next one."""

import sqlite3
from collections.abc import Iterator

import pytest

from torpor_account.storage.databases.transaction import transaction


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(
        """
        PRAGMA foreign_keys = ON;
        CREATE TABLE owners (name TEXT PRIMARY KEY);
        CREATE TABLE things (owner TEXT REFERENCES owners (name) DEFERRABLE INITIALLY DEFERRED);
        """
    )
    yield connection
    connection.close()


def owners(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM owners")]


def changed(connection: sqlite3.Connection, statement: str, fault: Exception | None = None) -> None:
    """In a transaction of its own, which raises the fault after it."""
    with transaction(connection):
        connection.execute(statement)
        if fault is not None:
            raise fault


def test_a_block_that_raises_changes_nothing(connection: sqlite3.Connection) -> None:
    with pytest.raises(KeyError):
        changed(connection, "INSERT INTO owners VALUES ('nobody')", KeyError())
    changed(connection, "INSERT INTO owners VALUES ('somebody')")
    assert owners(connection) == ["somebody"]


def test_a_commit_that_fails_leaves_no_transaction_open(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        changed(connection, "INSERT INTO things VALUES ('nobody')")  # looked at by the commit only
    changed(connection, "INSERT INTO owners VALUES ('somebody')")
    assert owners(connection) == ["somebody"]


def test_a_transaction_that_sqlite_rolled_back_raises_the_original_error(connection: sqlite3.Connection) -> None:
    with pytest.raises(ZeroDivisionError):
        changed(connection, "ROLLBACK", ZeroDivisionError())  # as it does where the disk is full
