"""Databases of each kind, as fixtures."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from tests.account.helpers.databases import OpenPart
from tests.account.helpers.postgresql_server import PostgresqlServer, programs, server
from torpor_account.storage.databases.database import Database, DatabasePart
from torpor_account.storage.databases.sqlite_file import SqliteFile

_schemas = count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenPart]:
    """Opens a part's database, which is new in each test. A second call opens the same one, and closes the first."""
    with ExitStack() as closing:
        last: list[Database] = []
        suffix = f"_{next(_schemas)}"

        def open_part(part: DatabasePart) -> Database:
            while last:
                last.pop().close()
            if request.param == "sqlite":
                last.append(SqliteFile(tmp_path / f"{part.name}.sqlite", part))
            else:
                from torpor_account.storage.databases.postgresql_schema import PostgresqlSchema

                url = request.getfixturevalue("postgresql").url
                last.append(PostgresqlSchema(url, part._replace(name=part.name + suffix), _unexpected))
            closing.callback(last[-1].close)
            return last[-1]

        yield open_part


def _unexpected() -> None:
    pytest.fail("nobody took the database over")


@pytest.fixture
def database_url(postgresql: PostgresqlServer) -> Iterator[str]:
    """That of a PostgreSQL database of the test's own."""
    import psycopg

    with psycopg.connect(postgresql.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE apart")
    try:
        yield postgresql.url.replace("/postgres?", "/apart?")
    finally:
        with psycopg.connect(postgresql.url, autocommit=True) as connection:
            connection.execute("DROP DATABASE apart WITH (FORCE)")
