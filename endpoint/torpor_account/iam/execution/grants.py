"""Grants: each instance has a token, for which it gets the temporary credentials of its role, until it ends.

The credentials are made as STS makes them, and kept in the same table. A grant that ends takes its credentials with it.
Grants outlive the endpoint's process as the instances may.
"""

import secrets
import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import NamedTuple

from torpor_account.iam.execution.execution_roles import SERVICE, SESSION, ExecutionRoles
from torpor_account.iam.execution.refused import RoleRefused
from torpor_account.iam.identities.temporary import new_key, token_digest
from torpor_account.iam.identity_records import RoleGrant
from torpor_account.storage.record_table import RecordTable

LASTS_S = 3600
RENEWED_S = 1200
"""Credentials that hold for less than this are not given out any more. The SDKs ask for new ones 15 minutes before the
old ones expire."""


class NoGrant(Exception):
    """No instance that runs has this token."""


class RoleCredentials(NamedTuple):
    """Temporary credentials with their token, and the ARN of their role. `expires_s` is in epoch seconds."""

    role: str
    access_key: str
    secret: str
    token: str
    expires_s: float


class RoleGrants:
    """The grants of all instances and training jobs, by an `owner`, such as a slot. Any thread may call its methods.

    `clock` gives real epoch seconds: it is the SDKs in the instances that look at the time of expiry. No token is
    written down: after a restart of the endpoint, an instance that runs on gets new credentials.
    """

    def __init__(
        self, roles: ExecutionRoles, kept: RecordTable[RoleGrant], clock: Callable[[], float], lasts_s: int = LASTS_S
    ) -> None:
        self._roles = roles
        self._kept = kept
        self._clock = clock
        self._lasts_s = lasts_s
        self._grants = {grant.name: grant for grant in kept.all()}
        self._newest: dict[str, RoleCredentials] = {}
        self._turn = threading.Lock()

    def begin(self, owner: str, role: str, source: str) -> str:
        """A new token for the owner, whose old one is void then. `source` is the ARN of what the role is used for.

        Raises RoleRefused.
        """
        self._roles.assumed(role, source)
        self.end(owner)
        token = secrets.token_urlsafe(40)
        with self._turn:
            self._put(RoleGrant(token_digest(token), owner, self._roles.arn(role), source))
        return token

    def end(self, owner: str) -> None:
        """Void the owner's token, and the credentials that it got. Does nothing for one that has none."""
        self._void(lambda grant: grant.owner == owner)

    def keep(self, owners: Collection[str]) -> None:
        """Void all tokens but those of these owners, and the credentials that belong to no token."""
        self._void(lambda grant: grant.owner not in owners)
        known = {key for grant in self._grants.values() for key in grant.keys}
        keys = self._roles.directory.kept()
        self._roles.directory.drop(key.name for key in keys if key.service and key.name not in known)

    def of(self, token: str) -> RoleGrant:
        """What the token stands for. Raises NoGrant."""
        grant = self._grants.get(token_digest(token))
        if grant is None:
            raise NoGrant
        return grant

    def credentials(self, token: str) -> RoleCredentials:
        """Credentials that hold for a while. Raises NoGrant, and RoleRefused if the role cannot be assumed any more."""
        digest = token_digest(token)
        with self._turn:
            grant = self._grants.get(digest)
            if grant is None:
                raise NoGrant
            found = self._newest.get(digest)
            if found is None or found.expires_s - self._clock() < min(RENEWED_S, self._lasts_s / 3):
                found = self._newest[digest] = self._made(grant)
                self._roles.directory.drop(grant.keys[:-1])  # they have expired
                self._put(replace(grant, keys=(*grant.keys[-1:], found.access_key)))
            return found

    def _made(self, grant: RoleGrant) -> RoleCredentials:
        """Raises RoleRefused."""
        self._roles.assumed(grant.role, grant.source)
        role = self._roles.directory.role(grant.role)
        if role is None:  # it is gone since
            raise RoleRefused(grant.role)
        holder = {"role": role.name, "holder_id": role.role_id}
        key, token = new_key(self._clock(), self._lasts_s, **holder, session=SESSION, service=SERVICE)
        self._roles.directory.keep(key)
        return RoleCredentials(grant.role, key.name, key.secret, token, key.expires_s)

    def _put(self, grant: RoleGrant) -> None:
        self._grants[grant.name] = grant
        self._kept.put(grant)

    def _void(self, chosen: Callable[[RoleGrant], bool]) -> None:
        """The credentials go first: where a token is void, so are they."""
        with self._turn:
            for grant in [grant for grant in self._grants.values() if chosen(grant)]:
                self._roles.directory.drop(grant.keys)
                del self._grants[grant.name]
                self._newest.pop(grant.name, None)
                self._kept.remove(grant.name)
