"""A PostgreSQL database of a test's own."""

from collections.abc import Iterator

import pytest

from tests.account.helpers.postgresql_server import PostgresqlServer


@pytest.fixture
def url(postgresql: PostgresqlServer) -> Iterator[str]:
    import psycopg

    with psycopg.connect(postgresql.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE apart")
    try:
        yield postgresql.url.replace("/postgres?", "/apart?")
    finally:
        with psycopg.connect(postgresql.url, autocommit=True) as connection:
            connection.execute("DROP DATABASE apart WITH (FORCE)")
