"""Who may call, for routers that verify callers: the rows of IAM's tables, and those of tags, as they stand."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from json import dumps
from typing import Any, NamedTuple

from torpor_account.iam.identities.ids import KeyPair
from torpor_account.storage.databases.database import Database

TABLES = ("users", "access_keys", "roles", "managed_policies", "temporary_keys", "user_groups")
"""The tables of `RecordTable` that `Directory` reads."""

Rows = Sequence[Sequence[Any]]


class Identities(NamedTuple):
    """`owner` is the root's access key; `tables` has the rows by table, and `tags` those of all resources."""

    owner: KeyPair
    tables: Mapping[str, Rows]
    tags: Rows

    @property
    def version(self) -> str:
        """The same for the same content."""
        return sha256(dumps([self.owner, self.tables, self.tags], sort_keys=True).encode()).hexdigest()

    def json(self) -> dict[str, Any]:
        """What `read` reads."""
        return {"owner": list(self.owner), "tables": dict(self.tables), "tags": self.tags}

    @classmethod
    def read(cls, json: Mapping[str, Any]) -> "Identities":
        """Raises KeyError, TypeError."""
        return cls(KeyPair(*json["owner"]), {name: json["tables"][name] for name in TABLES}, json["tags"])

    def write(self, database: Database) -> None:
        """Put these in place of what the database has."""
        with database.transaction():
            for table, rows in self.tables.items():
                database.rows(f"DELETE FROM {table}")
                database.write_many(f"INSERT INTO {table} VALUES (?, ?, ?)", (tuple(row) for row in rows))
            database.rows("DELETE FROM tags")
            database.write_many("INSERT INTO tags VALUES (?, ?, ?)", (tuple(row) for row in self.tags))
