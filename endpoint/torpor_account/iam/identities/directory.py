"""Finds the caller of an access key: the account's root, a user, or a role's session."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.needs import ConditionKeys
from torpor_account.core.access.policy_statements import (
    NO_IDS,
    NO_ORIGIN,
    AccessPolicy,
    PolicyOrigin,
    denying_all,
    read_policy,
)
from torpor_account.core.access.principals import Principal, PrincipalKind, root
from torpor_account.core.access.rights.right_rows import DEFAULT_ROLE
from torpor_account.iam import service_linked
from torpor_account.iam.context import Holder, Iam
from torpor_account.iam.identities.ids import ROLE_ID, KeyPair
from torpor_account.iam.identity_records import Group, Role, RoleGrant, TemporaryKey, User
from torpor_account.iam.policies import aws_managed
from torpor_account.storage.record_table import RecordTable

INSTANCES_POLICY = "torpor-instances"
READS_IMAGES = (
    "ecr:GetAuthorizationToken",
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
    "sagemaker:AccessModelPackage",
)
"""What version 3 of the SageMaker SDK asks a simulation for, before it creates a model with a role."""
INSTANCES_MAY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["s3:*", "logs:*", "cloudwatch:PutMetricData", *READS_IMAGES],
                "Resource": "*",
            },
        ],
    }
)
"""What models without a role of their own may do: the inline policy of TorporRole while it has no other."""


@dataclass(frozen=True)
class KnownKey:
    """An access key with its caller. Only temporary keys have a token and expire."""

    secret: str = field(repr=False)
    principal: Principal
    active: bool = True
    token_sha256: str | None = None
    expires_s: float | None = None
    by_service: bool = False
    """Whether SageMaker made it for an instance: it expires by real time, which its SDK knows."""
    keys: ConditionKeys = field(default_factory=dict)
    """The condition keys of every request of this caller."""
    allowed: set[tuple[str | tuple[bytes, bytes], ...]] = field(default_factory=set, compare=False, repr=False)
    """Invocations that are allowed whatever their circumstances: path, and the headers that name their targets."""


class Directory:
    """Any thread may call it. Callers are cached until `forget`, which every change of IAM calls."""

    def __init__(self, iam: Iam, account: str, owner: KeyPair) -> None:
        self._iam = iam
        self._account = account
        self._owner = owner
        self._cached: dict[str, KnownKey] = {}
        self._listeners: list[Callable[[], None]] = []
        self._sessions: dict[tuple[str, str], Principal] = {}
        self._provide_role()

    @property
    def owner(self) -> KeyPair:
        """The root's access key."""
        return self._owner

    @property
    def grants(self) -> RecordTable[RoleGrant]:
        """The grants of roles, by the digests of their tokens."""
        return self._iam.grants

    def find(self, access_key: str) -> KnownKey | None:
        """The key of this id; None if there is none, or if its user or role is gone."""
        cached = self._cached
        known = cached.get(access_key)
        if known is None:
            known = self._read(access_key)
            if known is not None:
                cached[access_key] = known
        return known

    def forget(self) -> None:
        """Read everything anew. A reading that has begun ends in a dictionary that nobody asks any more."""
        self._cached = {}
        self._sessions = {}
        for listener in self._listeners:
            listener()

    def when_forgotten(self, listener: Callable[[], None]) -> None:
        """Have it call this after each change of what somebody may do."""
        self._listeners.append(listener)

    def path_of(self, kind: str, name: str) -> str:
        """The IAM path of the role, user, group or policy of this name, or `/`."""
        tables: dict[str, Callable[[str], Holder | None]] = {
            "role": self._iam.roles.get,
            "user": self._iam.users.get,
            "group": self._iam.groups.get,
        }
        found = tables[kind](name) if kind in tables else self._iam.managed.get(name)
        return "/" if found is None else found.path

    def boundary_of(self, kind: str, name: str) -> str | None:
        """The ARN of the permissions boundary of the role or user of this name; None if it has none."""
        found = self._iam.roles.get(name) if kind == "role" else self._iam.users.get(name)
        return None if found is None else found.boundary

    def documents(self, arns: Iterable[str]) -> list[tuple[str, str]]:
        """The names and documents of managed policies. One that is not known allows nothing, and is left out."""
        found = []
        for arn in arns:
            own = self._iam.policy_at(arn, self._account)
            document = own.document if own is not None else aws_managed.document(arn)
            if document is not None:
                found.append((arn, document))
        return found

    def role(self, arn: str) -> Role | None:
        """The account's role with this ARN."""
        role = self._iam.roles.get(arn.rpartition("/")[2])
        return role if role is not None and role.arn(self._account) == arn else None

    def principal(self, arn: str) -> Principal | None:
        """The user, group or role with this ARN, as a caller. A group calls as a member without a name."""
        role = self.role(arn)
        if role is not None:
            return self._session(role, "simulated", {})
        user = self._iam.users.get(arn.rpartition("/")[2])
        if user is not None and user.arn(self._account) == arn:
            return self._user(user)
        group = self._iam.groups.get(arn.rpartition("/")[2])
        if group is not None and group.arn(self._account) == arn:
            return Principal(PrincipalKind.USER, self._account, arn, identity=self._identity(group))
        return None

    def session(self, arn: str, session: str) -> Principal | None:
        """A session of the role with this ARN, as a caller; None if there is no such role."""
        cached = self._sessions
        found = cached.get((arn, session))
        if found is None and (role := self.role(arn)) is not None:
            found = cached[arn, session] = self._session(role, session, {})
        return found

    def trust(self, arn: str) -> AccessPolicy | None:
        """The trust policy of the role with this ARN; None if there is no such role."""
        role = self.role(arn)
        name = "" if role is None else f"the trust policy of {role.name}"
        return None if role is None else _read(role.trust, name, kind="trust", ids=role.trusted)

    def keep(self, key: TemporaryKey) -> None:
        """Store temporary credentials, and remove those that have expired."""
        now_s = self._iam.clock()
        for old in self.kept():
            if old.expires_s < now_s and not old.service:
                self._iam.temporary.remove(old.name)
        self._iam.temporary.put(key)

    def kept(self) -> tuple[TemporaryKey, ...]:
        """All temporary credentials."""
        return self._iam.temporary.all()

    def drop(self, names: Iterable[str]) -> None:
        """Void temporary credentials, by the ids of their access keys."""
        gone = [name for name in names if self._iam.temporary.remove(name)]
        if gone:
            self.forget()

    def _read(self, access_key: str) -> KnownKey | None:
        if access_key == self._owner.access_key:
            principal = root(self._account)
            return KnownKey(self._owner.secret, principal, keys=principal.keys)
        if access_key.startswith("ASIA"):
            return self._temporary(access_key)
        key = self._iam.keys.get(access_key)
        user = None if key is None else self._iam.users.get(key.user)
        if key is None or user is None:
            return None
        return replace(self._of(key.secret, self._user(user)), active=key.active)

    def _temporary(self, access_key: str) -> KnownKey | None:
        key = self._iam.temporary.get(access_key)
        principal = None if key is None else self._holder(key)
        if key is None or principal is None:
            return None
        known = self._of(key.secret, principal)
        issued = {"aws:tokenissuetime": (str(int(key.created_s)),), "aws:multifactorauthpresent": ("false",)}
        return replace(
            known,
            token_sha256=key.token_sha256,
            expires_s=key.expires_s,
            by_service=bool(key.service),
            keys={**known.keys, **issued},
        )

    def _holder(self, key: TemporaryKey) -> Principal | None:
        """The caller of temporary credentials; None if their role or user is gone, also if a new one has its name."""
        if key.role is not None:
            role = self._iam.roles.get(key.role)
            return None if role is None or role.role_id != key.holder_id else self._assumed(role, key)
        if key.user is not None:
            user = self._iam.users.get(key.user)
            return None if user is None or user.user_id != key.holder_id else self._user(user)
        return root(self._account)

    def _assumed(self, role: Role, key: TemporaryKey) -> Principal:
        principal = self._session(role, key.session, key.tags)
        if key.policies is None:
            return principal
        return replace(principal, session=tuple(_read(document, "the session policy") for document in key.policies))

    def _of(self, secret: str, principal: Principal) -> KnownKey:
        return KnownKey(secret, principal, keys=principal.keys)

    def _user(self, user: User) -> Principal:
        arn = user.arn(self._account)
        return Principal(
            PrincipalKind.USER,
            self._account,
            arn,
            unique_id=user.user_id,
            identity=(*self._identity(user), *self._of_groups(user)),
            boundary=self._boundary(user.boundary),
            tags=self._iam.tags.of(arn),
            name=user.name,
        )

    def _session(self, role: Role, session: str, tags: dict[str, str]) -> Principal:
        arn = role.arn(self._account)
        return Principal(
            PrincipalKind.ROLE,
            self._account,
            f"arn:aws:sts::{self._account}:assumed-role/{role.name}/{session}",
            role=arn,
            unique_id=f"{role.role_id}:{session}",
            identity=self._identity(role),
            boundary=self._boundary(role.boundary),
            tags=_with_session_tags(self._iam.tags.of(arn), tags),
        )

    def _identity(self, holder: Holder) -> tuple[AccessPolicy, ...]:
        kind, of = type(holder).__name__.lower(), f" of group {holder.name}" if isinstance(holder, Group) else ""
        inline = [
            _read(document, f"the inline policy {name}{of}", PolicyOrigin(name, kind))
            for name, document in holder.policies.items()
        ]
        return (
            *inline,
            *(_read(document, f"{arn}{of}", managed(arn)) for arn, document in self.documents(holder.attached)),
        )

    def _of_groups(self, user: User) -> tuple[AccessPolicy, ...]:
        groups = filter(None, map(self._iam.groups.get, user.groups))
        return tuple(policy for group in groups for policy in self._identity(group))

    def _boundary(self, arn: str | None) -> AccessPolicy | None:
        """A boundary that is not known allows nothing."""
        if arn is None:
            return None
        found = self.documents([arn])
        return _read(found[0][1], arn, managed(arn)) if found else AccessPolicy(arn, (), origin=managed(arn))

    def _provide_role(self) -> None:
        """Models that name no role have this one. Without policies their instances could not read their artifacts."""
        role = self._iam.roles.get(DEFAULT_ROLE)
        if role is None:
            trust = service_linked.trust("sagemaker.amazonaws.com")
            role = Role(DEFAULT_ROLE, ROLE_ID, self._iam.clock(), trust, protected=True)
        if not role.policies and not role.attached:
            self._iam.roles.put(replace(role, policies={INSTANCES_POLICY: INSTANCES_MAY}))


def _with_session_tags(of_role: Mapping[str, str], of_session: Mapping[str, str]) -> dict[str, str]:
    """AWS: a session tag takes the place of the role's tag with the same key, "regardless of case"."""
    replaced = {key.lower() for key in of_session}
    return {**{key: value for key, value in of_role.items() if key.lower() not in replaced}, **of_session}


def managed(arn: str) -> PolicyOrigin:
    """Where a managed policy stands."""
    return PolicyOrigin(arn.rpartition("/")[2], "aws-managed" if aws_managed.is_awss(arn) else "user-managed")


def _read(
    document: str,
    name: str,
    origin: PolicyOrigin = NO_ORIGIN,
    kind: str = "identity",
    ids: Mapping[str, str] = NO_IDS,
) -> AccessPolicy:
    try:
        return read_policy(document, name, kind=kind, origin=origin, ids=ids)
    except BadPolicy:
        return replace(denying_all(name), origin=origin)
