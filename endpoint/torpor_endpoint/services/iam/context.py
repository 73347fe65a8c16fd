"""What IAM's operations act on: the roles, and the tags by ARN."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from torpor_endpoint.services.iam import errors
from torpor_endpoint.services.iam.records import Role
from torpor_endpoint.storage.record_table import Database, RecordTable
from torpor_endpoint.storage.store import Store


class Iam:
    """Any thread may call its methods. `clock` gives epoch seconds."""

    def __init__(self, database: Database, store: Store, clock: Callable[[], float]) -> None:
        self._database = database
        self.roles = RecordTable(database, "roles", _role)
        self.tags = store
        self.tagging = Lock()  # so that two calls do not count a role's tags at the same time
        self.clock = clock

    def role(self, name: str) -> Role:
        """The role of this name. Raises NoSuchEntity."""
        role = self.roles.get(name)
        if role is None:
            raise errors.NO_ROLE(name=name)
        return role

    def change(self, name: str, edit: Callable[[Role], Role]) -> Role:
        """Read, edit and store the role in one transaction. If `edit` raises, the role stays as it was."""
        with self._database.transaction():
            edited = edit(self.role(name))
            self.roles.put(edited)
        return edited

    def delete(self, name: str, check: Callable[[Role], None], account: str) -> None:
        """Remove the role and its tags, unless `check` raises."""
        with self._database.transaction():
            role = self.role(name)
            check(role)
            self.roles.remove(name)
        self.tags.forget_tags(role.arn(account))


def _role(record: Mapping[str, Any]) -> Role:
    return Role(**{**record, "attached": tuple(record["attached"])})
