"""The caller of a request as a value: who it is, and the policies that hold for it."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from types import MappingProxyType

from torpor_account.core.access.policy_statements import AccessPolicy
from torpor_container.frozen_class import frozen


class PrincipalKind(Enum):
    """The kinds of callers, by their name in `aws:PrincipalType`."""

    ROOT = "Account"
    USER = "User"
    ROLE = "AssumedRole"
    ANONYMOUS = "Anonymous"


@frozen
class Principal:
    """A caller. `role` is the ARN of an assumed role; `keys` are condition keys, by lower-case name.

    `boundary` and `session` are None if there is no permissions boundary and no session policy.
    """

    kind: PrincipalKind
    account: str
    arn: str = ""
    role: str = ""
    unique_id: str = ""
    identity: tuple[AccessPolicy, ...] = ()
    boundary: AccessPolicy | None = None
    session: tuple[AccessPolicy, ...] | None = None
    tags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    name: str = ""

    @property
    def counted_as(self) -> str:
        """What its calls are counted for: the user, or the role of all its sessions. Empty for who signs nothing."""
        return self.role or self.arn

    @property
    def keys(self) -> Mapping[str, Sequence[str]]:
        """The condition keys of every request of this caller."""
        known = {
            "aws:principalarn": self.role or self.arn,
            "aws:principalaccount": self.account,
            "aws:principaltype": self.kind.value,
            "aws:userid": self.unique_id,
            "aws:username": self.name if self.kind is PrincipalKind.USER else "",
            **{f"aws:principaltag/{name.lower()}": value for name, value in self.tags.items()},
        }
        if self.kind is PrincipalKind.ANONYMOUS:
            known = {"aws:principaltype": self.kind.value, "aws:userid": "anonymous"}
        known |= {"aws:principalisawsservice": "false", "aws:viaawsservice": "false"}
        tags = {name for name in known if name.startswith("aws:principaltag/")}
        return {name: (value,) for name, value in known.items() if value or name in tags}


def anonymous(account: str) -> Principal:
    """Who signs nothing."""
    return Principal(PrincipalKind.ANONYMOUS, account)


def root(account: str) -> Principal:
    """The owner of the account, whom no policy of the account limits."""
    arn = f"arn:aws:iam::{account}:root"
    return Principal(PrincipalKind.ROOT, account, arn, unique_id=account)
