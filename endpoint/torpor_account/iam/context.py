"""What IAM's operations act on: roles, users, groups, keys and policies, and the tags by ARN."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock
from typing import Generic, TypeVar

from torpor_account.aws.errors import ErrorKind
from torpor_account.iam import errors
from torpor_account.iam.identity_records import AccessKey, Group, ManagedPolicy, Role, RoleGrant, TemporaryKey, User
from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable
from torpor_account.storage.tag_store import Tags
from torpor_container.frozen_class import frozen

H = TypeVar("H", Role, User, Group)
Holder = Role | User | Group


class Iam:
    """Any thread may call its methods. `clock` gives epoch seconds."""

    def __init__(self, database: Database, tags: Tags, clock: Callable[[], float]) -> None:
        self._database = database
        self.roles = RecordTable(database, "roles", Role)
        self.users = RecordTable(database, "users", User)
        self.groups = RecordTable(database, "user_groups", Group)
        self.keys = RecordTable(database, "access_keys", AccessKey, key=str)
        self.managed = RecordTable(database, "managed_policies", ManagedPolicy)
        self.temporary = RecordTable(database, "temporary_keys", TemporaryKey, key=str)
        self.grants = RecordTable(database, "role_grants", RoleGrant, key=str)
        self.tags = tags
        self.tagging = Lock()  # so that two calls do not count a role's tags at the same time
        self.clock = clock

    def role(self, name: str) -> Role:
        """The role of this name. Raises NoSuchEntity."""
        role = self.roles.get(name)
        if role is None:
            raise errors.NO_ROLE(name=name)
        return role

    def user(self, name: str) -> User:
        """The user of this name. Raises NoSuchEntity."""
        user = self.users.get(name)
        if user is None:
            raise errors.NO_USER(name=name)
        return user

    def group(self, name: str) -> Group:
        """The group of this name. Raises NoSuchEntity."""
        group = self.groups.get(name)
        if group is None:
            raise errors.NO_GROUP(name=name)
        return group

    def members(self, group: str) -> list[User]:
        """The users in the group of this name, in order of their names."""
        return [user for user in self.users.all() if group in user.groups]

    def policy_at(self, arn: str, account: str) -> ManagedPolicy | None:
        """The account's managed policy with this ARN, if there is one."""
        policy = self.managed.get(arn.rpartition("/")[2])
        return policy if policy is not None and policy.arn(account) == arn else None

    def holders(self) -> list[Holder]:
        """All roles, users and groups: policies can be attached to them."""
        return [*self.roles.all(), *self.users.all(), *self.groups.all()]

    def change_user(self, name: str, edit: Callable[[User], User]) -> User:
        """Read, edit and store the user in one transaction. If `edit` raises, the user stays as it was."""
        with self._database.transaction():
            edited = edit(self.user(name))
            self.users.put(edited)
        return edited

    def change_group(self, name: str, edit: Callable[[Group], Group]) -> Group:
        """Read, edit and store the group in one transaction. If `edit` raises, the group stays as it was."""
        with self._database.transaction():
            edited = edit(self.group(name))
            self.groups.put(edited)
        return edited

    def together(self) -> AbstractContextManager[None]:
        """A transaction over several of these tables."""
        return self._database.transaction()

    def change_role(self, name: str, edit: Callable[[Role], Role]) -> Role:
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
        self.tags.forget(role.arn(account))


@frozen
class HolderKind(Generic[H]):
    """Roles, users or groups: all have policies, and the operations on these differ only in names."""

    name: str  # as quotas have it
    member: str  # of a request: the name of the holder
    get: Callable[[Iam, str], H]
    change: Callable[[Iam, str, Callable[[H], H]], H]
    no_policy: ErrorKind
    inline_characters_max: int
    """The most characters of all inline policies of one together. "IAM does not count white space"."""


ROLES = HolderKind("Role", "RoleName", Iam.role, Iam.change_role, errors.NO_ROLE_POLICY, 10240)
USERS = HolderKind("User", "UserName", Iam.user, Iam.change_user, errors.NO_USER_POLICY, 2048)
GROUPS = HolderKind("Group", "GroupName", Iam.group, Iam.change_group, errors.NO_GROUP_POLICY, 5120)
