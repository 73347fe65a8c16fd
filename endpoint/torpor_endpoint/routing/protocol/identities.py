"""Who may call, for routers that verify callers: the rows of IAM's tables, and those of tags, as they stand."""

from collections.abc import Mapping
from hashlib import sha256
from json import dumps

from torpor_account.iam.identities.ids import KeyPair
from torpor_account.storage.databases.database import Database
from torpor_container.frozen_class import frozen

TABLES = ("users", "access_keys", "roles", "managed_policies", "temporary_keys", "user_groups")
"""The tables of `RecordTable` that `Directory` reads."""

Rows = tuple[tuple[str, str, str], ...]


@frozen
class Identities:
    """`owner` is the root's access key; `tables` has the rows by table, and `tags` those of all resources."""

    owner: KeyPair
    tables: Mapping[str, Rows]
    tags: Rows

    @property
    def version(self) -> str:
        """The same for the same content."""
        return sha256(dumps([self.owner, self.tables, self.tags], sort_keys=True).encode()).hexdigest()

    def write(self, database: Database) -> None:
        """Put these in place of what the database has."""
        with database.transaction():
            for table in TABLES:
                database.rows(f"DELETE FROM {table}")
                database.write_many(f"INSERT INTO {table} VALUES (?, ?, ?)", self.tables[table])
            database.rows("DELETE FROM tags")
            database.write_many("INSERT INTO tags VALUES (?, ?, ?)", self.tags)
