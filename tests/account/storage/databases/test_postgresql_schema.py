"""One endpoint at a time uses a PostgreSQL database, also where connections break."""

import pytest

from tests.account.helpers.postgresql_server import PostgresqlServer
from tests.account.storage.databases.test_database import INSERT, PART
from tests.helpers.ports import free_port
from tests.helpers.waiting import soon, until
from torpor_account.storage.databases.database import Database, DatabaseFault, DatabaseInUse, OutcomeUnknown

psycopg = pytest.importorskip("psycopg")


def connected(database_url: str, taken_over: list[str] | None = None, patience_s: float = 0.0) -> Database:
    from torpor_account.storage.databases.postgresql_schema import PostgresqlSchema

    return PostgresqlSchema(
        database_url, PART, lambda: (taken_over if taken_over is not None else []).append("x"), patience_s
    )


def broken(database_url: str) -> None:
    """End every connection to the database but this one, as the server does with a machine that is gone."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
        until(lambda: not connection.execute(f"SELECT pid {others}").fetchall(), 60)  # it ends them a moment later


def test_a_second_endpoint_is_refused_until_the_first_ends(database_url: str) -> None:
    first = connected(database_url)
    with pytest.raises(DatabaseInUse, match=r"torpor_words.*stop it"):
        connected(database_url)
    first.close()
    connected(database_url, patience_s=5.0).close()


def test_a_connection_that_broke_at_rest_is_made_again_before_a_write(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_schema.IDLE_S", 0.0)
    database = connected(database_url)
    before = database.changes
    broken(database_url)
    assert database.changed(INSERT, "kept", 1, None, None)
    assert database.changes > before + 1  # whoever has a copy reads it again
    broken(database_url)
    with database.transaction():
        database.changed(INSERT, "second", 2, None, None)
    assert len(database.rows("SELECT * FROM words")) == 2
    database.close()


def torn(database: Database, database_url: str) -> None:
    with database.transaction():
        database.changed(INSERT, "lost", 1, None, None)
        broken(database_url)
        database.changed(INSERT, "too", 2, None, None)


def test_a_transaction_whose_connection_breaks_fails_whole(database_url: str) -> None:
    database = connected(database_url)
    with pytest.raises(DatabaseFault):
        torn(database, database_url)
    assert soon(lambda: database.changed(INSERT, "kept", 3, None, None))
    assert database.rows("SELECT word FROM words") == [("kept",)]
    database.close()


def unanswered(database: Database, database_url: str) -> None:
    with database.transaction():
        database.changed(INSERT, "perhaps", 1, None, None)
        broken(database_url)


def test_a_connection_that_breaks_at_the_commit_leaves_the_outcome_unknown(database_url: str) -> None:
    database = connected(database_url)
    with pytest.raises(OutcomeUnknown):
        unanswered(database, database_url)
    assert soon(lambda: database.changed(INSERT, "kept", 3, None, None))
    database.close()


def test_a_connection_that_finds_the_lock_taken_says_what_to_do(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = connected(database_url)
    broken(database_url)
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_schema.TRY_LOCK", "SELECT false")
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_schema.IDLE_S", 0.0)
    with pytest.raises(DatabaseInUse, match=r"within about 15 s; if not, end it with pg_terminate_backend"):
        database.rows("SELECT 1")
    database.close()


def test_an_endpoint_that_was_taken_over_is_told_and_writes_no_more(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_schema.IDLE_S", 0.0)
    told: list[str] = []
    first = connected(database_url, told)
    broken(database_url)
    second = connected(database_url)
    with pytest.raises(DatabaseFault):
        first.changed(INSERT, "stale", 1, None, None)
    assert told == ["x"]
    assert second.rows("SELECT * FROM words") == []
    first.close()
    second.close()


def test_while_the_server_is_away_calls_fail(postgresql: PostgresqlServer, database_url: str) -> None:
    database = connected(database_url)
    postgresql.stop()
    try:
        for _ in range(3):
            with pytest.raises(DatabaseFault, match="torpor_words"):
                database.rows("SELECT 1")
    finally:
        postgresql.start()

    def answers() -> bool:
        try:
            return database.rows("SELECT 1") == [(1,)]
        except DatabaseFault:
            return False

    assert soon(answers, within_s=60)
    assert database.changed(INSERT, "kept", 1, None, None)
    database.close()


def test_a_name_with_the_character_zero_is_found_again(database_url: str) -> None:
    database = connected(database_url)
    assert database.changed(INSERT, "a\0b", 1, None, None)
    assert database.rows("SELECT n FROM words WHERE word = ?", "a\0b") == [(1,)]
    database.close()


def test_a_server_that_cannot_be_reached_is_told_in_one_line() -> None:
    from torpor_account.storage.databases.postgresql_schema import fault

    assert "refused" in (fault(f"postgresql://torpor@127.0.0.1:{free_port()}/torpor") or "")
    assert "No such file" in (fault("postgresql://torpor@/torpor?host=/nowhere") or "")
