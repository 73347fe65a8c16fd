"""Keeps the secrets of a deployment in its database, so that its control may start again on another machine."""

from collections.abc import Callable

from torpor_account.storage.databases.database import Database


def shared_secret(database: Database, name: str, own: Callable[[], str]) -> str:
    """The secret of this name. `own` makes that of a database which has none. Raises DatabaseFault."""
    select = "SELECT value FROM secrets WHERE name = ?"
    if not (rows := database.rows(select, name)):
        database.changed("INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, own())
        rows = database.rows(select, name)
    return str(rows[0][0])


def put_secret(database: Database, name: str, value: str) -> None:
    """Keep another secret of this name from now on. Raises DatabaseFault."""
    text = "INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    database.changed(text, name, value)
