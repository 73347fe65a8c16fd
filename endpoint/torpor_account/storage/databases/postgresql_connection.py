"""Connects to a schema of a PostgreSQL server, so that no connection hangs, and values are those that SQLite gives."""

from contextlib import ExitStack
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.types.string import StrDumper

from torpor_account.storage.databases.database import DatabaseFault

CONNECTING = urlencode(
    {
        "connect_timeout": 3,
        "tcp_user_timeout": 5_000,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "application_name": "torpor",
    }
)
"""Parameters of a URL. What a URL says itself comes later, and holds."""
SETTINGS = """
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = '10s';
    SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; SET statement_timeout = '30s';
"""

Connection = psycopg.Connection[tuple[Any, ...]]


def connected(url: str, schema: str, synced: bool) -> Connection:
    """A connection to the schema, which is made if need be. Raises psycopg.Error, DatabaseFault."""
    connection = psycopg.connect(_bounded(url), autocommit=True, cursor_factory=psycopg.ClientCursor)
    with ExitStack() as unfinished:
        unfinished.callback(connection.close)
        connection.execute(SETTINGS)
        if not synced:  # the ledger, whose pruning may take long
            connection.execute("SET synchronous_commit = off; SET statement_timeout = '300s'")
        try:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        except psycopg.errors.InsufficientPrivilege as error:
            user, database = connection.info.user, connection.info.dbname
            grant = f"GRANT CREATE ON DATABASE {database} TO {user}"
            raise DatabaseFault(f"{user} may not make schemas in the database {database}: {grant}") from error
        connection.execute(f"SET search_path TO {schema}")
        unfinished.pop_all()
    connection.adapters.register_dumper(bool, _BoolAsNumber)
    connection.adapters.register_dumper(str, _TextWithoutZeros)
    connection.adapters.register_loader("numeric", _PlainNumber)
    return connection


def fault(url: str) -> str | None:
    """Why no connection to the server comes about, in one line; None if one does."""
    try:
        psycopg.connect(_bounded(url)).close()
    except psycopg.Error as error:
        return first_line(error)
    return None


def first_line(error: psycopg.Error) -> str:
    """What psycopg says, in one line."""
    return " ".join(str(error).split("\n")[0].split()) or type(error).__name__


def _bounded(url: str) -> str:
    """The URL of a connection that does not hang."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query="&".join(filter(None, (CONNECTING, parts.query)))))


class _BoolAsNumber(Dumper):
    """SQLite keeps truth as 0 and 1, and so do the tables."""

    oid = 20

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"

    def quote(self, obj: bool) -> bytes:
        return self.dump(obj)


class _TextWithoutZeros(StrDumper):
    """PostgreSQL refuses the character of the number zero, which callers may put into a name."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd"))


class _PlainNumber(Loader):
    """A sum of whole numbers has PostgreSQL's type `numeric`: it is a whole number again."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text or "N" in text else int(text)
