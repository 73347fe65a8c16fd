"""What IAM's operations work with: the roles, and the tags by ARN."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from torpor_endpoint.services.iam import errors
from torpor_endpoint.services.iam.records import Role
from torpor_endpoint.storage.record_table import Database, RecordTable
from torpor_endpoint.storage.store import Store


class Iam:
    """Any thread may call. `clock` gives epoch seconds."""

    def __init__(self, database: Database, store: Store, clock: Callable[[], float]) -> None:
        self._database = database
        self.roles = RecordTable(database, "roles", _role)
        self.tags = store
        self.tagging = Lock()  # so that no two calls count a role's tags at once
        self.clock = clock

    def role(self, name: str) -> Role:
        """Raises NoSuchEntity."""
        role = self.roles.get(name)
        if role is None:
            raise errors.NO_ROLE(name=name)
        return role

    def change(self, name: str, edit: Callable[[Role], Role]) -> Role:
        """The role, read, edited and kept in one step. What `edit` raises leaves it as it was."""
        with self._database.transaction():
            edited = edit(self.role(name))
            self.roles.put(edited)
        return edited

    def delete(self, name: str, check: Callable[[Role], None], account: str) -> None:
        """The role and its tags, if `check` raises nothing."""
        with self._database.transaction():
            role = self.role(name)
            check(role)
            self.roles.remove(name)
        self.tags.forget_tags(role.arn(account))


def _role(record: Mapping[str, Any]) -> Role:
    return Role(**{**record, "attached": tuple(record["attached"])})
