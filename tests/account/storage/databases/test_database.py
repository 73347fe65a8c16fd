"""SQLite and PostgreSQL do the same with what a `Database` is given."""

from pathlib import Path

import pytest

from tests.account.helpers.databases import OpenPart
from torpor_account.storage.databases.database import (
    Database,
    DatabaseAway,
    DatabaseFault,
    DatabasePart,
    Migration,
    SchemaTooNew,
)
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.shared_secrets import shared_secret

TABLES = """
    CREATE TABLE words (word TEXT PRIMARY KEY, n INTEGER NOT NULL, x REAL, blob BLOB) WITHOUT ROWID;
    CREATE TABLE numbered (number INTEGER PRIMARY KEY AUTOINCREMENT, word TEXT NOT NULL);
    CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
PART = DatabasePart("words", (Migration(TABLES),))
INSERT = "INSERT INTO words VALUES (?, ?, ?, ?)"


def test_values_come_back_as_they_were_given(opened: OpenPart) -> None:
    database = opened(PART)
    row = ("100 %? \u00e9\U0001f600", 2**62, 0.1, b"\x00\xff")
    assert database.changed(INSERT, *row)
    assert database.changed(INSERT, "", True, None, None)
    assert database.rows("SELECT * FROM words ORDER BY n") == [("", 1, None, None), row]
    assert opened(PART).rows("SELECT word FROM words WHERE n = ?1 AND (?2 IS NULL OR n = ?1)", 1, None) == [("",)]


def test_whole_numbers_stay_whole_in_sums_and_texts_are_in_the_order_of_their_bytes(opened: OpenPart) -> None:
    database = opened(PART)
    with database.transaction():
        database.write_many(INSERT, ((word, 3, 1.5, None) for word in ("a", "B", "_", "b")))
    assert repr(database.rows("SELECT sum(n), sum(x), count(*) FROM words")) == "[(12, 6.0, 4)]"
    assert [word for (word,) in database.rows("SELECT word FROM words ORDER BY word")] == ["B", "_", "a", "b"]


def test_the_functions_that_statements_may_use(opened: OpenPart) -> None:
    database = opened(PART)
    select = "SELECT greatest(2, 10, 3), least(2.5, 10.0), CAST(floor((? - ?) / ?) AS INTEGER)"
    assert database.rows(select, 59.9, 0.0, 60) == [(10, 2.5, 0)]
    document = '{"load": 0.25, "other": "text"}'
    assert database.rows("SELECT json_extract(?, '$.load'), json_extract(?, '$.none')", document, document) == [
        (0.25, None)
    ]


def test_rows_are_numbered_in_order_and_changes_are_counted(opened: OpenPart) -> None:
    database = opened(PART)
    before = database.changes
    numbers = [database.inserted("INSERT INTO numbered (word) VALUES (?)", word) for word in "abc"]
    assert numbers == sorted(set(numbers))
    assert database.changes == before + 3
    database.rows("SELECT * FROM numbered")
    assert not database.changed("UPDATE numbered SET word = ? WHERE number = ?", "z", max(numbers) + 1)
    assert database.changes == before + 3
    assert database.changed("DELETE FROM numbered WHERE number < ?", max(numbers))
    assert database.changes == before + 5


def raising(database: Database) -> None:
    with database.transaction():
        database.changed(INSERT, "kept", 1, None, None)
        raise DatabaseFault("the block's own")


def twice(database: Database) -> None:
    """Insert a key twice."""
    with database.transaction():
        database.changed(INSERT, "kept", 1, None, None)
        database.changed(INSERT, "kept", 2, None, None)


def test_a_transaction_is_made_whole_or_not_at_all(opened: OpenPart) -> None:
    database = opened(PART)
    with pytest.raises(DatabaseFault):
        raising(database)
    assert database.rows("SELECT * FROM words") == []
    with pytest.raises(DatabaseFault):
        twice(database)
    assert database.rows("SELECT * FROM words") == []
    with database.transaction():
        database.changed(INSERT, "kept", 1, None, None)
    assert opened(PART).rows("SELECT word FROM words") == [("kept",)]


def test_a_statement_that_fails_takes_no_later_one_with_it(opened: OpenPart) -> None:
    database = opened(PART)
    with pytest.raises(DatabaseFault, match="nowhere"):
        database.rows("SELECT * FROM nowhere")
    assert database.changed(INSERT, "kept", 1, None, None)


def test_tables_are_brought_to_a_later_version_and_no_earlier_one_opens_them(opened: OpenPart) -> None:
    opened(PART).changed(INSERT, "kept", 1, 0.5, None)
    later = PART._replace(migrations=(*PART.migrations, Migration("ALTER TABLE words ADD COLUMN y REAL;")))
    assert opened(later).rows("SELECT word, y FROM words") == [("kept", None)]
    with pytest.raises(SchemaTooNew, match=r"version 2.*up to 1"):
        opened(PART)
    assert opened(later).rows("SELECT word FROM words") == [("kept",)]


def test_the_first_secret_of_a_name_is_the_secret_of_all(opened: OpenPart) -> None:
    database = opened(PART)
    assert shared_secret(database, "root", lambda: "first") == "first"
    assert shared_secret(database, "root", lambda: "second") == "first"
    assert shared_secret(opened(PART), "root", lambda: "third") == "first"
    assert shared_secret(opened(PART), "deployment", lambda: "fourth") == "fourth"


def test_an_outage_is_in_the_log_once_when_it_begins_and_once_when_it_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = SqliteFile(tmp_path / "words.sqlite", PART)
    database.rows("PRAGMA max_page_count = 1")  # the disk is full for SQLite
    for word in ("a", "b", "c"):
        with pytest.raises(DatabaseAway, match="full") as caught:
            database.changed(INSERT, word, 1, None, b"x" * 100_000)
        assert caught.value.told
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    database.rows("SELECT * FROM words")  # reading goes on, and says nothing of the end
    database.rows("PRAGMA max_page_count = 1000000")
    assert len(caplog.records) == 1
    assert database.changed(INSERT, "d", 1, None, None)
    assert database.changed(INSERT, "e", 1, None, None)
    path = tmp_path / "words.sqlite"
    assert caplog.messages == [
        f"the database {path} cannot be used, and what needs it fails or waits: database or disk is full",
        f"the database {path} can be used again",
    ]


def test_a_mistake_in_a_statement_is_no_outage(opened: OpenPart, caplog: pytest.LogCaptureFixture) -> None:
    database = opened(PART)
    with pytest.raises(DatabaseFault) as caught:
        database.changed("INSERT INTO nowhere VALUES (1)")
    assert (caught.value.told, caplog.messages) == (False, [])
