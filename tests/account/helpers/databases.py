"""How a test opens the database of a part: on SQLite or on PostgreSQL, which the fixture `opened` decides."""

from collections.abc import Callable

from torpor_account.storage.databases.database import Database, DatabasePart

OpenPart = Callable[[DatabasePart], Database]
