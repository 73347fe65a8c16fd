"""Reads who may call, for routers that verify callers, and says when that has changed."""

import asyncio
from threading import Lock

from torpor_account.iam.identities.ids import KeyPair
from torpor_account.storage.databases.database import Database
from torpor_endpoint.routing.protocol.identities import TABLES, Identities, Rows

LOOK_S = 0.1
"""How often a router that waits for a change is looked for one."""


class IdentityPublisher:
    """Any thread may call `identities`."""

    def __init__(self, database: Database, owner: KeyPair) -> None:
        self._database = database
        self._owner = owner
        self._lock = Lock()
        self._changes = -1
        self._published = "", Identities(owner, {}, ())

    def identities(self) -> tuple[str, Identities]:
        """They and their version, as they are now."""
        with self._lock:
            if self._database.changes != self._changes:
                changes, identities = self._read()
                self._published = identities.version, identities
                self._changes = changes
            return self._published

    async def after(self, version: str | None, within_s: float) -> tuple[str, Identities] | None:
        """They, once they are others than those of this version; None if that is not so within the time."""
        deadline_s = asyncio.get_running_loop().time() + within_s
        while True:
            found = await asyncio.to_thread(self.identities)
            if found[0] != version:
                return found
            if asyncio.get_running_loop().time() >= deadline_s:
                return None
            await asyncio.sleep(LOOK_S)

    def _read(self) -> tuple[int, Identities]:
        """What all tables have at one moment, and how many changes led to it."""
        with self._database.transaction():
            tables = {name: self._rows(f"SELECT key, name, record FROM {name} ORDER BY key") for name in TABLES}
            tags = self._rows("SELECT arn, key, value FROM tags ORDER BY arn, key")
            return self._database.changes, Identities(self._owner, tables, tags)

    def _rows(self, statement: str) -> Rows:
        return tuple((key, name, content) for key, name, content in self._database.rows(statement))
